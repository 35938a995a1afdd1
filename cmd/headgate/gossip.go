package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/gossip"
	"github.com/headgate-dev/headgate/gossip/council"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// batch is how often owners add up and answer.
const batch = 50 * time.Millisecond

// worldLostAfter is how long no other node may be heard until the failure modes of global rules act.
const worldLostAfter = 30 * time.Second

// world joins the node to the other PoPs: what edge measures goes to the council, what the council sends goes by gossip.
//
//	edge.JoinWorld ─► council.Measure ─► gossip.Send, Spread ─► (the network)
//	(the network) ─► gossip: Receive, Hear, Merge, Changed ─► council ─► edge.Advise
type world struct {
	edge  *edge.Edge
	node  carrier
	meta  gossip.Meta
	seeds int
	key   []byte
	watch worldWatch

	mu      sync.Mutex // guards the council, whatever comes from where
	council *council.Council
	heard   time.Time // when there was another member last, or the start

	alive atomic.Int32  // members beside this one
	words atomic.Uint64 // that were given here
}

// carrier is what a world needs of the network: a *gossip.Node, or what stands in for one in a test.
type carrier interface {
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

// openGossip makes d's node count together with other PoPs, if it gossips.
func (d *daemon) openGossip(cfg config.Config) error {
	if cfg.Gossip.Bind.IsZero() {
		return nil
	}
	keys, err := clusterKeys(cfg)
	if err != nil {
		return err
	}
	w := newWorld(d.edge, cfg, keys[0], d.log)
	if d.pop != nil {
		w.meta.Ring = d.pop.Stats(d.edge.Now()).Fingerprint
	}
	settings := w.gossip(cfg)
	settings.Keys = keys[1:]
	if w.node, err = gossip.Open(settings); err != nil {
		return err
	}
	w.join()
	d.world = w
	return nil
}

// newWorld returns e's world, whose node is still to come.
func newWorld(e *edge.Edge, cfg config.Config, key []byte, log *slog.Logger) *world {
	w := &world{edge: e, seeds: len(cfg.Gossip.Join), key: key, heard: time.Now(), watch: worldWatch{log: log}}
	w.meta = gossip.Meta{PoP: cfg.PoP, Version: thisBuild().Version, Wire: council.Version, Rules: rulesDigest(e.Rules())}
	w.council = council.New(w.seat(cfg), e.Now())
	return w
}

// seat returns what w's council is made of.
func (w *world) seat(cfg config.Config) council.Options {
	return council.Options{
		Name: w.edge.Node(), PoP: cfg.PoP, Secret: w.key, Rule: w.edge.GlobalRule,
		Flush: cfg.Ring.Flush, Batch: batch, Seed: seed(),
		Send:   func(to string, packet []byte) { w.node.Send(to, packet) },
		Spread: func(name string, record []byte) { w.node.Spread("n"+name, tagged(tagNotice, record)) },
		Apply:  w.edge.Advise,
	}
}

// gossip returns what w's node is to be opened with.
func (w *world) gossip(cfg config.Config) gossip.Config {
	return gossip.Config{
		Name: w.edge.Node(), Bind: hostPort(cfg.Gossip.Bind), Join: hostPorts(cfg.Gossip.Join), Key: w.key,
		Label: "headgate", Meta: w.meta, Log: w.watch.log,
		State: w.state, Merge: w.merge, Receive: w.receive, Hear: w.hear, Changed: w.changed,
	}
}

// join makes the edge tell w what it measures and what operators say.
func (w *world) join() {
	w.edge.JoinWorld(w.measure)
	w.edge.OnLift(w.lift)
	w.edge.OnWord(w.say, func() bool { return w.alive.Load() > 0 })
	w.edge.ShowWorld(edge.WorldSource{Stats: w.stats, Standing: w.standing})
	w.edge.SetWorld(w.seeds == 0, false)
}

func seed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}

func hostPort(a config.Address) string { return net.JoinHostPort(a.Host, strconv.Itoa(int(a.Port))) }

