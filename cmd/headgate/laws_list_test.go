package main

// law is something a source file may do only where it is listed.
type law struct {
	name string
	why  string
	// allowed are the beginnings of the paths that may, each with its reason.
	allowed map[string]string
}

// The laws that a reader of one file cannot see are kept: time and chance are arguments, and
// goroutines begin where something waits for them to end.
var (
	clockLaw = law{
		"reads the clock", "time is an argument (now window.Instant), so that every room is " +
			"tested on a table of instants",
		map[string]string{
			"cmd/":                 "the world enters here",
			"gossip/":              "memberlist's own time, sockets and joins",
			"edge/ring/":           "socket deadlines and the breaker's pauses",
			"edge/node.go":         "the node's start",
			"edge/reload.go":       "the time of a reload",
			"edge/surges.go":       "the wall clock, by which policies end",
			"edge/admin/events.go": "socket deadlines",
			"edge/client/handler":  "how long a response took, for its report",
			"edge/xds/client.go":   "when a stream began and came to an end",
			"edge/door/":           "socket deadlines, and when a batch of requests was read",
			"edge/gate/gate.go":    "Gate.Now is the node's one clock",
			"edge/gate/global.go":  "the ticks of a flusher without a ring",
			"edge/global/":         "the time packets are received and sent at",
			"edge/pop/flusher.go":  "the flusher's ticks",
			"edge/edgetest/":       "tests wait",
			"edge/gate/gatetest/":  "the start of a test's gate",
			"edge/pop/poptest/":    "a bubble's time, for tests",
		},
	}
	waitLaw = law{
		"waits for a time to pass", "no step of a decision waits: it goes by what is known now, " +
			"and whoever waits is listed with the bound",
		map[string]string{
			"cmd/":                  "the world enters here",
			"edge/ring/":            "an exchange up to its timeout, and the breaker's pauses",
			"edge/web/browser/":     "a browser of tests for its end, up to closeTimeout",
			"edge/client/ask.go":    "a client for its answer, up to the timeout it was given",
			"edge/client/client.go": "a client for its first connection, up to firstDialTimeout",
			"edge/client/handler.go": "a request for its delay, a minute at most, where the " +
				"program did not say otherwise",
			"gossip/guard/message.go": "a large message for its place, up to streamTimeout",
			"gossip/run.go":           "the ticks by which alarms are looked for",
			"gossip/join.go": "the time between two joins, and a name's resolution, up " +
				"to resolveTime",
			"gossip/socket.go":    "a pause after errors of a socket",
			"gossip/lossy/":       "the latency of the network of tests",
			"edge/misnamed.go":    "the ticks by which wrong names of rules are told",
			"edge/door/accept.go": "Pause: a caller's bound",
			"edge/door/owed.go":   "an answer that the peer's kernel has not taken: 2 s",
			"edge/door/doorstep_": "connections in a flood for the next sweep, sweepEvery",
			"edge/xds/": "the server between two connections and before the same NACK, 30 s at " +
				"most, and a message, up to messageTime",
			"edge/watch_ring.go":     "the ticks by which the ring is looked at",
			"edge/surges.go":         "the ticks of looks, and the end of a policy",
			"edge/watch_sets.go":     "the ticks by which files of sets are looked at",
			"edge/gate/run.go":       "the control loop's ticks, and those of Every",
			"edge/ask/pools.go":      "the ticks by which the levels of pools move",
			"edge/global/link.go":    "the ticks of the coordinator",
			"edge/pop/flusher.go":    "the flusher's ticks",
			"edge/state/file.go":     "the ticks of the state file",
			"edge/admin/live.go":     "the ticks of the event live",
			"edge/admin/serve.go":    "requests under way when a node stops, up to drainTimeout",
			"edge/door/http/door.go": "the ticks of trim",
			"edge/door/stream/": "a pause after errors of accept, and connections when a " +
				"node stops, up to Drain",
			"edge/door/budget/":   "a body for its place in memory, up to its limit",
			"edge/edgetest/":      "tests wait",
			"edge/door/doortest/": "tests wait",
			"edge/pop/poptest/":   "a bubble's time, for tests",
		},
	}
	chanceLaw = law{
		"draws chance", "chance is an argument (u uint64), so that a decision can be replayed",
		map[string]string{
			"cmd/": "the world enters here",
			"sketch/live.go": "which cells are watched for noise, drawn once: no " +
				"count rests on it",
			"gossip/join.go":               "when to join again",
			"edge/xds/client.go":           "the time between two connections",
			"gossip/keys.go":               "a key that nobody else has",
			"gossip/lossy/":                "seeded losses",
			"gossip/coordinator/":          "nonces, from a seed that is an argument",
			"edge/client/outgoing.go":      "where the ids of requests begin",
			"edge/door/udp/batch_linux.go": "drawn where a decision depends on it",
			"edge/door/udp/batch_other.go": "drawn where a decision depends on it",
			"edge/door/http/batch.go":      "drawn for each request",
			"edge/door/http/answer.go":     "drawn for each request",
			"edge/door/http/auth.go":       "drawn for each request, and for its ticket",
			"edge/door/http/whole.go":      "drawn for each request, and for its ticket",
			"edge/door/grpc/caller.go":     "drawn where a decision depends on it",
			"edge/door/grpc/authz.go":      "the number of a ticket, which nobody may guess",
			"edge/door/resp/":              "drawn for each request, and for its ticket",
			"edge/door/spop/":              "drawn for each request, and for its ticket",
			"edge/door/http/places.go":     "drawn for each request, and for its lease",
			"edge/door/local/": "drawn where a decision depends on it, and the " +
				"number of a ticket, which nobody may guess",
			"edge/door/udp/ask.go":   "the number of a ticket, which nobody may guess",
			"edge/surges.go":         "which rows of usual traffic give way",
			"edge/ask/session.go":    "where the draws of a session begin",
			"edge/door/http/conn.go": "which requests are drawn, before their headers come",
			"edge/node.go": "the key of digests in counted keys, where no key " +
				"file is named",
			"edge/admin/explain.go":  "explain peeks as a door would",
			"edge/admin/policies.go": "test-request peeks as a door would",
			"edge/global/link.go":    "the seed of the coordinator's nonces",
			"edge/pop/poptest/":      "draws of a fixed seed, for tests",
			"edge/edgetest/":         "the seed of a test, which a failure logs",
		},
	}
	goroutineLaw = law{
		"starts a goroutine with a go statement",
		"goroutines begin in Run and Serve, by a WaitGroup's Go, and never one a query",
		map[string]string{
			"cmd/":                  "commands wait for what they start",
			"gossip/guard/guard.go": "a listener's streams, bounded, waited for by its shutdown",
			"gossip/socket.go":      "a socket's two readers, waited for by its shutdown",
		},
	}
	groupLaw = law{
		"starts a goroutine through a Go method or AfterFunc",
		"goroutines begin in Run and Serve, which wait for them, and never one a query",
		map[string]string{
			"cmd/":              "commands wait for what they start",
			"edge/ring/ring.go": "New: one a server, waited for by Close",
			"edge/ring/classic": "the workers of a server without the meta protocol, a " +
				"fixed number, waited for by its close",
			"edge/ring/pipeline":    "the end of a context ends the exchange under way",
			"edge/web/browser/":     "the reader of a browser's answers, waited for by its close",
			"edge/client/socket.go": "a socket's reader, waited for by the client's Close",
			"gossip/run.go":         "Run: the loops of a member",
			"gossip/join.go": "one a member to join, a bounded number, waited for by the " +
				"loop that joins",
			"edge/limits.go":         "a server's client, waited for when it changes",
			"edge/xds/":              "a stream's request and its end, waited for by its close",
			"gossip/lossy/":          "a packet under way in the network of tests",
			"edge/global/link.go":    "Run: the coordinator's ticks, which it waits for",
			"edge/run.go":            "Run: the parts of a node, which it waits for",
			"edge/admin/serve.go":    "Serve: one a listener, and the ticks of the event live",
			"edge/door/doortest/":    "the server of a test, waited for at its end",
			"edge/door/grpc/door.go": "Serve: the end of a context says that health is to say so",
			"edge/door/stream/":      "one a connection, bounded, waited for by Serve",
			"edge/door/http/door.go": "Serve: the ticks of trim, which it waits for",
			"edge/door/udp/door.go":  "Serve: the readers, a fixed number",
			"edge/ring/minimal/": "one a connection of the demo's own clients, waited for by " +
				"Close",
		},
	}
	osLaw = law{
		"uses the system", "files, processes and the environment enter through cmd; what " +
			"decides, encodes or controls is handed plain values",
		map[string]string{
			"edge/edgetest/":     "HEADGATE_TEST_SEED",
			"cmd/":               "the world enters here",
			"edge/config/":       "Read opens the file that the operator names",
			"edge/watch_sets.go": "the time and size of watched files and certificates",
			"edge/private/": "reads keys, tokens and state, with an eye on owner and " +
				"mode",
			"edge/ring/server_": "errors of a connection by their number, and whether an " +
				"idle one is still open",
			"edge/client/dial":    "options of a client's socket, and its file",
			"edge/client/socket":  "errors of a socket by their number",
			"edge/web/browser/":   "the browser is a process",
			"gossip/lossy/":       "the error of a deadline, as a real socket has it",
			"edge/options.go":     "the name of the host, for a node without one",
			"edge/door/listen.go": "a socket's file",
			"edge/door/socket.go": "a socket's file, and one that a dead daemon left",
			"edge/door/http/": "errors of accept and deadlines by their number, and the " +
				"raw connection",
			"edge/door/spop/":         "a deadline by its error",
			"edge/door/grpc/":         "a deadline by its error",
			"edge/door/accept.go":     "errors of accept by their number",
			"edge/door/owed.go":       "a reset, by its number",
			"edge/door/owed_linux.go": "whether a peer has closed or refused, of a socket",
			"edge/door/doorstep_": "the socket of a listener in a flood, which no poller " +
				"watches",
			"edge/door/queued_":  "a look at the queue of a socket",
			"edge/door/now_":     "reads and writes of a socket that do not wait",
			"edge/door/yield_":   "a descriptor whose events are its own",
			"edge/door/stream/":  "the raw connection, and errors by their number",
			"edge/door/udp/":     "options of the socket, its file, errors by their number",
			"edge/state/file.go": "the snapshot's file",
		},
	}
	netLaw = law{
		"uses the network", "sockets and HTTP are for doors, the ring and gossip; what decides, " +
			"encodes or controls is handed bytes",
		map[string]string{
			"cmd/":      "the world enters here",
			"edge/api/": "status codes of HTTP by their names; nothing is opened",
			"edge/config/address": "an address is split into host and port as net does it; " +
				"nothing is opened",
			"edge/ring/":      "connections to memcached",
			"edge/xds/":       "the stream to a server of limits",
			"edge/web/web.go": "the dashboard's files are served by HTTP",
			"edge/client/": "the client's socket, and middleware for HTTP; the codec in " +
				"edge/wire knows bytes only",
			"gossip/": "members' sockets; the coordinator in gossip/coordinator is " +
				"kept pure by imports_test.go",
			"edge/doors.go": "a node's sockets, opened before it runs",
			"edge/streams.go": "a node's sockets, opened before it runs and again when they " +
				"are lost",
			"edge/node.go":     "their addresses",
			"edge/embedded.go": "middleware for HTTP, which is the client's",
			"edge/gossip.go":   "the address of gossip",
			"edge/admin/":      "the listener for people",
			"edge/door/":       "listeners for requests",
		},
	}
	initLaw = law{"has an init function", "what happens before main is seen by nobody", nil}
)

// laws are all of them.
var laws = []law{clockLaw, waitLaw, chanceLaw, goroutineLaw, groupLaw, osLaw, netLaw, initLaw}

// clockNames are the functions of package time that look at a clock.
var clockNames = []string{"Now", "Since", "Until"}

// waitNames are the functions of some packages by which something waits, or is given a time to wait
// at most.
var waitNames = map[string][]string{
	"time":    {"Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
	"context": {"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"},
	"github.com/headgate-dev/headgate/edge/gate": {"Every"},
}

// afterFunc runs its argument in a goroutine of its own, in package time as in context.
var afterFunc = []string{"AfterFunc"}

// system are the packages through which a file, a process or the environment is reached, and
// network those of sockets and HTTP. net/netip and net/url are arithmetic on addresses: they reach
// nothing.
var (
	system  = []string{"os", "syscall", "golang.org/x/sys"}
	network = []string{"net"}
	values  = []string{"net/netip", "net/url"}
)

// chance are the packages that luck comes from.
var chance = []string{"math/rand", "math/rand/v2", "crypto/rand"}
