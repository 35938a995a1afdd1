package global

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/gossip"
	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/gossip/counts"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// batch is the period in which owners add up and answer. A change in a PoP reaches the others after
// a flush, the way there, at most 1 batch, and the way back.
const batch = 50 * time.Millisecond

// lostAfter is how long no other node may be heard and believed until the failure modes of global
// rules act.
const lostAfter = 30 * time.Second

// Link joins a gate to the other PoPs. It is made by New, given its gate by Attach and its network
// by Open, and runs once. Its methods may be called concurrently once it is open.
type Link struct {
	options   Options
	gate      *gate.Gate
	transport transport
	meta      gossip.Meta
	key       []byte
	watch     *watch
	counts    *counts.Table

	mu          sync.Mutex // guards the coordinator
	coordinator *coordinator.Coordinator
	heard       time.Time // when other nodes were last heard and believed, or the start

	alive     atomic.Int32  // members beside this one
	published atomic.Uint64 // overrides given at this node since start

	unfit  atomic.Uint64 // parts that did not fit into a state
	unread atomic.Uint64 // records and parts of an unknown kind, or cut off
}

// transport is the network a link needs: a *gossip.Node, or its stand-in in a test.
type transport interface {
	Send(to string, packet []byte)
	Spread(name string, record []byte)
	SetMeta(meta gossip.Meta) error
	Rotate(primary []byte, others ...[]byte) error
	Run(ctx context.Context) error
	Close() error
	Addr() netip.AddrPort
	Members() []gossip.Member
	Stats() gossip.Stats
}

// Options are the settings of a link.
type Options struct {
	Node, PoP string // this node's name, and that of its PoP
	Version   string // of the program, for other members to see
	// host:port of the admin listener, for other members to see; without a host: on this node's
	// gossip address; empty: none
	Admin string
	Flush time.Duration // between two flushes of the gate
	Bind  string        // host:port to gossip on
	Join  []string      // host:port of members to begin with; empty: this node is the first
	// bytes for all that grows with keys, an eighth of them for the admissions of other PoPs of
	// keys with no counts here; 0: coordinator.DefaultMemory
	Memory int64
	// of the cluster, 32 bytes each, at least 1: the first is used to send, all are accepted
	Keys [][]byte
	Log  *slog.Logger
	// called between parts of the work on a flush's samples, to let others run; nil: nothing is
	Rest func()
}

// New returns a link whose gate is still to come. The gate is made with its Hooks, and then handed
// to Attach.
func New(o Options) *Link {
	if o.Memory == 0 {
		o.Memory = coordinator.DefaultMemory
	}
	return &Link{
		options: o,
		key:     o.Keys[0],
		heard:   time.Now(),
		watch:   newWatch(o.Log, lostAfter),
		counts:  counts.NewTable(counts.EntriesFor(int(o.Memory))),
	}
}

// Open opens the network. ring is the fingerprint of the PoP's ring, empty without a ring; other
// members compare it.
func (l *Link) Open(ring string) (err error) {
	l.meta.Ring = ring
	l.transport, err = gossip.Open(l.gossipConfig())
	return err
}

// Addr returns the address this node gossips on.
func (l *Link) Addr() netip.AddrPort { return l.transport.Addr() }

// Close closes the network of a link that does not run.
func (l *Link) Close() error { return l.transport.Close() }

// Hooks returns the link as its gate sees it:
//
//	Report    the samples of a flush, to the coordinator
//	UsedUp    whether other nodes used up the limit of a key that is new here
//	Publish   an override given at this node, to every member
//	Peers     whether any other member is alive
//	Lifted    a key whose counts the coordinator is to forget
//	Snapshot  the owners of a key's counts, for the state file
//	Restore   the same, from the state file
func (l *Link) Hooks() *gate.Global {
	return &gate.Global{
		Report:   l.measure,
		UsedUp:   l.usedUp,
		Publish:  l.publish,
		Peers:    func() bool { return l.alive.Load() > 0 },
		Lifted:   l.lift,
		Snapshot: l.snapshot,
		Restore:  l.restore,
	}
}

// Attach makes g the gate the link serves. g was made with the link's Hooks, and decides nothing
// yet.
func (l *Link) Attach(g *gate.Gate) {
	l.gate = g
	l.meta = gossip.Meta{
		PoP:     l.options.PoP,
		Version: l.options.Version,
		Wire:    coordinator.Version,
		Rules:   rulesDigest(g.Rules()),
		Admin:   l.options.Admin,
		Limits:  true,
	}
	now := g.Now()
	l.coordinator = coordinator.New(l.coordinatorOptions(), now, g.Wall(now))
	g.SetGlobalState(len(l.options.Join) == 0, false)
}

