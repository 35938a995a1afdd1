package metrics

import (
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/latency"
)

// Listener is a decision listener of connections besides HTTP. They have the same shape, so a door
// which is added has its metrics by its name alone.
type Listener struct {
	Name string // of its families: headgate_NAME_…
	Door interface {
		Figures() door.Figures
		AddLatency(sum *latency.Sum)
	}
}

const displacedHelp = "Connections closed for the place of another while as many were open as " +
	"may be: of those that had shown nothing the oldest, else the longest idle, of the address " +
	"that had most."

// listenerFamilies are the families of the listener called name. The label code is bad-request,
// unknown-rule or too-long, as in answers, protocol for a connection ended for its fault, rejected
// for a too many. The keys and numbers of CL.THROTTLE may be displaced too.
func listenerFamilies(name string) []family {
	displaced := family{name + "_displaced_total", "", displacedHelp}
	if name == "resp" {
		displaced.labels = "what"
		displaced.help += " Of CL.THROTTLE, keys and sets of numbers that gave way to others."
	}
	return []family{
		{name + "_connections", "", "Connections open to this decision listener."},
		{
			name + "_requests_total", "",
			"Requests and reports received, those with an error included.",
		},
		{
			name + "_errors_total", "code",
			"Requests answered with an error and not counted, and connections ended for a fault " +
				"(protocol) or because too many were open (rejected).",
		},
		displaced,
	}
}

// collectListener sends the present values of the listener called name.
func collectListener(to scrape, name string, f door.Figures) {
	put(to, name+"_connections", f.Open)
	put(to, name+"_requests_total", f.Requests)
	put(to, name+"_errors_total", f.BadRequest, "bad-request")
	put(to, name+"_errors_total", f.Unknown, "unknown-rule")
	put(to, name+"_errors_total", f.TooLong, "too-long")
	put(to, name+"_errors_total", f.Broken, "protocol")
	put(to, name+"_errors_total", f.Rejected, "rejected")
	if name != "resp" {
		put(to, name+"_displaced_total", f.Displaced)
		return
	}
	put(to, name+"_displaced_total", f.Displaced, "connection")
	put(to, name+"_displaced_total", f.Keys, "key")
	put(to, name+"_displaced_total", f.Numbers, "numbers")
}
