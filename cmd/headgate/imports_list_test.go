package main

import "slices"

// counting are the rooms that count and judge: arithmetic, which everything else may rest on.
var counting = []string{
	"sketch", "window", "window/bucket", "window/whatif", "window/lease",
	"window/moments", "mitigation", "mitigation/pool", "mitigation/override", "mitigation/control",
}

// nodeParts are the rooms that a node is made of.
var nodeParts = []string{
	"edge/gate", "edge/gate/health", "edge/gate/snapshot", "edge/gate/usedup", "edge/config",
	"edge/pop", "edge/global", "edge/state", "edge/door", "edge/latency",
	"edge/door/udp", "edge/door/http", "edge/door/grpc", "edge/door/spop",
	"edge/door/resp", "edge/metrics",
	"edge/explain", "edge/admin", "edge/api", "edge/ask", "edge/policy", "edge/wire",
	"edge/ring", "edge/live", "edge/web", "edge/private", "edge/rls", "edge/xds", "edge/surge",
	"edge/door/local", "edge/door/lines", "edge/client",
}

// coordinatorParts are the rooms that the coordinator is made of.
var coordinatorParts = []string{
	"gossip/coordinator/packet", "gossip/coordinator/assignment",
	"gossip/coordinator/peers",
}

// commandLine are the rooms of the commands.
var commandLine = []string{
	"cmd/headgate", "cmd/headgate/cli", "cmd/headgate/ask", "cmd/headgate/serve",
	"cmd/headgate/demo", "cmd/headgate/replay", "cmd/headgate/setup",
	"cmd/headgate/policies",
}

func with(rooms []string, more ...string) []string { return slices.Concat(rooms, more) }