func hostPorts(all []config.Address) (texts []string) {
	for _, a := range all {
		texts = append(texts, hostPort(a))
	}
	return texts
}

// run lives until ctx ends, or gossip cannot begin.
func (w *world) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.tick(ctx)
	}()
	err := w.node.Run(ctx)
	stop()
	<-done
	return err
}

// tick drives the council.
func (w *world) tick(ctx context.Context) {
	tick := time.NewTicker(batch)
	defer tick.Stop()
	for turn := 0; ; turn++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.turn(turn)
		}
	}
}

// turn is one batch's work, the n-th.
func (w *world) turn(n int) {
	w.mu.Lock()
	w.council.Tick(w.edge.Now())
	w.mu.Unlock()
	if n%int(time.Second/batch) == 0 {
		w.watch.look(time.Now(), w.look(), w.node.Stats())
		w.tellRules()
	}
}

// look notes whether others are heard, and returns it.
func (w *world) look() outlook {
	w.mu.Lock()
	if w.alive.Load() > 0 {
		w.heard = time.Now()
	}
	others := w.alive.Load() > 0
	connected, lost := others || w.seeds == 0, time.Since(w.heard) > worldLostAfter
	w.mu.Unlock()
	w.edge.SetWorld(connected, lost && !connected)
	switch {
	case others:
		return outlookHeard
	case lost && !connected:
		return outlookSilent
	}
	return outlookAlone
}

// tellRules tells the others when the rules have changed.
func (w *world) tellRules() {
	if digest := rulesDigest(w.edge.Rules()); digest != w.meta.Rules {
		w.meta.Rules = digest
		_ = w.node.SetMeta(w.meta) // its texts are short
	}
}

// rekey takes over the keys of the file as it is now.
func (w *world) rekey(cfg config.Config) error {
	keys, err := clusterKeys(cfg)
	if err != nil {
		return err
	}
	if err := w.node.Rotate(keys[0], keys[1:]...); err != nil {
		return err
	}
	w.mu.Lock()
	changed := !bytes.Equal(w.key, keys[0])
	w.key = keys[0]
	w.mu.Unlock()
	if changed {
		w.changed(w.node.Members()) // who owns what goes by the first key
	}
	return nil
}

// measure hands the council what edge knows.
func (w *world) measure(now window.Instant, all []mitigation.Measured) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.council.Measure(now, all)
}

func (w *world) receive(packet []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.council.Receive(w.edge.Now(), packet)
}

// hear takes in a record that is being spread.
func (w *world) hear(record []byte) (news bool) {
	if len(record) == 0 {
		return false
	}
	switch body := record[1:]; record[0] {
	case tagNotice:
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.council.Hear(w.edge.Now(), body)
	case tagWord:
		return w.edge.HearWord(body)
	}
	return false
}

// lift forgets what convicts a key.
func (w *world) lift(rule string, key []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.council.Lift(rule, key)
}

// say tells all others a word that was given here. Every word is one more to tell: a lift must not take the place of the
// block of another key.
func (w *world) say(record []byte) {
	w.node.Spread("w"+strconv.FormatUint(w.words.Add(1), 10), tagged(tagWord, record))
}

// changed makes the living members the ones that sit.
func (w *world) changed(members []gossip.Member) {
	var seated []council.Member
	for _, m := range members {
		if m.State == gossip.Alive {
			seated = append(seated, council.Member{Name: m.Name, PoP: m.PoP})
		}
	}
	w.mu.Lock()
	key := w.key
	w.mu.Unlock()
	seats := council.NewSeats(key, seated)
	w.mu.Lock()
	w.council.SetSeats(seats)
	w.mu.Unlock()
	w.alive.Store(int32(len(seated) - 1)) // far fewer than 2^31
	w.look()
}

// The tags of what is spread, and of the parts of a state.
const (
	tagNotice = 'n'
	tagWord   = 'w'
	tagWords  = 'W' // all that a node remembers
)

func tagged(tag byte, record []byte) []byte { return append([]byte{tag}, record...) }
