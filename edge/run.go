package edge

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
)

// group runs functions side by side. The first failure stops everything.
type group struct {
	errgroup.Group
	stop context.CancelCauseFunc
}

// start runs f in a goroutine. If f fails, the group's context ends with the error.
func (g *group) start(f func() error) {
	g.Go(func() error {
		err := f()
		if err != nil {
			g.stop(err)
		}
		return err
	})
}

// Run starts everything and waits. When ctx ends the doors stop first, each after it answered the
// requests that have arrived; the rooms they ask stay up until they are done. Run returns early,
// with the error, if a part fails for good. It is for once. Two groups, since two things end in
// turn: doors by ctx, and behind them work, which ctx does not end.
func (n *Node) Run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	behind, doors := group{stop: stop}, group{stop: stop}
	n.startBehind(work, &behind)
	for _, d := range n.datagram {
		doors.start(func() error { return d.Serve(ctx) })
	}
	if len(n.atWeb) > 0 {
		doors.start(func() error { return n.web.Serve(ctx, n.atWeb...) })
	}
	for _, s := range n.streams {
		doors.start(func() error { return n.runStream(ctx, s) })
	}
	// The listeners were opened by New, so earlier requests wait in queues and are answered.
	n.admin.SetReady(true)
	n.manager.Ready(len(n.gate.Rules()), nil)
	<-ctx.Done()
	n.manager.Stopping()
	n.admin.SetReady(false)
	n.log.Info("stopping: no new requests, answering what has arrived")
	err := doors.Wait()
	stopWork()
	return errors.Join(err, behind.Wait())
}

// startBehind starts in g the loops the doors rest on, until work ends. The state is written once
// more after the last flush: a count the ring is told afterwards would be merged as another node's
// at the next start.
func (n *Node) startBehind(work context.Context, g *group) {
	for _, run := range []func(context.Context){
		n.gate.Run, n.room.Run, n.watchNames, n.watchSets, n.watchSurge,
	} {
		g.start(func() error { run(work); return nil })
	}
	g.start(func() error { return n.followLimits(work) })
	// The state's own end: after the flusher's, and not together.
	flushing, flushed := context.WithCancel(context.WithoutCancel(work))
	if n.state != nil {
		g.start(func() error { n.state.Run(flushing); return nil })
	}
	if n.flusher == nil {
		context.AfterFunc(work, flushed)
	} else {
		g.start(func() error {
			defer flushed()
			defer n.ring.Close()
			n.flusher.Run(work)
			return n.rest.Close()
		})
		g.start(func() error { n.watchRing(work); return nil })
	}
	if n.link != nil {
		g.start(func() error { return n.link.Run(work) })
		if n.flusher == nil {
			g.start(func() error { n.gate.RunAlone(work); return n.rest.Close() })
		}
	}
	// Behind the doors, so a node can be watched during the stop.
	g.start(func() error { return n.admin.Serve(work, n.atAdmin...) })
}
