package gossip

import (
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"
)

// maxSending is how many packets wait for the socket.
const maxSending = 1024

// Node is this process's place in the cluster. Open makes one, Run lives it.
type Node struct {
	cfg     Config
	at      netip.AddrPort // where it listens
	socket  *socket        // nil with a Transport of the caller's
	log     *slog.Logger   // limited
	c       *counters
	clock   clock
	roster  *roster
	queue   *queue
	inbox   *inbox
	keyring *memberlist.Keyring
	out     chan outgoing

	own      atomic.Pointer[Meta]
	metaNews chan struct{} // holds one token while own has not been told to the others

	rotating sync.Mutex // one Rotate at a time
	ml       atomic.Pointer[memberlist.Memberlist]
}

// outgoing is a packet for a member.
type outgoing struct {
	name   string
	at     netip.AddrPort
	packet []byte
}

// Open checks cfg and binds its address; from then on Send and Spread queue what they are given. Run must follow, or
// Close.
func Open(cfg Config) (*Node, error) {
	n, err := open(cfg.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("gossip: %w", err)
	}
	return n, nil
}

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
		n.log.Warn("gossip: no key: a random one is used, so no other node can join this one", "bind", n.at)
	}
	return n, nil
}

func newNode(cfg Config, at netip.AddrPort, ring *memberlist.Keyring) *Node {
	c := &counters{}
	r := newRoster()
	n := &Node{
		cfg: cfg, at: at, log: limitLog(cfg.Log, c), c: c, clock: clock{time.Now()},
		roster: r, queue: newQueue(r.alive), inbox: newInbox(c),
		keyring: ring, out: make(chan outgoing, maxSending), metaNews: make(chan struct{}, 1),
	}
	n.own.Store(&cfg.Meta)
	return n
}

// bind opens the sockets, unless the caller brought a transport.
func (n *Node) bind() error {
	if n.cfg.Transport != nil {
		return nil
	}
	s, err := bind(n.at, n.c)
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

// Addr returns where the node listens, with the port it was given.
func (n *Node) Addr() netip.AddrPort { return n.at }

// Close frees what Open took. It is for a Node that is not going to Run.
func (n *Node) Close() error {
	if n.socket == nil {
		return nil
	}
	return n.socket.Shutdown()
}

// Members returns all members, this node among them, sorted by name: the living, the dead of the last day and those who
// left in the last minutes. Empty before Run.
func (n *Node) Members() []Member { return n.roster.list() }

// Send sends a packet of 1 to MaxPacket bytes to the member of that name. It may never arrive. The packet is copied; a
// longer one, one to nobody and one behind too many others is dropped and counted.
func (n *Node) Send(to string, packet []byte) {
	if len(packet) < 1 || len(packet) > MaxPacket {
		n.c.drop(dropOversize)
		return
	}
	at, ok := n.roster.find(to)
	if !ok {
		n.c.drop(dropUnknown)
		return
	}
	b := append(appendHead(make([]byte, 0, headBytes+len(packet)), kindPacket), packet...)
	select {
	case n.out <- outgoing{to, at, b}:
	default:
		n.c.drop(dropSendQueue)
	}
}

// Spread sends a record of 1 to MaxRecord bytes to all members, instead of what it was given under the same name before
// and has not spread yet. A record that does not reach everybody this way has to be in State too. It is copied; a
// longer one is dropped and counted.
func (n *Node) Spread(name string, rec []byte) {
	if len(rec) < 1 || len(rec) > MaxRecord {
		n.c.drop(dropOversize)
		return
	}
	n.queue.push(record{id: idOf(name), age: n.clock.at(time.Now()), body: rec})
}

// SetMeta changes what the others are told of this node. They hear of it within a second or two.
func (n *Node) SetMeta(m Meta) error {
	if err := m.check(); err != nil {
		return fmt.Errorf("gossip: %w", err)
	}
	n.setMeta(m)
	return nil
}

func (n *Node) setMeta(m Meta) {
	if old := n.own.Swap(&m); *old == m {
		return
	}
	select {
	case n.metaNews <- struct{}{}:
	default:
	}
}

func (n *Node) meta() Meta { return *n.own.Load() }
