package config

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/headgate-dev/headgate/edge/config/document"
	"github.com/headgate-dev/headgate/edge/config/envoy"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/pool"
)

// Bounds of the configuration outside rules; a value outside is a fault. Those of the rules are in
// package mitigation.
const (
	MaxBytes      = 1 << 20 // of a file
	MinMemory     = 1 << 20
	MaxMemory     = 64 << 30
	MinFlush      = 10 * time.Millisecond
	MaxFlush      = 10 * time.Second
	MinTimeout    = time.Millisecond
	MaxTimeout    = 5 * time.Second
	MinTicketKeep = time.Second
	MaxTicketKeep = 10 * time.Minute
	MaxWeight     = 1000
	MaxServers    = 256  // memcached servers of a ring
	MaxSeeds      = 1000 // addresses in gossip.join
	MaxListeners  = 16   // addresses of a listener
	MaxNodeName   = 253  // bytes, as a host name
	MaxPoPName    = 64   // bytes
	MaxPath       = 4095 // bytes of a file name
	MaxRLSFiles   = 256  // paths in rls.files, and files they mean
	// of each file: mitigation.MaxTree descriptors, with room for comments
	MaxRLSBytes = 8 << 20
)

// Config is everything headgate.yaml can say. A Config from Default, Parse or Read is valid.
type Config struct {
	Node           string // this node's name; "" means the host name, which the caller fills in
	PoP            string // the point of presence this node belongs to
	Listen         Listen
	TLS            TLS // of listen.grpc and listen.resp over TCP
	RESP           RESP
	RLS            RLS    // limits of listen.grpc from other files
	AdminTokenFile string // "" means no token
	Headers        string // numbers told by listen.http and listen.spop; "" means draft-10
	Memory         int64  // bytes for everything that counts and flags, MinMemory..MaxMemory
	StateDir       string // where flags survive a restart; "" means nowhere
	Ring           Ring
	Gossip         Gossip
	Rules          []mitigation.Rule // at most mitigation.MaxRules, names unique; none is allowed
	Pools          []pool.Config     // at most pool.MaxPools, names unique
	Policies       policy.Spec       // questions of whole requests; its rules are not among Rules
	Surge          Surge             // what requests of a surge have in common
	History        int64             // bytes of Memory for the past of keys; 0: none is kept
	TicketKeep     time.Duration     // how long a ticket is good, MinTicketKeep..MaxTicketKeep
	// Kept as text for Marshal: compiled conditions have lost the spelling, and the operator is to
	// find the words of the file. the sections clients, sets, pools and policies, as YAML; "" where
	// there are none
	PolicyText string
	Warnings   Faults // doubtful settings, sorted by position; the file is valid
}

// Listen is where the daemon can be asked. An empty list closes a door.
type Listen struct {
	UDP   []Address // decisions, a line of text each; unix addresses are datagram sockets
	HTTP  []Address // decisions
	GRPC  []Address // decisions, for Envoy
	SPOP  []Address // decisions, for HAProxy
	RESP  []Address // decisions, for Redis clients
	Admin []Address // inspection, dashboard, metrics
}

// TLS names the files, in PEM, by which listeners of connections are secured. The zero TLS secures
// nothing.
type TLS struct {
	CertFile, KeyFile string
	ClientCAFile      string // "": clients need no certificate
	// AnyClient, or "known": who may connect plain, or shows the password of RESP
	Clients string
}

// AnyClient is the value of tls.clients to admit everybody.
const AnyClient = "any"

// RESP is about Redis clients.
type RESP struct {
	// The rule need not exist: without a rule the numbers of each call hold in mode enforce.
	Rule         string // lends CL.THROTTLE its mode
	PasswordFile string // "": no password is asked for
}

// RLS names files of envoyproxy/ratelimit, and a server of the same. LoadRLS reads the files.
type RLS struct {
	Files     []string // paths, with * ? and [] for several
	LongUnits bool     // weeks, months and years are counted by the day; else they are a fault
	Metadata  bool     // dynamic_metadata: answers carry the request and the metadata of its limits
	Headers   string   // that answers carry: "" (draft-10), ratelimit, x-ratelimit or none
	XDS       XDS      // a management server
	// Rules are no part of headgate.yaml, and so not of the output of Marshal.
	Rules []mitigation.Rule // set by LoadRLS and JoinRLS
	Texts []envoy.File      // of the files, as LoadRLS read them
}

// Ring is the memcached ring in which the nodes of a PoP add up their counts.
type Ring struct {
	Servers []Server // none: this node is its PoP
	// The same on all nodes of a PoP: others derive from Flush how old a total can be.
	Flush   time.Duration // between two flushes, MinFlush..MaxFlush
	Timeout time.Duration // of an exchange, MinTimeout..MaxTimeout
}

