package metrics

import (
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/latency"
	"github.com/prometheus/client_golang/prometheus"
)

// Listener is a decision listener of connections besides HTTP.
// They have one shape, so that a door which is added has its metrics by its name alone.
type Listener struct {
	Name       string // of its families: headgate_NAME_…
	Figures    func() door.Figures
	AddLatency func(*latency.Sum)
}

// streamMetrics are the families of one Listener.
type streamMetrics struct {
	connections, requests, errors, displaced metric
	// the keys and numbers of CL.THROTTLE may be displaced too
	tables bool
}

const displacedHelp = "Connections closed for the place of another while as many were open as may be: of those that had shown nothing the oldest, else the longest idle, of the address that had most."

// newStreamMetrics returns the families of the listener called name. The label code is bad-request,
// unknown-rule or too-long, as in answers, protocol for a connection ended for its fault, rejected
// for one too many.
func newStreamMetrics(name string) streamMetrics {
	m := streamMetrics{
		connections: gaugeOf(name+"_connections", "Connections open to this decision listener."),
		requests: counterOf(name+"_requests_total",
			"Requests and reports received, those with an error included."),
		errors:    counterOf(name+"_errors_total", "Requests answered with an error and not counted, and connections ended for a fault (protocol) or because too many were open (rejected).", "code"),
		displaced: counterOf(name+"_displaced_total", displacedHelp),
	}
	if m.tables = name == "resp"; m.tables {
		m.displaced = counterOf(name+"_displaced_total",
			displacedHelp+" Of CL.THROTTLE, keys and sets of numbers that gave way to others.",
			"what")
	}
	return m
}

// all returns the families, for Describe.
func (m *streamMetrics) all() []metric {
	return []metric{m.connections, m.requests, m.errors, m.displaced}
}

// collect sends the present values.
func (m *streamMetrics) collect(to chan<- prometheus.Metric, f door.Figures) {
	m.connections.set(to, float64(f.Open))
	m.requests.set(to, float64(f.Requests))
	m.errors.set(to, float64(f.BadRequest), "bad-request")
	m.errors.set(to, float64(f.Unknown), "unknown-rule")
	m.errors.set(to, float64(f.TooLong), "too-long")
	m.errors.set(to, float64(f.Broken), "protocol")
	m.errors.set(to, float64(f.Rejected), "rejected")
	if !m.tables {
		m.displaced.set(to, float64(f.Displaced))
		return
	}
	m.displaced.set(to, float64(f.Displaced), "connection")
	m.displaced.set(to, float64(f.Keys), "key")
	m.displaced.set(to, float64(f.Numbers), "numbers")
}