// rooms is the drawing: which packages of this module each package may import, and why no others.
// Arrows point from a room to those it rests on; there are no others, and tests add only kits and
// testImports. CONTRIBUTING.md shows it as a picture.
var rooms = map[string]struct {
	imports []string
	why     string
}{
	"sketch": {nil, "the sketch is arithmetic: it counts what it is handed and rests on " +
		"nothing"},
	"window/bucket": {nil, "a bucket is arithmetic over one moment; which keys have one is not " +
		"its affair"},
	"window": {
		[]string{"sketch", "window/bucket"},
		"a window is a sketch and slots over time; what a count leads to is mitigation's affair",
	},
	"window/whatif": {[]string{"sketch", "window", "window/bucket"}, "what other limits would " +
		"have refused is arithmetic over costs; who shows it to whom is not its affair"},
	"window/lease": {[]string{"sketch", "window"}, "who holds which places until when is " +
		"arithmetic over times; what a denial means is not its affair"},
	"window/moments": {[]string{"window"}, "when admissions came is arithmetic over lists; who " +
		"tells them to whom is the coordinator's affair"},
	"mitigation": {
		[]string{"sketch", "window", "window/bucket"},
		"the judge is handed rule, count and flag; it must not know who asks, or over what",
	},
	"mitigation/override": {[]string{"mitigation"}, "overrides are records of operators and " +
		"their order; how they travel and what they do to counts is not their affair"},
	"mitigation/pool": {
		[]string{"window", "mitigation"},
		"levels are arithmetic over reports and time; who asks, and over what, is not its affair",
	},
	"mitigation/control": {
		[]string{"sketch", "window", "window/moments", "mitigation"},
		"ratios are arithmetic over reports; who sends them is the coordinator's affair",
	},

	"gossip": {[]string{"gossip/guard"}, "gossip carries bytes; " +
		"edge/global joins it to a node, so that either can be tested without the other"},
	"gossip/coordinator": {
		with(coordinatorParts, "sketch", "window", "window/moments", "mitigation",
			"mitigation/control", "gossip/counts"),
		"the control loop is arithmetic over reports: it is handed time, chance and a way to " +
			"send, so that a simulated world runs the same code",
	},
	"gossip/coordinator/packet": {
		[]string{"window", "window/moments", "mitigation", "mitigation/control"},
		"the wire format knows the form of records and their bounds, and nothing of their effect",
	},
	"gossip/coordinator/assignment": {
		nil,
		"who does which part follows from names and a secret alone",
	},
	"gossip/coordinator/peers": {[]string{"window", "gossip/coordinator/packet"}, "whether a " +
		"packet is to be believed follows from its header; its records are not its affair"},
	"gossip/counts": {
		[]string{"window", "gossip/coordinator/packet"},
		"counts between PoPs are arithmetic over periods and bytes; who sends them to whom is " +
			"the coordinator's affair",
	},
	"gossip/guard": {
		[]string{"gossip/guard"},
		"the guard checks what reaches memberlist; what the payload holds is not its affair",
	},
	"edge/gate": {
		with(counting, "edge/gate/snapshot", "edge/gate/health",
			"edge/gate/networks", "edge/gate/observer", "edge/gate/tables",
			"edge/gate/totals", "edge/gate/usedup"),
		"the gate decides from memory: it knows no door, no disk, no network and no person",
	},
	"edge/gate/tables": {[]string{"sketch", "window", "mitigation"}, "how many narrower keys " +
		"asked is arithmetic over times; what follows from it is the gate's affair"},
	"edge/gate/observer": {
		[]string{
			"sketch", "window", "window/lease", "window/whatif", "mitigation", "edge/gate/totals",
		},
		"estimates are made of samples; which rules are in force is the gate's affair",
	},
	"edge/gate/totals": {
		[]string{"window"},
		"outcomes are counted; which of them a request has is the gate's affair",
	},
	"edge/gate/snapshot": {
		[]string{"window", "mitigation", "mitigation/control", "mitigation/override"},
		"values that outlive a restart; the gate makes them, and others write them",
	},
	"edge/gate/health": {[]string{"window"}, "which servers are silent is arithmetic over " +
		"times; what follows from it is the gate's affair"},
	"edge/gate/networks": {
		[]string{"window", "mitigation", "edge/request"},
		"flags of networks are found by the keys in them; who sets them is the gate's affair",
	},
	"edge/gate/usedup": {[]string{"window", "mitigation"}, "which keys others know to be at " +
		"their limits is a table of digests; who fills it is the flusher's affair"},
	"edge/pop": {
		[]string{
			"window", "mitigation", "edge/gate", "edge/gate/health",
			"edge/gate/usedup", "edge/ring",
		},
		"the flusher exchanges what the gate has to tell over the ring; it decides nothing",
	},
	"edge/global": {
		[]string{
			"window", "mitigation", "mitigation/override", "mitigation/control", "gossip",
			"gossip/coordinator", "gossip/counts", "edge/gate", "edge/api", "edge/config",
		},
		"the one place that joins gate, coordinator and gossip",
	},
	"edge/state": {
		with(counting, "edge/gate/snapshot", "edge/gate", "edge/private", "edge/state/codec"),
		"the state file is the gate's snapshot as bytes; what is worth keeping is the gate's " +
			"affair",
	},
	"edge/state/codec": {
		with(counting, "edge/gate/snapshot", "edge/gate"),
		"a snapshot as bytes: it opens no file and changes no gate",
	},
	"edge/ask": {
		[]string{
			"window", "window/lease", "mitigation", "mitigation/pool",
			"edge/gate", "edge/latency", "edge/policy", "edge/request",
		},
		"it decides whole requests by policies; which protocol they came by is the doors' affair",
	},
	"edge/latency": {
		nil,
		"a histogram knows neither what took the time nor who reads it",
	},
	"edge/door": {
		[]string{"edge/config"},
		"what doors share: sockets, and how they are opened",
	},
	"edge/door/stream": {
		[]string{"edge/door", "edge/door/budget"},
		"connections are accepted, bounded and ended alike, whatever they carry",
	},
	"edge/door/verdict": {[]string{
		"mitigation", "window", "edge/gate", "edge/wire", "edge/api",
	}, "a decision " +
		"in seconds and in the text of headers; which protocol carries them is the doors' affair"},
	"edge/door/lines": {
		[]string{"mitigation", "edge/gate", "edge/request", "edge/wire", "edge/api", "edge/ask"},
		"the line protocol's fields and values as those of a request and of the gate, so that " +
			"they mean the same in every door",
	},
	"edge/door/grpc": {
		[]string{
			"mitigation",
			"edge/gate",
			"edge/ask",
			"edge/latency",
			"edge/api",
			"edge/h2",
			"edge/policy",
			"edge/request",
			"edge/rls",
			"edge/pb",
			"edge/wire",
			"edge/door",
			"edge/door/budget",
			"edge/door/lines",
			"edge/door/stream",
			"edge/door/verdict",
		},
		"a door translates between its protocol and the gate, and judges nothing",
	},
	"edge/door/spop": {
		[]string{
			"window", "edge/gate", "edge/ask", "edge/latency",
			"edge/request", "edge/wire", "edge/door", "edge/door/budget", "edge/door/lines",
			"edge/door/stream", "edge/door/verdict",
		},
		"a door translates between its protocol and the gate, and judges nothing",
	},
	"edge/door/resp": {
		[]string{
			"window", "mitigation", "edge/gate", "edge/ask", "edge/latency", "edge/wire",
			"edge/door", "edge/door/budget", "edge/door/lines", "edge/door/stream",
			"edge/door/verdict", "edge/request", "edge/door/resp/throttle",
		},
		"a door translates between its protocol and the gate, and judges nothing but " +
			"CL.THROTTLE, whose numbers no rule has",
	},
	"edge/door/resp/throttle": {nil, "the arithmetic of another program's command, and a table " +
		"of its keys; it knows no protocol"},
	"edge/door/local": {
		[]string{
			"edge/gate", "edge/ask", "edge/request", "edge/wire", "edge/door", "edge/door/lines",
			"edge/api", "edge/client",
		},
		"a door translates between its protocol and the gate, and judges nothing; the protocol " +
			"of the program itself is the client's methods",
	},
	"edge/door/udp": {
		[]string{
			"mitigation", "window", "edge/gate", "edge/ask", "edge/latency", "edge/wire",
			"edge/door", "edge/door/lines", "edge/door/udp", "edge/config", "edge/api",
		},
		"a door translates between its protocol and the gate, and judges nothing",
	},
	"edge/door/http": {
		[]string{
			"mitigation", "window", "edge/gate", "edge/ask", "edge/latency", "edge/request",
			"edge/wire", "edge/door", "edge/door/lines", "edge/door/verdict", "edge/config",
			"edge/api", "edge/door/budget", "edge/door/stream", "edge/door/http/head",
			"edge/door/http/input",
		},
		"a door translates between its protocol and the gate, and judges nothing",
	},
	"edge/door/http/head": {
		[]string{"edge/request", "edge/api"},
		"a head is bytes that have arrived; sockets and answers are the door's affair",
	},
	"edge/door/http/input": {
		[]string{"mitigation", "edge/gate", "edge/api", "edge/wire"},
		"text becomes checks and members; it decides and answers nothing",
	},
	"edge/door/budget": {
		nil,
		"bytes under way are a sum with a bound; it knows no protocol",
	},
	"edge/metrics": {with(counting, "edge/gate", "edge/gate/health", "edge/pop",
		"edge/state", "edge/ring", "edge/latency", "edge/door", "edge/door/udp", "edge/door/http",
		"edge/door/lines",
		"edge/api", "edge/request", "edge/ask", "edge/explain"), "metrics read what others count"},
	"edge/explain": {
		with(counting, "edge/gate", "edge/pop", "edge/api"),
		"one key in words: it reads the gate and changes nothing",
	},
	"edge/admin": {
		with(counting, "edge/gate", "edge/gate/health", "edge/pop", "edge/state", "edge/ring",
			"edge/api", "edge/config", "edge/explain", "edge/live", "edge/web", "edge/metrics",
			"edge/door", "edge/door/budget", "edge/ask", "edge/policy", "edge/sample",
			"edge/wire", "docs"),
		"the door for people: it reads every part of a node by value, and changes only the gate",
	},

	"edge/client": {[]string{"edge/wire", "edge/request"}, "any Go program " +
		"may import the client: it brings the codec, the one reading of a request and the " +
		"standard library, nothing else"},

	"edge/wire": {
		nil,
		"the codec of the line protocol, and of its numbers everywhere, is shared by daemon and " +
			"clients: it imports neither",
	},
	"edge/h2": {nil, "HTTP/2 is frames: bytes in, bytes out, and a handler for whole messages; " +
		"it knows nothing of limits, sockets or time"},
	"edge/pb": {nil, "protobuf is bytes; which fields mean anything is known by who reads them"},
	"edge/surge": {[]string{"edge/request"}, "what requests have in common is arithmetic over " +
		"samples; what becomes of a finding is not its affair"},
	"edge/xds": {[]string{"edge/pb"}, "a stream of resources is bytes and versions; their " +
		"meaning is known by who takes them"},
	"edge/rls": {[]string{"mitigation"}, "which limit a descriptor means follows from the tree; " +
		"where it was read, and who asks, is not its affair"},
	"edge/config/envoy": {
		[]string{"mitigation", "edge/api", "edge/pb", "edge/rls"},
		"another program's configuration is limits and faults; it opens no file",
	},
	"edge/request": {
		nil,
		"a request is fields of bytes; which of them matter to whom is edge/policy's affair",
	},
	"edge/policy": {
		[]string{
			"mitigation", "edge/request", "edge/policy/sets",
			"edge/policy/condition", "edge/wire",
		},
		"policies make questions of a request; it knows neither gate nor door, and opens no file",
	},
	"edge/sample": {
		[]string{"edge/api", "edge/policy", "edge/request"},
		"it says what policies make of a request, for people; it asks no gate",
	},
	"edge/policy/condition": {
		[]string{"edge/request", "edge/policy/sets"},
		"a condition holds for a request or not; what follows from it is edge/policy's affair",
	},
	"edge/policy/sets": {
		nil,
		"a set is searched; which field of which request is looked up is its caller's affair",
	},
	"edge/config": {
		[]string{
			"mitigation", "mitigation/pool", "edge/config/envoy", "edge/config/schema",
			"edge/rls", "edge/config", "edge/config/document",
			"edge/api", "edge/policy", "edge/policy/condition",
			"edge/policy/sets", "edge/request", "edge/wire",
		},
		"the configuration is values and their faults; it opens no socket and starts nothing",
	},
	"edge/config/schema": {nil, "the shapes of JSON are words and numbers; no field is known " +
		"here"},
	"edge/config/document": {nil, "text becomes one tree of YAML; no field is known here"},
	"edge/ring": {
		[]string{"window"},
		"the ring adds up deltas; whom they convict is not its affair",
	},
	"edge/ring/minimal": {
		nil,
		"a small memcached for the demo, where none is installed; it knows the protocol only",
	},
	"edge/api": {[]string{"edge/api"}, "the contract of the admin listener: any Go program may " +
		"import it, and nothing but words may come along with it"},
	"edge/private": {
		nil,
		"how a secret is read is the same for whoever needs one, and knows nothing of it",
	},
	"edge/live": {[]string{"edge/api"}, "streams and histories are bytes, names and numbers; " +
		"what they show is the admin listener's affair"},
	"edge/web": {nil, "the dashboard is pages that fetch the admin listener's JSON"},

	"edge": {
		with(counting, with(nodeParts, "gossip", "gossip/coordinator", "gossip/counts")...),
		"the one wiring of a node; it does not know the command line",
	},

	"docs": {nil, "pages and their words; who prints them is not its affair"},
	"cmd/headgate": {
		[]string{
			"edge", "edge/admin", "edge/api", "edge/client", "edge/config", "edge/live",
			"edge/wire", "edge/edgetest", "cmd/headgate/cli", "cmd/headgate/ask",
			"cmd/headgate/serve", "cmd/headgate/demo", "cmd/headgate/replay", "cmd/headgate/setup",
			"cmd/headgate/policies", "cmd/headgate/clitest", "docs",
		},
		"it lists the commands, and its tests run the whole program",
	},
	"cmd/headgate/cli": {[]string{
		"edge/api", "edge/config", "edge/private",
		"cmd/headgate/clitest",
	}, "what commands share; it knows none of them"},
	"cmd/headgate/ask": {
		[]string{
			"mitigation", "edge/api", "edge/client", "edge/config", "edge/gate",
			"edge/gate/health", "edge/live", "edge/wire", "cmd/headgate/cli",
			"cmd/headgate/clitest",
		},
		"it asks a daemon from outside, and of the gate knows only the names of its states",
	},
	"cmd/headgate/serve": {
		[]string{
			"mitigation", "edge", "edge/api", "edge/config",
			"edge/door/udp", "edge/edgetest", "cmd/headgate/cli",
		},
		"it runs a node, and tells the service manager of it",
	},
	"cmd/headgate/demo": {
		[]string{
			"edge", "edge/api", "edge/client", "edge/edgetest", "edge/gate", "edge/gate/health",
			"edge/ring", "edge/ring/minimal", "edge/wire", "gossip", "cmd/headgate/cli",
			"cmd/headgate/serve", "cmd/headgate/clitest", "cmd/headgate/demo/story",
			"cmd/headgate/demo/screen",
		},
		"it runs nodes as serve does, and joins the parts of the demo",
	},
	"cmd/headgate/demo/story": {nil, "the script is arithmetic over time and a seed"},
	"cmd/headgate/demo/screen": {
		[]string{
			"edge/api", "cmd/headgate/cli", "cmd/headgate/clitest", "cmd/headgate/demo/story",
		},
		"it shows plain values: no daemon, no socket",
	},
	"cmd/headgate/replay": {
		with(counting, "edge", "edge/admin", "edge/ask", "edge/gate",
			"edge/gate/observer", "edge/api", "edge/config", "edge/policy", "edge/request",
			"cmd/headgate/cli", "cmd/headgate/accesslog", "cmd/headgate/oracle"),
		"a log instead of a network: no door, no ring",
	},
	"cmd/headgate/setup": {
		[]string{
			"edge/config", "edge/policy", "edge/policy/condition", "mitigation", "edge/api",
			"edge/config/envoy", "edge/wire",
			"cmd/headgate/cli", "cmd/headgate/clitest",
		},
		"it reads and prints configurations, and asks nobody but the admin listener",
	},
	"cmd/headgate/clitest": {nil, "what tests of commands share knows no command"},
	"cmd/headgate/policies": {
		[]string{"edge/api", "edge/config", "edge/policy", "edge/sample", "cmd/headgate/cli"},
		"it reads policies and tries requests on them, of a file or of a daemon",
	},
	"cmd/headgate/systemtest/front": {
		[]string{
			"edge/api", "edge/request", "cmd/headgate/systemtest", "cmd/headgate/clitest",
			"cmd/headgate/cli", "cmd/headgate/setup",
			"cmd/headgate/policies", "cmd/headgate/ask",
		}, outsideWhy,
	},
	"cmd/headgate/systemtest/together": {
		[]string{
			"window", "gossip", "gossip/coordinator", "edge/api", "edge/client", "edge/wire",
			"cmd/headgate/systemtest", "cmd/headgate/clitest",
		}, outsideWhy,
	},
	"cmd/headgate/systemtest/life": {
		[]string{
			"window", "edge/client", "edge/config", "edge/wire", "cmd/headgate/systemtest",
			"cmd/headgate/clitest",
		}, outsideWhy,
	},
	"cmd/headgate/systemtest/people": {
		[]string{
			"edge/client", "edge/wire", "edge/web/browser", "cmd/headgate/systemtest",
			"cmd/headgate/clitest",
			"cmd/headgate/cli", "cmd/headgate/ask", "cmd/headgate/demo", "cmd/headgate/demo/story",
		}, outsideWhy,
	},
	"cmd/headgate/systemtest/seam": {[]string{"edge/client", "cmd/headgate/clitest"}, "the judge " +
		"of what a visitor sends reads bytes by itself: the node's own readings are what it " +
		"judges"},
	"cmd/headgate/accesslog": {
		[]string{"edge/request"},
		"a log reader knows lines of text, and reads addresses as the doors do",
	},
	"cmd/headgate/oracle": {
		[]string{"window"},
		"the judge of the judge must share nothing with it but the exact log",
	},
}