// coordinatorOptions returns the settings of the coordinator. Its packets go by the transport, its
// advice to the gate.
func (l *Link) coordinatorOptions() coordinator.Options {
	return coordinator.Options{
		Name:   l.gate.Node(),
		PoP:    l.options.PoP,
		Secret: l.key,
		Rule:   l.gate.GlobalRule,
		Flush:  l.options.Flush,
		Rest:   l.options.Rest,
		Batch:  batch,
		Seed:   seed(),
		Counts: l.counts,
		Memory: l.options.Memory - l.counts.Bytes(),
		Send:   func(to string, packet []byte) { l.transport.Send(to, packet) },
		Apply:  l.gate.Apply,
		Offset: l.gate.Offsets().Applied,
	}
}

// gossipConfig returns the settings of the network.
func (l *Link) gossipConfig() gossip.Config {
	return gossip.Config{
		Name:          l.gate.Node(),
		Bind:          l.options.Bind,
		Join:          l.options.Join,
		Key:           l.key,
		Keys:          l.options.Keys[1:],
		Label:         "headgate",
		Meta:          l.meta,
		Log:           l.options.Log,
		State:         l.state,
		Merge:         l.merge,
		Receive:       l.receive,
		ReceiveRecord: l.receiveRecord,
		Pinged:        l.pinged,
		Wall:          func() time.Time { _, wall := l.clocks(); return wall },
		Changed:       l.changed,
	}
}

// seed returns bits no other node has.
func seed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}

// Run gossips and coordinates until ctx ends. It returns early, with the error, if gossip cannot
// begin.
func (l *Link) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var coordinator sync.WaitGroup
	coordinator.Go(func() { l.tick(ctx) })
	err := l.transport.Run(ctx)
	stop()
	coordinator.Wait()
	return err
}

// tick drives the coordinator until ctx ends.
func (l *Link) tick(ctx context.Context) {
	select { // nodes that start together are not to tick together
	case <-ctx.Done():
	case <-time.After(time.Duration(seed() % uint64(batch))):
	}
	tick := time.NewTicker(batch)
	defer tick.Stop()
	for turn := 0; ; turn++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			l.turn(turn)
		}
	}
}

// turn is the work of the n-th batch: the coordinator's, and once a second the look at the members.
func (l *Link) turn(n int) {
	l.mu.Lock()
	l.coordinator.Tick(l.clocks())
	origins, offset := l.coordinator.Origins(), l.coordinator.Offset()
	l.mu.Unlock()
	l.gate.Offsets().SetWorld(offset)
	if n%int(time.Second/batch) == 0 {
		l.watch.Look(time.Now(), l.look(), l.transport.Stats())
		l.announceRules()
	}
	if n%int(time.Minute/batch) == 0 && origins == counts.MaxOrigins {
		l.options.Log.Warn("gossip: too many origins: 255 PoPs and nodes that count alone")
	}
}

// measure hands the coordinator the samples of a flush.
func (l *Link) measure(now window.Instant, all []control.Sample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.coordinator.Measure(now, l.gate.Wall(now), all)
}

// receive hands the coordinator a packet of another member. The coordinator checks it, and counts
// the rejected by reason.
func (l *Link) receive(packet []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, wall := l.clocks()
	l.coordinator.Receive(now, wall, packet)
}

// pinged takes in that a member answered a ping.
func (l *Link) pinged(name string, lead, round time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.coordinator.Pinged(l.gate.Now(), name, lead, round)
}

// receiveRecord takes in a record that is being spread, and reports whether it was news and so is
// to be passed on.
func (l *Link) receiveRecord(record []byte) (news bool) {
	if len(record) == 0 {
		l.unread.Add(1)
		return false
	}
	switch body := record[1:]; record[0] {
	case tagHint:
		return false
	case tagOverride:
		return l.gate.MergeOverride(body)
	}
	l.unread.Add(1)
	return false
}

// lift has the coordinator forget the counts that convict a key.
func (l *Link) lift(rule string, key []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.coordinator.Lift(rule, key)
}

// publish spreads an override given at this node. Each has a name of its own: a later record must
// not take the place of another key's in the queue.
func (l *Link) publish(record []byte) {
	l.transport.Spread("w"+strconv.FormatUint(l.published.Add(1), 10), tagged(tagOverride, record))
}
