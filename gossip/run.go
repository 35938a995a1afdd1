package gossip

import (
	"context"
	"fmt"
	"log"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/headgate-dev/headgate/gossip/guard"
)

const (
	// alarmEvery is the interval of checks for differences between members.
	alarmEvery = 5 * time.Second
	// metaTimeout bounds the sending of new metadata.
	metaTimeout = 5 * time.Second
	// leaveGrace bounds the announcement this node leaves,
	leaveGrace = time.Second
	// leaveTime the leave itself.
	leaveTime = time.Second
)

// Run joins the cluster, calls the Config's callbacks, and leaves when ctx ends. Run returns after
// all goroutines, except for a waiting probe of memberlist's. The error is from starting, or of
// closing the sockets. A Node runs once.
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
	own := ml.LocalNode().Address()
	wg.Go(func() { n.judgeClaims(loops, ml, own) })
	wg.Go(func() { n.sendOut(loops, ml) })
	wg.Go(func() { n.sendMeta(loops, ml) })
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
	c.Transport = guard.New(n.transport(), guard.Options{
		Label: n.cfg.Label, Allow: n.cfg.Allow, Keys: n.keyring.GetKeys,
		MaxMembers: maxMembers + maxDead, MaxState: headBytes + MaxState,
	}, &n.c.Traffic)
	c.Keyring = n.keyring
	c.GossipVerifyIncoming, c.GossipVerifyOutgoing = true, true
	c.EnableCompression = false // the guard drops compressed messages
	c.UDPBufferSize = udpBuffer
	c.TCPTimeout = guard.StreamTimeout
	c.DeadNodeReclaimTime = reclaimAfter
	c.CIDRsAllowed = n.networks()
	c.LogOutput, c.Logger = nil, log.New(memberlistLog{n.log, n.c}, "", 0)
	d := delegate{n}
	c.Delegate, c.Events, c.Alive, c.Conflict, c.Ping = d, d, d, d, d
	return c
}

// transport returns the caller's transport, or starts the socket.
func (n *Node) transport() memberlist.Transport {
	if n.socket == nil {
		return n.cfg.Transport
	}
	n.socket.start()
	return n.socket
}

// networks returns Allow in memberlist's type: memberlist checks the addresses claimed by members.
func (n *Node) networks() []net.IPNet {
	var list []net.IPNet
	for _, p := range n.cfg.Allow {
		ip := p.Masked().Addr()
		list = append(list, net.IPNet{IP: ip.AsSlice(), Mask: net.CIDRMask(p.Bits(), ip.BitLen())})
	}
	return list
}

// joiner returns a function to join an address.
func joiner(ml *memberlist.Memberlist) func(string) error {
	return func(addr string) error {
		_, err := ml.Join([]string{addr})
		return err
	}
}

// leave announces that this node's coming silence is meant, and then leaves.
func (n *Node) leave(ml *memberlist.Memberlist) {
	if n.roster.alive() > 1 {
		m := n.meta()
		m.Leaving = true
		n.own.Store(&m)
		_ = ml.UpdateNode(leaveGrace)
	}
	if err := ml.Leave(leaveTime); err != nil {
		n.log.Debug("gossip: leave", "err", err)
	}
}

// sendOut sends the packets queued by Send.
func (n *Node) sendOut(ctx context.Context, ml *memberlist.Memberlist) {
	for {
		select {
		case o := <-n.out:
			to := memberlist.Node{Name: o.name, Addr: o.at.Addr().AsSlice(), Port: o.at.Port()}
			if err := ml.SendBestEffort(&to, o.packet); err != nil {
				n.c.drop(guard.SendError)
				continue
			}
			n.c.packets.Went(len(o.packet) - headBytes)
		case <-ctx.Done():
			return
		}
	}
}

// sendMeta sends new metadata to the others. For waits on the network a goroutine apart.
func (n *Node) sendMeta(ctx context.Context, ml *memberlist.Memberlist) {
	for {
		select {
		case <-n.metaNews:
			if err := ml.UpdateNode(metaTimeout); err != nil {
				n.log.Debug("gossip: update metadata", "err", err) // it stays queued
			}
		case <-ctx.Done():
			return
		}
	}
}

// serve is the single goroutine of the callbacks.
func (n *Node) serve(ctx context.Context) {
	tick := time.NewTicker(alarmEvery)
	defer tick.Stop()
	alarms := newAlarms()
	for {
		select {
		case m := <-n.inbox.messages:
			n.receive(m)
		case state := <-n.inbox.states:
			n.c.states.Came(len(state))
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

// receive handles a message: a packet, or a sequence of records.
func (n *Node) receive(m message) {
	if m.kind == kindPacket {
		n.c.packets.Came(len(m.body))
		n.cfg.Receive(m.body)
		return
	}
	n.c.messages.Came(len(m.body) + headBytes)
	for rest := m.body; len(rest) > 0; {
		r, after, err := nextRecord(rest)
		if err != nil {
			n.c.drop(guard.Malformed)
			return
		}
		n.receiveRecord(r)
		rest = after
	}
}

// receiveRecord hands a record to the callback, and passes news on.
func (n *Node) receiveRecord(r record) {
	n.c.recordsIn.Add(1)
	if !n.cfg.ReceiveRecord(r.Body) {
		return
	}
	n.c.recordNews(time.Duration(r.Age) * ageUnit)
	r.Age = n.clock.At(time.Now()) - r.Age // the clock at age 0: see queue.push
	n.queue.push(r)
}
