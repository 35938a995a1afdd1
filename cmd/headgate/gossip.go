package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"net"
	"strconv"
	"sync"
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
	node  *gossip.Node
	meta  gossip.Meta
	seeds int
	key   []byte

	mu      sync.Mutex // guards the council, whatever comes from where
	council *council.Council
	others  int       // members alive beside this one
	heard   time.Time // when there were any last, or the start
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
	key := keys[0]
	w := &world{edge: d.edge, seeds: len(cfg.Gossip.Join), key: key, heard: time.Now()}
	w.meta = gossip.Meta{PoP: cfg.PoP, Version: thisBuild().Version, Wire: council.Version}
	if d.pop != nil {
		w.meta.Ring = d.pop.Stats(d.edge.Now()).Fingerprint
	}
	w.meta.Rules = rulesDigest(d.edge.Rules())
	w.council = council.New(council.Options{
		Name: d.edge.Node(), PoP: cfg.PoP, Secret: key, Rule: d.edge.GlobalRule,
		Flush: cfg.Ring.Flush, Batch: batch, Seed: seed(),
		Send:   func(to string, packet []byte) { w.node.Send(to, packet) },
		Spread: func(name string, record []byte) { w.node.Spread("n"+name, tagged(tagNotice, record)) },
		Apply:  d.edge.Advise,
	}, d.edge.Now())
	if w.node, err = gossip.Open(gossip.Config{
		Name: d.edge.Node(), Bind: hostPort(cfg.Gossip.Bind), Join: hostPorts(cfg.Gossip.Join), Key: key, Keys: keys[1:],
		Label: "headgate", Meta: w.meta, Log: d.log,
		State: w.state, Merge: w.merge, Receive: w.receive, Hear: w.hear, Changed: w.changed,
	}); err != nil {
		return err
	}
	d.edge.JoinWorld(w.measure)
	d.edge.SetWorld(w.seeds == 0, false)
	d.world = w
	return nil
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

// run lives until ctx ends.
func (w *world) run(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.tick(ctx)
	}()
	w.node.Run(ctx)
	<-done
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
		}
		w.mu.Lock()
		w.council.Tick(w.edge.Now())
		w.mu.Unlock()
		if turn%int(time.Second/batch) == 0 {
			w.look()
			w.tellRules()
		}
	}
}

// look notes whether others are heard.
func (w *world) look() {
	w.mu.Lock()
	if w.others > 0 {
		w.heard = time.Now()
	}
	connected, lost := w.others > 0 || w.seeds == 0, time.Since(w.heard) > worldLostAfter
	w.mu.Unlock()
	w.edge.SetWorld(connected, lost && !connected)
}

// tellRules tells the others when the rules have changed.
func (w *world) tellRules() {
	if digest := rulesDigest(w.edge.Rules()); digest != w.meta.Rules {
		w.meta.Rules = digest
		_ = w.node.SetMeta(w.meta) // its texts are short
	}
}

// rekey takes over the keys of the file as it is now. Who owns which key of a rule goes by the key of the start.
func (w *world) rekey(cfg config.Config) error {
	keys, err := clusterKeys(cfg)
	if err != nil {
		return err
	}
	return w.node.Rotate(keys[0], keys[1:]...)
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
	}
	return false
}

// changed makes the living members the ones that sit.
func (w *world) changed(members []gossip.Member) {
	var seated []council.Member
	for _, m := range members {
		if m.State == gossip.Alive {
			seated = append(seated, council.Member{Name: m.Name, PoP: m.Meta.PoP})
		}
	}
	seats := council.NewSeats(w.key, seated)
	w.mu.Lock()
	w.council.SetSeats(seats)
	w.others = len(seated) - 1
	w.mu.Unlock()
	w.look()
}

// The tags of what is spread, and of the parts of a state.
const (
	tagNotice = 'n'
)

func tagged(tag byte, record []byte) []byte { return append([]byte{tag}, record...) }

// state is what a member that joins is given: what this node spreads.
func (w *world) state() []byte {
	w.mu.Lock()
	notices := w.council.Notices(w.edge.Now())
	w.mu.Unlock()
	var b []byte
	for _, n := range notices {
		if len(b)+len(n)+binary.MaxVarintLen64 > gossip.MaxState {
			break
		}
		b = binary.AppendUvarint(b, uint64(len(n)+1))
		b = append(append(b, tagNotice), n...)
	}
	return b
}

// merge takes in another member's state.
func (w *world) merge(state []byte) {
	for len(state) > 0 {
		size, n := binary.Uvarint(state)
		if n <= 0 || size > uint64(len(state)-n) {
			return
		}
		w.hear(state[n : n+int(size)]) // at most len(state)
		state = state[n+int(size):]
	}
}
