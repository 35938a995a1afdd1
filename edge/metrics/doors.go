package metrics

import (
	"reflect"

	"github.com/headgate-dev/headgate/edge/door/http"
	"github.com/headgate-dev/headgate/edge/door/lines"
	"github.com/headgate-dev/headgate/edge/door/udp"
	"github.com/headgate-dev/headgate/edge/latency"
)

// doorFamilies are the families of doors: all listeners of a kind share a series, for an address
// would be a label without a bound.
// code is bad-request, unknown-rule or too-long, as in the answers; why is unsendable or kernel.
var doorFamilies = []family{
	// code is bad-request, unknown-rule or too-long, as in the answers; why is unsendable or
	// kernel.
	{"udp_packets_total", "", "Datagrams received by the UDP decision listener."},
	{
		"udp_lines_total", "",
		"Request lines in the datagrams received by the UDP decision listener.",
	},
	{
		"udp_malformed_total", "code",
		"Request lines in datagrams, and datagrams that are too long, answered with an error, " +
			"by code.",
	},
	{
		"udp_unanswered_total", "why",
		"Datagram replies not sent, by reason. unsendable: longer than the request off " +
			"loopback, or no return address. kernel: the kernel did not accept it.",
	},
	{
		"udp_batched_replies_total", "",
		"Datagram replies sent several to a message by UDP segmentation offload.",
	},
	{
		"udp_segmentation_refused_total", "",
		"Messages of datagram replies that the kernel did not segment. Their replies, and all " +
			"later ones of that socket, are sent one by one.",
	},
	{
		"udp_reader_yields_total", "",
		"Times that a reader of datagrams, busy without a pause, let other listeners run: " +
			"hardly any unless datagrams flood in.",
	},
	{"http_accepted_connections_total", "", "Connections served by the HTTP decision listener."},
	{
		"http_rejected_connections_total", "",
		"HTTP connections answered 503 because too many were open.",
	},
	{
		"http_refused_requests_total", "",
		"HTTP requests answered with an error, for whatever cause, and not counted against any " +
			"limit.",
	},
	{"http_cut_requests_total", "", "HTTP requests abandoned because the client was too slow."},
	{
		"http_malformed_total", "code",
		"HTTP requests answered with an error because of their content, by code: the " +
			"counterpart of headgate_udp_malformed_total.",
	},
	{
		"door_refused_total", "",
		"Requests and connections rejected because those in progress already held too many " +
			"bytes: 503, grpc-status 8, DISCONNECT 13, -ERR busy.",
	},
	{
		"door_bytes", "",
		"Bytes held by all doors for requests that arrive in parts, large bodies, batches and " +
			"unsent answers.",
	},
	{"http_open_connections", "", "Connections open to the HTTP decision listener."},
	{
		"abandoned_connections_total", "listener",
		"Connections closed by their clients before they were accepted, without a request, by " +
			"listener. They are counted as nothing else.",
	},
	{
		"reports_malformed_total", "door code",
		"Reports that could not be read: nothing was counted.",
	},
	{
		"panics_total", "door",
		"Questions answered as a fault of the daemon (error internal, 500, grpc-status 13, " +
			"DISCONNECT 99, -ERR internal), and connections that one ended, by door. Each is a " +
			"bug: the log has its stack.",
	},
	{
		"orphans_total", "door",
		"Tickets and leases ended because their answers were not read: the client had closed " +
			"its connection, or reset it within 2 s. By door.",
	},
	{
		"decision_duration_seconds", "",
		"Time from reading to answering requests that were read together (over UDP: a batch of " +
			"datagrams). One batch in 16 is measured.",
	},
}

// collectDoors sends the sums over all listeners of a kind, and the decision times of all kinds
// together.
func collectDoors(to scrape, datagram []*udp.Door, web []*http.Door, more []Listener) {
	var u []udp.Stats
	var h []http.Stats
	var took latency.Sum
	for _, d := range datagram {
		u = append(u, d.Stats())
		d.AddLatency(&took)
	}
	for _, d := range web {
		h = append(h, d.Stats())
		d.AddLatency(&took)
	}
	for _, d := range more {
		d.Door.AddLatency(&took)
		put(to, "orphans_total", d.Door.Figures().Orphans, d.Name)
	}
	collectUDP(to, sum(u))
	collectHTTP(to, sum(h))
	to.putLatency("decision_duration_seconds", &took)
}

// collectUnread sends the malformed reports of a door by code.
func collectUnread(to scrape, name string, doors []*lines.Unread) {
	sum := map[string]uint64{}
	for _, d := range doors {
		d.Reports(func(code string, n uint64) { sum[code] += n })
	}
	for code, n := range sum {
		put(to, "reports_malformed_total", n, name, code)
	}
}

// sum adds up the figures of several listeners, which are integers.
// Counters may only grow, or Prometheus takes the fall for a restart: doors stay for the life of
// the process.
func sum[T any](doors []T) (all T) {
	to := reflect.ValueOf(&all).Elem()
	for i := range doors {
		from := reflect.ValueOf(&doors[i]).Elem()
		for n := range to.NumField() {
			if f := to.Field(n); f.CanUint() {
				f.SetUint(f.Uint() + from.Field(n).Uint())
			} else {
				f.SetInt(f.Int() + from.Field(n).Int())
			}
		}
	}
	return all
}

// collectUDP sends the figures of all datagram listeners.
func collectUDP(to scrape, s udp.Stats) {
	put(to, "udp_packets_total", s.Packets)
	put(to, "udp_lines_total", s.Lines)
	// Every code has a series from the start, so a rate over its first increment is right.
	put(to, "udp_malformed_total", s.Malformed, "bad-request")
	put(to, "udp_malformed_total", s.UnknownRule, "unknown-rule")
	put(to, "udp_malformed_total", s.TooLong, "too-long")
	put(to, "udp_unanswered_total", s.Unanswered, "unsendable")
	put(to, "udp_unanswered_total", s.SendFailed, "kernel")
	put(to, "udp_batched_replies_total", s.InRuns)
	put(to, "udp_segmentation_refused_total", s.RunsRefused)
	put(to, "udp_reader_yields_total", s.GaveWay)
}

// collectHTTP sends the figures of all HTTP listeners.
func collectHTTP(to scrape, s http.Stats) {
	put(to, "http_accepted_connections_total", s.Accepted)
	put(to, "http_rejected_connections_total", s.Rejected)
	put(to, "http_refused_requests_total", s.Refused)
	put(to, "http_cut_requests_total", s.Cut)
	put(to, "http_open_connections", s.Open)
	put(to, "http_malformed_total", s.Malformed, "bad-request")
	put(to, "http_malformed_total", s.UnknownRule, "unknown-rule")
	put(to, "http_malformed_total", s.TooLong, "too-long")
	put(to, "door_refused_total", s.Crowded)
	put(to, "door_bytes", s.UnderWay)
	put(to, "orphans_total", s.Orphans, "http")
}

// collectAbandoned sends how many connections had ended before they were accepted.
func collectAbandoned(to scrape, of map[string]func() uint64) {
	for listener, total := range of {
		put(to, "abandoned_connections_total", total(), listener)
	}
}