// Server is a memcached server of the ring.
type Server struct {
	Address Address // never without host, never port 0
	Weight  int     // share of the keys relative to the others, 1..MaxWeight
}

// String returns the server as the configuration writes it: the weight only where not 1. The
// spelling matters: keys are dealt by the spelling, and the fingerprint of the ring is made of
// spellings, so two spellings of the same server are two servers.
func (s Server) String() string {
	if s.Weight == 1 {
		return s.Address.String()
	}
	return fmt.Sprintf("%s %d", s.Address, s.Weight)
}

// Gossip is the exchange of views between PoPs.
type Gossip struct {
	// UDP and TCP, of the same port: memberlist sends small packets by UDP and states by TCP.
	Bind    Address   // the zero Address means no gossip
	Join    []Address // seeds, never without host, never port 0
	KeyFile string    // holds the 32-byte key; never "" when Bind is off loopback
}

// Default returns the built-in configuration: loopback only, neither ring nor gossip, the rules
// per-ip (100 per 10s, shed) and login (5 per 1m, block for 10m), both of scope node. Node is "". A
// file leaving a field out gets the value of Default.
func Default() Config {
	return Config{
		PoP: "local",
		Listen: Listen{
			// Loopback, as every local proxy can reach loopback and nobody else can: who may ask
			// may also count any client over the limit.
			UDP:   []Address{{Host: "127.0.0.1", Port: 4290}},
			HTTP:  []Address{{Host: "127.0.0.1", Port: 4291}},
			Admin: []Address{{Host: "127.0.0.1", Port: 4292}},
		},
		RESP:       RESP{Rule: "cl.throttle"},
		Memory:     64 << 20,
		TicketKeep: time.Minute,
		Surge:      Surge{Sample: 200, Learn: time.Hour, MinRate: 5},
		History:    4 << 20,
		TLS:        TLS{Clients: "known"},
		Policies:   policy.Spec{Clients: request.DefaultClients()},
		Ring:       Ring{Flush: 100 * time.Millisecond, Timeout: 50 * time.Millisecond},
		Rules: []mitigation.Rule{
			// Two rules showing both actions. The rules are to make the first check after the
			// installation answer something, and harm nobody who has not written rules yet.
			{Name: "per-ip", Limit: 100, Window: 10 * time.Second},
			{
				Name: "login", Limit: 5, Window: time.Minute,
				Action: mitigation.Block, BlockFor: 10 * time.Minute,
			},
		},
	}
}

// Parse reads data as the content of the file called name, which only serves to place faults. A
// field that data leaves out keeps the value from Default. "rules: []" means no rules, so every
// question is answered unknown-rule. A file saying nothing at all is a fault, "{}" is not: an
// emptied file is an accident more often than a wish. The error is a Faults, sorted by position,
// and never empty.
func Parse(name string, data []byte) (Config, error) {
	d := newDecoder(name)
	c := Default()
	// Fields are read into the defaults, so a field left out has the default. Checks of several
	// fields come after all are read: the file may have fields in any order.
	if root, ok := d.document(data); ok && root.fields(c.fields()) {
		d.checkSurge(&c)
		d.checkHistory(&c)
		d.check(c)
		d.checkPolicies(&c)
		c.PolicyText = document.Sections(root.node, "clients", "sets", "pools", "policies")
	}
	if err := d.err(); err != nil {
		return Config{}, err
	}
	d.lint(&c)
	d.warnings.sort()
	c.Warnings = d.warnings.without(data)
	return c, nil
}

// Read reads and parses the file at path: a regular file, or a link to a file, of at most MaxBytes.
// The empty path gives Default. The error is a Faults where the content is at fault.
func Read(path string) (Config, error) {
	if path == "" {
		return Default(), nil
	}
	data, err := readFile(path, MaxBytes)
	if err != nil {
		return Config{}, fmt.Errorf("config: read %s: %w", path, err)
	}
	return Parse(path, data)
}

// readFile looks before it opens, since opening a pipe nobody writes to would wait for ever.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read from
	// A byte more than allowed, to tell a file of exactly the most from a larger file. The size was
	// not asked for: the file may grow between the two calls.
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, bare(err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("larger than %d MiB", limit>>20)
	}
	return data, nil
}

// openFile opens a regular file, or a link to such a file.
func openFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, bare(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	f, err := os.Open(path) //nolint:gosec // the operator names it
	if err != nil {
		return nil, bare(err)
	}
	return f, nil
}
