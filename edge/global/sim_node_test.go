package global

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/pop"
	"github.com/headgate-dev/headgate/gossip"
	"github.com/headgate-dev/headgate/gossip/lossy"
	"github.com/headgate-dev/headgate/mitigation/override"
)

const (
	simFlush  = 100 * time.Millisecond
	simSweep  = 200 * time.Millisecond // half as often as the daemon
	simMemory = 1 << 19                // of few keys
	simWords  = time.Hour              // that a word of an operator holds
)

// simNode is a daemon without doors: the edge, its flusher and its world, driven step by step.
type simNode struct {
	number, pop int
	name, addr  string
	sim         *sim
	end         *lossy.End
	edge        *gate.Gate
	ring        *pop.Flusher // nil: it has none
	world       *Link
	links       *links // nil: over memberlist

	stop     func()        // of memberlist
	phase    int           // in steps, so that not all flush at once
	ahead    time.Duration // of the wall clock before the right time
	looks    bool          // at the clocks of its PoP
	paused   bool
	down     bool
	flushing atomic.Bool
	flights  sync.WaitGroup
}

func (n *simNode) answers() bool { return !n.paused && !n.down }

// config is the node's configuration.
func (n *simNode) config() config.Config {
	cfg := config.Default()
	cfg.Node, cfg.PoP, cfg.Memory, cfg.Rules = n.name, n.sim.popName(n.pop),
		max(simMemory, n.sim.plan.memory), simRules
	if n.sim.plan.rules != nil {
		cfg.Rules = n.sim.plan.rules
	}
	cfg.Gossip.Bind = config.Address{Host: n.host(), Port: simPort}
	for _, seed := range n.sim.nodes[:min(2, n.number)] {
		cfg.Gossip.Join = append(cfg.Gossip.Join, config.Address{Host: seed.host(), Port: simPort})
	}
	if n.number < 2 {
		cfg.Gossip.Join = []config.Address{{Host: n.sim.nodes[1-n.number].host(), Port: simPort}}
	}
	if n.sim.plan.ring[n.pop] {
		for server := range simRingServers {
			cfg.Ring.Servers = append(cfg.Ring.Servers,
				config.Server{Address: config.Address{
					Host: "127.0.0.1",
					Port: uint16(20000 + server),
				}, Weight: 1})
		}
	}
	return cfg
}

const simPort = 4293

func (n *simNode) host() string { return fmt.Sprintf("10.0.%d.%d", n.pop, n.number+1) }

// start makes the daemon, as runServe does, and puts it on the network.
func (n *simNode) start() error {
	cfg := n.config()
	var err error
	n.world = New(Options{
		Node: cfg.Node, PoP: cfg.PoP, Flush: cfg.Ring.Flush, Bind: simAddress(cfg.Gossip.Bind),
		Join: simAddresses(cfg.Gossip.Join),
		Keys: [][]byte{n.sim.key}, Log: slog.New(slog.DiscardHandler),
	})
	n.edge = gate.New(gateOptions(&cfg, n.world.Hooks()))
	if n.ring = nil; n.sim.plan.ring[n.pop] {
		n.ring = pop.New(n.edge, pop.Options{
			Tally: n.sim.rings[n.pop], Placement: n.sim.placement,
			Secret: []byte(cfg.PoP), Every: simFlush,
		})
	}
	n.end = n.sim.net.End(n.addr)
	n.world.Attach(n.edge)
	if n.sim.plan.full {
		err = n.startMemberlist()
	} else {
		n.links = &links{node: n}
		n.world.transport = n.links
	}
	n.edge.Turn(0, n.edge.Now(), n.wall())
	n.recall()
	if n.sim.plan.state != "" {
		n.openState()
	}
	n.down = false
	return err
}

func (n *simNode) startMemberlist() error {
	settings := n.world.gossipConfig()
	settings.Transport = n.end
	node, err := gossip.Open(settings)
	if err != nil {
		return err
	}
	n.world.transport = node
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = node.Run(ctx)
	}()
	n.stop = func() { cancel(); <-done }
	return nil
}

// recall gives the node the overrides of operators, as a peer's state does. The state that a node
// keeps of its own over a restart belongs here too.
func (n *simNode) recall() {
	wall := time.Now().UnixMilli()
	for _, c := range n.sim.clients {
		if c.role == vipClient {
			word := override.Override{
				Rule: c.rule.Name, Key: c.key, Verb: override.Allow, Node: "op", Who: "op",
				Issued: wall, Until: wall + simWords.Milliseconds(),
				Keep: wall + simWords.Milliseconds(),
			}
			n.edge.MergeOverride(override.Append(nil, &word))
		}
	}
}

// crash ends the daemon without a word.
func (n *simNode) crash() {
	n.end.Crash()
	n.down = true
	n.leave()
}

// leave stops the node.
func (n *simNode) leave() {
	if n.stop != nil {
		n.sim.flights.Go(n.stop)
		n.stop = nil
	}
	n.flights.Wait()
}

