package gossip

import (
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/headgate-dev/headgate/gossip/guard"
)

// maxSending bounds the packets waiting for the socket.
const maxSending = 1024

// Node is this process's membership in the cluster. Made by Open, run by Run.
type Node struct {
	cfg Config
	// at is the listening address.
	at netip.AddrPort
	// socket is nil with the caller's Transport.
	socket *socket
	// log is limited to 10 lines a second.
	log     *slog.Logger
	c       *counters
	clock   clock
	roster  *roster
	queue   *queue
	inbox   *inbox
	keyring *memberlist.Keyring
	out     chan outgoing

	own atomic.Pointer[Meta]
	// metaNews holds a token while own has to be sent.
	metaNews chan struct{}
	// claims has a name claimed from two addresses, the member's first.
	claims chan [2]memberlist.Node

	// rotating is held by Rotate: in turn.
	rotating sync.Mutex
	ml       atomic.Pointer[memberlist.Memberlist]
}

// outgoing is a packet for a member.
type outgoing struct {
	name   string
	at     netip.AddrPort
	packet []byte
}

// Open checks cfg and binds the address; afterwards Send and Spread queue their arguments. Run must
// follow, or Close.
func Open(cfg Config) (*Node, error) {
	n, err := open(cfg.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("gossip: %w", err)
	}
	return n, nil
}

// open is Open without the prefix of errors.
func open(cfg Config) (*Node, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	at, err := parseBind(cfg.Bind)
	if err != nil {
		return nil, err
	}
	ring, random, err := newKeyring(cfg, at.Addr().IsLoopback())
	if err != nil {
		return nil, err
	}
	n := newNode(cfg, at, ring)
	if err := n.bind(); err != nil {
		return nil, err
	}
	if random {
		n.log.Warn("gossip: no key: a random one is used, so no other node can join this one",
			"bind", n.at)
	}
	return n, nil
}

// newNode returns a Node without sockets.
func newNode(cfg Config, at netip.AddrPort, ring *memberlist.Keyring) *Node {
	c := &counters{}
	r := newRoster()
	n := &Node{
		cfg: cfg, at: at, log: cfg.Log, c: c, clock: newClock(time.Now()),
		roster: r, queue: &queue{}, inbox: newInbox(c),
		keyring: ring, out: make(chan outgoing, maxSending), metaNews: make(chan struct{}, 1),
		claims: make(chan [2]memberlist.Node, 1),
	}
	n.queue.q.RetransmitMult, n.queue.q.NumNodes = retransmit, r.alive
	n.cfg.Meta.Leaving = false
	n.own.Store(&n.cfg.Meta)
	return n
}

// bind opens the sockets, unless the caller brought a transport.
func (n *Node) bind() error {
	if n.cfg.Transport != nil {
		return nil
	}
	s, err := bind(n.at, &n.c.Traffic)
	if err != nil {
		return err
	}
	if s.advertise, err = advertised(n.cfg.Advertise, s.at); err != nil {
		_ = s.Shutdown()
		return err
	}
	n.socket, n.at = s, s.at
	return nil
}

// Addr returns the listening address, with the real port.
func (n *Node) Addr() netip.AddrPort { return n.at }

// Close releases the sockets of a Node without Run.
func (n *Node) Close() error {
	if n.socket == nil {
		return nil
	}
	return n.socket.Shutdown()
}

// Members returns all members, this node included, sorted by name: the living, the dead of the last
// day and the nodes gone in the last minutes. Empty before Run.
func (n *Node) Members() []Member { return n.roster.list() }

// Send sends a packet of 1..MaxPacket bytes to the member called to, best effort. The packet is
// copied. A packet too long, for a stranger, or beyond the queue's bound is dropped and counted.
func (n *Node) Send(to string, packet []byte) {
	if len(packet) < 1 || len(packet) > MaxPacket {
		n.c.drop(guard.Oversize)
		return
	}
	at, ok := n.roster.find(to)
	if !ok {
		n.c.drop(guard.Unknown)
		return
	}
	b := append(appendHead(make([]byte, 0, headBytes+len(packet)), kindPacket),
		packet...)
	select {
	case n.out <- outgoing{to, at, b}:
	default:
		n.c.drop(guard.SendQueue)
	}
}

// Spread sends a record of 1..MaxRecord bytes to all members, in place of the record under the same
// name that still waits. Delivery to all needs State to carry the record as well. The record is
// copied; one that is too long is dropped and counted.
func (n *Node) Spread(name string, rec []byte) {
	if len(rec) < 1 || len(rec) > MaxRecord {
		n.c.drop(guard.Oversize)
		return
	}
	n.queue.push(record{ID: idOf(name), Age: n.clock.At(time.Now()), Body: rec})
}

// SetMeta changes this node's metadata. The others receive the record within a second or two.
func (n *Node) SetMeta(m Meta) error {
	if err := m.Check(); err != nil {
		return fmt.Errorf("gossip: %w", err)
	}
	m.Leaving = false // Run alone says so
	n.setMeta(m)
	return nil
}

// setMeta stores m, and wakes sendMeta if different.
func (n *Node) setMeta(m Meta) {
	if old := n.own.Swap(&m); *old == m {
		return
	}
	select {
	case n.metaNews <- struct{}{}:
	default:
	}
}

// meta returns this node's metadata.
func (n *Node) meta() Meta { return *n.own.Load() }
