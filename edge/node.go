package edge

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/grpc"
	"github.com/headgate-dev/headgate/edge/door/http"
	"github.com/headgate-dev/headgate/edge/door/local"
	"github.com/headgate-dev/headgate/edge/door/resp"
	"github.com/headgate-dev/headgate/edge/door/udp"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/global"
	"github.com/headgate-dev/headgate/edge/pop"
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/edge/state"
)

// Options are the parts of a node beyond the configuration.
type Options struct {
	File     string         // the configuration; "": the built-in one
	Config   *config.Config // in place of File: from config.Parse, Read or Default; nil: File
	Build    api.Build      // version of the program, shown to people and other members
	Log      *slog.Logger   // nil: slog.Default()
	Audit    *slog.Logger   // one line for each change by hand; nil: Log
	Unlogged func() uint64  // lines the log has left out since start; nil: nobody counts
	Manager  Manager        // is told how the node is; nil: nobody is

	// of the node's own methods, Check and the like: their verdict under an unknown rule
	FailMode client.FailMode
}

// Manager is told of a node's state, like a service manager. Methods may be called concurrently.
type Manager interface {
	Reloading() // the configuration is being read
	// so many rules are in force; refused says why a reload changed nothing, nil: success
	Ready(rules int, refused error)
	Stopping() // no new requests are taken
}

// nobody is the manager of a node without a manager: nothing is done.
type nobody struct{}

func (nobody) Reloading()       {}
func (nobody) Ready(int, error) {}
func (nobody) Stopping()        {}

// Node is a whole node. Made by New, for a single run. Methods may be called concurrently.
type Node struct {
	options Options
	started config.Config // configuration at the start: the settings a reload cannot change
	log     *slog.Logger
	manager Manager

	gate    *gate.Gate
	room    *ask.Room     // whole requests: policies and tickets
	ring    *ring.Ring    // nil: this node is its PoP
	flusher *pop.Flusher  // nil likewise
	link    *global.Link  // nil: there is no gossip
	rest    *door.Yielder // of the flusher, or who is in its place; nil: there is neither
	state   *state.File   // nil: nothing outlives the process

	local    *local.Door // the methods of client.Limiter
	datagram []*udp.Door
	unread   unread
	sets     setWatch
	xds      streamed
	surges   surges
	web      *http.Door
	streams  []*streamDoor
	resp     *resp.Door // nil: closed
	grpc     *grpc.Door // one of streams; nil: it is closed
	admin    *admin.Door
	atWeb    []net.Listener // where web listens
	webStep  door.Doorstep  // before them
	atAdmin  []net.Listener

	prepare func(file string, started *config.Config) (prepared, error) // prepare, but in tests
	// of keys' digests where no key file is named
	secret [32]byte
	kept   bool // secret is that of the state directory
	// drawn: where between the others' flushes this node's lie
	phase   [8]byte
	begun   atomic.Uint64 // reloads
	reloads reloads
}

// New returns a node with the configuration in o.File. The doors are open, at known addresses, and
// the kept state is restored; the node must then Run, or be closed. ctx bounds the opening only.
func New(ctx context.Context, o Options) (*Node, error) {
	n := &Node{options: o, log: o.Log, manager: o.Manager, prepare: prepare}
	if o.Config != nil {
		n.prepare = func(_ string, started *config.Config) (prepared,
			error,
		) {
			return prepareConfig(*o.Config, started)
		}
	}
	p, err := n.prepare(o.File, nil)
	if err != nil {
		return nil, err
	}
	n.started = p.cfg
	if n.log == nil {
		n.log = slog.Default()
	}
	if n.manager == nil {
		n.manager = nobody{}
	}
	_, _ = rand.Read(n.secret[:]) // it never fails
	_, _ = rand.Read(n.phase[:])
	// Before anything is opened: sets may name files missing files.
	if err := n.loadPolicies(&p, false); err != nil {
		return nil, err
	}
	n.restoreLimits(&p)
	// The first reading counts as a successful reload.
	n.reloads.file, n.reloads.since = p, time.Now()
	n.warn(p)
	if err := n.build(ctx, p); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// build makes the rooms, from the inside out: every room a door asks exists before the door opens.
func (n *Node) build(ctx context.Context, p prepared) error {
	cfg := &p.cfg
	name, err := NodeName(cfg)
	if err != nil {
		return err
	}
	// Made first and opened later: the gate is given its hooks, and gossip needs the gate.
	link := newLink(p, name, n.options.Build.Version, n.log, n.giveWay)
	if link != nil || len(cfg.Ring.Servers) > 0 {
		if n.rest, err = door.NewYielder(); err != nil {
			return err
		}
	}
	options := GateOptions(cfg, name, time.Now(), hooksOf(link))
	options.Rules = p.rules()
	n.gate = gate.New(options)
	n.room = ask.New(n.gate, int(ticketBytes(cfg)))
	n.room.SetPools(cfg.Pools)
	n.room.Set(p.policies, options.Rules, cfg.TicketKeep)
	n.openSurge(&p)
	n.local = local.New(n.gate, n.room, n.options.FailMode)
	if err := n.openRing(p); err != nil {
		return err
	}
	if link != nil {
		if err := n.openGossip(link); err != nil {
			return err
		}
	}
	// Restored before the doors open, since a gate after a decision cannot take counts in.
	if cfg.StateDir != "" {
		n.state = state.Open(n.gate, cfg.StateDir, n.digests(&p), n.log)
	}
	return n.openDoors(ctx, p)
}

// Close closes a node not running: the listeners, the ring's connections, and gossip. A running
// node closes all itself when Run returns. Errors of several parts are joined.
func (n *Node) Close() error {
	var errs []error
	for _, ln := range append(n.atWeb, n.atAdmin...) {
		errs = append(errs, ln.Close())
	}
	for _, s := range n.streams {
		errs = append(errs, s.close()...)
	}
	for _, d := range n.datagram {
		errs = append(errs, d.Close())
	}
	if n.ring != nil {
		n.ring.Close()
	}
	if n.link != nil {
		errs = append(errs, n.link.Close())
	}
	if n.rest != nil {
		errs = append(errs, n.rest.Close())
	}
	return errors.Join(errs...)
}

// Gate returns the node's gate, for questions without a door.
func (n *Node) Gate() *gate.Gate { return n.gate }

// Memory returns how many bytes of counters and flags the node was configured with: 1/16 for flags,
// the rest for sketches, exact slots and brief entries. Fixed at the start.
func (n *Node) Memory() int64 { return n.started.Memory }

// Life looks at the loops that decisions rest on: the gate's background work and the readers of
// datagrams. A service manager's watchdog is to be fed only while they advance.
func (n *Node) Life() udp.Life { return udp.Look(n.gate.Turns(), n.datagram...) }

// Addresses are where a node listens.
type Addresses struct {
	Datagram, HTTP, Admin []net.Addr
	// the other open doors, by protocol: grpc, spop
	Streams map[string][]net.Addr
	Gossip  string // host:port; empty: there is no gossip
}

// Addresses returns where the node listens, with the ports drawn.
func (n *Node) Addresses() Addresses {
	var at Addresses
	for _, d := range n.datagram {
		at.Datagram = append(at.Datagram, d.Addr())
	}
	at.HTTP, at.Admin = addressesOf(n.atWeb), addressesOf(n.atAdmin)
	for _, s := range n.streams {
		if at.Streams == nil {
			at.Streams = map[string][]net.Addr{}
		}
		at.Streams[s.name] = addressesOf(s.listeners())
	}
	if n.link != nil {
		at.Gossip = n.link.Addr().String()
	}
	return at
}