func (n *simNode) wall() time.Time { return time.Now().Add(n.ahead) }

// turn is one step of the node's loops, as Run, PoP.Run or RunAlone and Link.Run would take it now.
func (n *simNode) turn(step int) {
	if !n.answers() {
		return
	}
	if n.links != nil {
		n.links.drain()
	}
	at := step + n.phase
	if at%int(simSweep/simStep) == 0 {
		n.edge.Turn(at/int(simSweep/simStep), n.edge.Now(), n.wall())
	}
	if at%int(simFlush/simStep) == 3 {
		n.flush()
	}
	n.hurry()
	if at%int(batch/simStep) == 1 {
		n.world.turn(at / int(batch/simStep))
	}
}

// flush flushes, beside everything else when the ring is slow.
func (n *simNode) flush() {
	switch {
	case n.ring == nil:
		n.edge.FlushAlone(n.edge.Now(), n.wall())
	case n.flushing.Load(): // the loop still waits for the last one
	case n.sim.rings[n.pop].lateness() == 0:
		n.looks = n.ring.Flush(context.Background(), n.edge.Now(), n.wall()) > 0
	default:
		n.flushing.Store(true)
		n.flights.Go(func() {
			defer n.flushing.Store(false)
			n.ring.Flush(context.Background(), n.edge.Now(), n.wall())
		})
	}
}

// hurry exchanges what cannot wait for a flush, if anything cannot, as the loop of the flusher
// does.
func (n *simNode) hurry() {
	if n.ring == nil || n.flushing.Load() {
		return
	}
	if n.looks {
		n.looks = n.ring.Look(context.Background(), n.edge.Now(), n.wall()) > 0
	}
	select {
	case <-n.edge.Hurry():
	default:
		return
	}
	if n.sim.rings[n.pop].lateness() == 0 {
		n.ring.Hurry(context.Background(), n.edge.Now(), n.wall())
		return
	}
	n.flushing.Store(true)
	n.flights.Go(func() {
		defer n.flushing.Store(false)
		n.ring.Hurry(context.Background(), n.edge.Now(), n.wall())
	})
}

// links stand in for memberlist: packets go as they are, and a record that is spread goes to every
// node once.
type links struct{ node *simNode }

var _ transport = (*links)(nil)

// Tags before the contents that links carry.
const (
	linkPacket = 'p'
	linkRecord = 'r'
)

// Send implements carrier.
func (l *links) Send(to string, packet []byte) {
	if n := l.node.sim.named(to); n != nil {
		_, _ = l.node.end.WriteTo(tagged(linkPacket, packet), n.addr)
	}
}

// Spread implements carrier.
func (l *links) Spread(_ string, record []byte) {
	for _, n := range l.node.sim.nodes {
		if n != l.node {
			_, _ = l.node.end.WriteTo(tagged(linkRecord, record), n.addr)
		}
	}
}

// The other methods of a transport are not called.
func (*links) SetMeta(gossip.Meta) error      { return nil }
func (*links) Rotate([]byte, ...[]byte) error { return nil }
func (*links) Run(ctx context.Context) error  { <-ctx.Done(); return nil }
func (*links) Close() error                   { return nil }
func (*links) Addr() netip.AddrPort           { return netip.AddrPort{} }
func (*links) Members() []gossip.Member       { return nil }
func (*links) Stats() gossip.Stats            { return gossip.Stats{} }

// drain receives the packets that have arrived.
func (l *links) drain() {
	for {
		select {
		case p := <-l.node.end.PacketCh():
			if p.Buf[0] == linkPacket {
				l.node.world.receive(p.Buf[1:])
			} else {
				l.node.world.receiveRecord(p.Buf[1:])
			}
		default:
			return
		}
	}
}

// decide asks n about one request.
func (n *simNode) decide(rule string, key []byte) gate.Decision {
	d, err := n.edge.Lane(0).Decide(n.edge.Now(), n.sim.dice.Uint64(),
		gate.Ask{Op: gate.Check, Cost: 1, Rule: []byte(rule), Key: key})
	if err != nil {
		panic(err) // the simulator asks for rules there are
	}
	return d
}

// gateOptions returns the options of a gate that counts as cfg says, from now on.
func gateOptions(cfg *config.Config, global *gate.Global) gate.Options {
	return gate.Options{
		Node: cfg.Node, Memory: cfg.Memory, Rules: cfg.Rules, Flush: cfg.Ring.Flush,
		Servers: len(cfg.Ring.Servers),
		Global:  global, Start: time.Now(),
	}
}

func simAddress(a config.Address) string {
	return net.JoinHostPort(a.Host, strconv.Itoa(int(a.Port)))
}

func simAddresses(all []config.Address) (texts []string) {
	for _, a := range all {
		texts = append(texts, simAddress(a))
	}
	return texts
}
