package gossip

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

const (
	alarmEvery  = 5 * time.Second
	metaTimeout = 5 * time.Second // for telling others of new metadata
	leaveGrace  = time.Second     // at most, for telling them that this node is about to leave
	leaveTime   = time.Second     // at most, for leaving
)

// Run joins the cluster, calls the Config's functions, and leaves when ctx ends. It returns when all it started has
// ended (but for a probe of memberlist's that still waits for its answer), with an error only if it could not begin or
// not close its sockets. A Node runs once.
func (n *Node) Run(ctx context.Context) error {
	settings := n.settings()
	ml, err := memberlist.Create(settings)
	if err != nil {
		_ = settings.Transport.Shutdown()
		return fmt.Errorf("gossip: start: %w", err)
	}
	n.ml.Store(ml)
	loops, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { n.serve(loops) })
	wg.Go(func() { n.sendOut(loops, ml) })
	wg.Go(func() { n.tellMeta(loops, ml) })
	wg.Go(func() { n.keepJoining(loops, joiner(ml)) })
	<-ctx.Done()
	n.leave(ml)
	err = ml.Shutdown()
	wg.Wait()
	if err != nil {
		return fmt.Errorf("gossip: stop: %w", err)
	}
	return nil
}

// settings returns memberlist's configuration.
func (n *Node) settings() *memberlist.Config {
	c := n.cfg.Profile.intervals()
	c.Name, c.Label = n.cfg.Name, n.cfg.Label
	c.BindAddr, c.BindPort = n.at.Addr().String(), int(n.at.Port())
	c.AdvertiseAddr, c.AdvertisePort = "", int(n.at.Port())
	c.Transport = newGuard(n.transport(), n.cfg, n.c)
	c.Keyring = n.keyring
	c.GossipVerifyIncoming, c.GossipVerifyOutgoing = true, true
	c.EnableCompression = false // a packet that unpacks to 128 MiB cannot be refused before it did
	c.UDPBufferSize = udpBuffer
	c.TCPTimeout = streamTimeout
	c.DeadNodeReclaimTime = reclaimAfter
	c.CIDRsAllowed = n.networks()
	c.LogOutput, c.Logger = nil, newMemberlistLog(n.log, n.c)
	d := delegate{n}
	c.Delegate, c.Events, c.Alive, c.Conflict = d, d, d, d
	return c
}

func (n *Node) transport() memberlist.Transport {
	if n.socket == nil {
		return n.cfg.Transport
	}
	n.socket.start()
	return n.socket
}

// networks returns Allow as memberlist wants it: there it is asked of the addresses that members claim.
func (n *Node) networks() []net.IPNet {
	var list []net.IPNet
	for _, p := range n.cfg.Allow {
		ip := p.Masked().Addr()
		list = append(list, net.IPNet{IP: ip.AsSlice(), Mask: net.CIDRMask(p.Bits(), ip.BitLen())})
	}
	return list
}

func joiner(ml *memberlist.Memberlist) func(string) error {
	return func(addr string) error {
		_, err := ml.Join([]string{addr})
		return err
	}
}

// leave says good-bye: first that the silence to come is meant, then that it begins.
func (n *Node) leave(ml *memberlist.Memberlist) {
	if n.roster.alive() > 1 {
		m := n.meta()
		m.leaving = true
		n.own.Store(&m)
		_ = ml.UpdateNode(leaveGrace)
	}
	if err := ml.Leave(leaveTime); err != nil {
		n.log.Debug("gossip: leave", "err", err)
	}
}

// sendOut sends what Send queued.
func (n *Node) sendOut(ctx context.Context, ml *memberlist.Memberlist) {
	for {
		select {
		case o := <-n.out:
			to := memberlist.Node{Name: o.name, Addr: o.at.Addr().AsSlice(), Port: o.at.Port()}
			if err := ml.SendBestEffort(&to, o.packet); err != nil {
				n.c.drop(dropSendError)
				continue
			}
			n.c.packets.went(len(o.packet) - headBytes)
		case <-ctx.Done():
			return
		}
	}
}

// tellMeta tells the others of new metadata. It waits for the network, so it has a goroutine of its own.
func (n *Node) tellMeta(ctx context.Context, ml *memberlist.Memberlist) {
	for {
		select {
		case <-n.metaNews:
			if err := ml.UpdateNode(metaTimeout); err != nil {
				n.log.Debug("gossip: update metadata", "err", err) // it is queued all the same
			}
		case <-ctx.Done():
			return
		}
	}
}

// serve is the one goroutine that calls back.
func (n *Node) serve(ctx context.Context) {
	tick := time.NewTicker(alarmEvery)
	defer tick.Stop()
	alarms := newAlarms()
	for {
		select {
		case m := <-n.inbox.messages:
			n.receive(m)
		case state := <-n.inbox.states:
			n.c.states.came(len(state))
			n.cfg.Merge(state)
		case <-n.roster.changed:
			n.cfg.Changed(n.roster.list())
		case now := <-tick.C:
			n.alarm(alarms.check(now, n.meta(), n.cfg.Name, n.roster.list()))
		case <-ctx.Done():
			return
		}
	}
}

func (n *Node) receive(m message) {
	if m.kind == kindPacket {
		n.c.packets.came(len(m.body))
		n.cfg.Receive(m.body)
		return
	}
	n.c.messages.came(len(m.body) + headBytes)
	for rest := m.body; len(rest) > 0; {
		r, after, err := nextRecord(rest)
		if err != nil {
			n.c.drop(dropMalformed)
			return
		}
		n.hear(r)
		rest = after
	}
}

// hear passes a record on, if it is news.
func (n *Node) hear(r record) {
	n.c.recordsIn.Add(1)
	if !n.cfg.Hear(r.body) {
		return
	}
	n.c.heard(time.Duration(r.age) * ageUnit)
	r.age = n.clock.at(time.Now()) - r.age // when it began: see queue.push
	n.queue.push(r)
}
