package gossip

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/hashicorp/memberlist"
)

// Bounds of a Config.
const (
	// KeyBytes is the length of a key, for AES-256.
	KeyBytes = 32
	// MaxKeys bounds the keys accepted at once, during a rotation.
	MaxKeys = 8
	// MaxName is the longest name of a member, bytes.
	MaxName = 128
	// MaxLabel is the longest label, bytes: so a full packet still fits an Ethernet frame.
	MaxLabel = 64
	MaxSeeds = 1000
	// maxPrefix bounds the networks in Allow.
	maxPrefix = 1000
)

// Bounds of messages, bytes. A longer packet is dropped and counted.
const (
	// MaxPacket is the longest packet of Send. With all framing, encryption and the longest label a
	// packet is a datagram of 1,449 bytes, which fits into an Ethernet frame.
	MaxPacket = 1350
	// MaxRecord is the longest record of Spread. memberlist's own messages go into a packet first,
	// and a record that never finds room would never be sent.
	MaxRecord = 1024
	// MaxState is the longest State. MaxState is a bound and not a target: at 20 KiB push/pull
	// costs 8 KiB/s.
	MaxState = 256 << 10
	// MaxMetaText is the longest text in a Meta: full texts take 336 of memberlist's 512 bytes.
	MaxMetaText = 64
)

// Config is this node's identity, with peers and callbacks. Open reads a Config and does not keep
// it. The zero value of every field but Name and Bind is usable.
type Config struct {
	// Name is this node's name, 1 to MaxName bytes, unlike any other's in the cluster.
	Name string
	// Bind is the "host:port" to listen on, UDP and TCP; host is an IP address or "localhost", port
	// 0 takes a free port.
	Bind string
	// Advertise is the "ip:port" others reach this node by, if not Bind; a port of 0 is Bind's. For
	// a Bind without an address (0.0.0.0) the default is the machine's first private address.
	Advertise string
	// Join are "host:port" of members to begin with. Names are resolved at every attempt, and
	// attempts never end.
	Join []string

	// Key is the cluster's key, KeyBytes long. Empty only on loopback without Join: a random key is
	// then drawn, and no node can join.
	Key []byte
	// Keys are others accepted from peers beside Key, for rotation: see Rotate.
	Keys [][]byte
	// Label names the cluster, at most MaxLabel bytes: packets under another label are dropped
	// unread.
	Label string
	// Allow, unless empty, are the networks for peers to send from. Everything else is dropped
	// unread.
	Allow []netip.Prefix

	// Meta is this node's metadata, spread to all members; see SetMeta.
	Meta Meta
	// Profile sets the intervals; the zero Profile is LAN.
	Profile Profile
	// Log gets at most 10 lines a second from this package; nil discards states.
	Log *slog.Logger

	// Wall reads this node's wall clock; nil: time.Now. Called on several goroutines at once.
	Wall func() time.Time

	// State returns this node's state for a push/pull exchange: at most MaxState bytes, nil for
	// none. join: either side is joining; otherwise a regular comparison. Called on several
	// goroutines of the network at once, and must not wait.
	State func(join bool) []byte

	// Merge takes a peer's State. Merge, Receive, ReceiveRecord and Changed all run on a single
	// goroutine, inside Run, and own the bytes.
	Merge func(state []byte)
	// Receive takes a packet from another node.
	Receive func(packet []byte)
	// ReceiveRecord takes a record being spread, and reports whether it is news: news is passed on,
	// anything else ends here.
	ReceiveRecord func(record []byte) (news bool)
	// Pinged takes that a member answered a ping within round, when its wall clock was lead ahead
	// of this node's, less the answer's way. Members of earlier versions answer without a clock.
	// Called on a goroutine of its own; nil: not called.
	Pinged func(name string, lead, round time.Duration)
	// Changed takes the members, this node included, sorted by name, soon after a change.
	Changed func([]Member)

	// Transport replaces the sockets, for tests; Bind then only has to parse.
	Transport memberlist.Transport
}

// withDefaults fills in the logger and the callbacks.
func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.State == nil {
		c.State = func(bool) []byte { return nil }
	}
	if c.Merge == nil {
		c.Merge = func([]byte) {}
	}
	if c.Receive == nil {
		c.Receive = func([]byte) {}
	}
	if c.ReceiveRecord == nil {
		c.ReceiveRecord = func([]byte) bool { return false }
	}
	if c.Wall == nil {
		c.Wall = time.Now
	}
	if c.Changed == nil {
		c.Changed = func([]Member) {}
	}
	return c
}

// check returns all faults but those of keys and addresses, which are parsed elsewhere.
func (c Config) check() error {
	var faults []error
	if err := checkName(c.Name); err != nil {
		faults = append(faults, err)
	}
	if len(c.Label) > MaxLabel {
		faults = append(faults, fmt.Errorf("label: %d bytes, at most %d", len(c.Label), MaxLabel))
	}
	if len(c.Join) > MaxSeeds {
		faults = append(faults, fmt.Errorf("join: %d addresses, at most %d", len(c.Join), MaxSeeds))
	}
	if len(c.Allow) > maxPrefix {
		faults = append(faults, fmt.Errorf("allow: %d networks, at most %d",
			len(c.Allow), maxPrefix))
	}
	if err := c.Meta.Check(); err != nil {
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// checkName accepts 1..MaxName printable ASCII bytes: names go into logs and pages.
func checkName(name string) error {
	if len(name) < 1 || len(name) > MaxName {
		return fmt.Errorf("name: %d bytes, want 1 to %d", len(name), MaxName)
	}
	for i := range len(name) {
		if name[i] <= ' ' || name[i] >= 0x7f {
			return fmt.Errorf("name: byte %d of %q is not printable ASCII", i+1, name)
		}
	}
	return nil
}

// parseBind parses the address to listen on. "localhost" is 127.0.0.1, whatever the resolver says.
func parseBind(bind string) (netip.AddrPort, error) {
	host, port, err := net.SplitHostPort(bind)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("bind %q: want host:port", bind)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if host == "" {
		host = "0.0.0.0"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("bind %q: the host must be an IP address", bind)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("bind %q: the port must be 0 to 65535", bind)
	}
	return netip.AddrPortFrom(ip.Unmap(), uint16(n)), nil
}