const outsideWhy = "daemons run as processes here: the tests see them from outside"

// kits are the rooms that only tests, and other kits, import.
var kits = map[string]struct {
	imports []string
	why     string
}{
	"cmd/headgate/systemtest": {
		[]string{
			"edge/api", "edge/client", "edge/wire", "edge/edgetest", "cmd/headgate/cli",
			"cmd/headgate/clitest",
		}, outsideWhy,
	},
	"edge/web/browser": {nil, "a browser for tests: it knows pages, not what is on them"},
	"edge/edgetest":    {nil, "what tests of whole nodes wait by; it knows no node"},
	"edge/door/doortest": {nil, "servers, connections and HTTP answers, for the tests of " +
		"whatever listens; it knows nothing of headgate"},
	"edge/gate/gatetest": {
		with(counting, "edge/gate", "edge/ask", "edge/config", "edge/api"),
		"gates, policies, questions and statistics, for the tests of the rooms around the gate",
	},
	"edge/ring/ringtest": {
		[]string{"edge/ring"},
		"a memcached in memory that can fail, forget and lie",
	},
	"gossip/lossy": {
		nil,
		"a network in memory that loses, delays and cuts, for the tests of whatever gossips",
	},
	"gossip/guard/guardtest": {
		nil,
		"the bytes of memberlist's messages, as members and attackers send them",
	},
	"edge/pop/poptest": {
		[]string{
			"window", "mitigation", "edge/gate", "edge/gate/gatetest", "edge/ring",
			"edge/ring/ringtest", "edge/pop",
		},
		"the nodes of one PoP, for the tests of the rooms around it",
	},
}

// testImports are the rooms that tests import beside the kits and the imports of their own room. A
// test from outside puts its room among the rooms that use it.
var testImports = map[string][]string{
	"edge":           {"edge/config", "edge/request", "edge/ring/minimal"},
	"edge/config":    {"edge/config"},
	"edge/admin":     {"edge/config", "edge/gate/snapshot"},
	"edge/ask":       {"edge/config", "edge/surge", "mitigation/control"},
	"edge/surge":     {"edge/config", "edge/policy"},
	"edge/door/grpc": {"edge/config", "edge/config/envoy"},
	"edge/client":    {"edge", "edge/config", "edge/gate"},
	"edge/door":      {"edge/door/http", "edge/door/udp", "edge/gate", "edge/latency"},
	"edge/global":    {"edge/pop", "edge/ring", "edge/state", "window/bucket"},
	"edge/metrics":   {"edge/admin", "edge/config"},
	"edge/pop":       {"mitigation", "mitigation/control", "window/bucket"},
	"edge/pop/board": {"mitigation"},
}

// doors is the list of third parties, each with the rooms that may know it: to replace one, those
// are all there is to touch.
var doors = map[string]struct {
	rooms []string
	why   string
}{
	"github.com/bradfitz/gomemcache": {
		[]string{"edge/ring"},
		"only the ring speaks memcached",
	},
	"github.com/hashicorp/memberlist": {
		[]string{"gossip", "gossip/guard", "gossip/lossy"},
		"only gossip knows the members",
	},
	"github.com/cespare/xxhash/v2": {
		[]string{"edge/ring", "gossip", "gossip/coordinator/assignment"},
		"only where nodes must agree: counting is by a seeded maphash, or keys could be made to " +
			"collide",
	},
	"github.com/prometheus/client_golang": {
		[]string{"edge/metrics", "edge/admin", "edge"},
		"rooms count, the metrics of a node report in the registry that it makes",
	},
	"go.yaml.in/yaml/v3": {
		[]string{
			"edge/config", "edge/config/envoy",
			"edge/config/document",
		},
		"only the configuration is YAML",
	},
	"github.com/spf13/cobra": {commandLine, "only the command line parses flags"},
	"github.com/google/go-cmp": {
		[]string{"cmd/headgate/clitest"},
		"only tests compare by it, and the rooms that are for tests",
	},
	"golang.org/x/net": {[]string{"edge", "edge/h2", "edge/door/grpc"}, "only the coder of " +
		"HTTP/2's header blocks, for edge/h2 and the tests of its door: frames are parsed where " +
		"they lie"},
	"golang.org/x/sync": {
		[]string{"edge", "cmd/headgate/demo"},
		"only where several parts of a node run until the first fails",
	},
	"golang.org/x/sys": {
		[]string{
			"edge/door", "edge/door/udp",
			"cmd/headgate/cli", "cmd/headgate/serve", "cmd/headgate/systemtest/life",
			"cmd/headgate/systemtest/together", "cmd/headgate/systemtest/people",
		},
		"system calls are for sockets and terminals",
	},
}
