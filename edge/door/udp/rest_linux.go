package udp

import (
	"fmt"

	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/window"
)

// rests is when and how one reader lets others run.
type rests struct {
	share *Share // nil: there are no other doors
	yield *door.Yielder
	since window.Instant // it works without a wait; 0: it waits, or has just woken
	holds bool           // a place of share
}

// waits notes that the reader is about to wait for datagrams.
func (r *rests) waits() {
	r.since = 0
	r.leave()
}

// worked notes that the reader has answered a batch that it read at now, and lets others run once it
// has worked for a slice without a wait.
func (r *rests) worked(now window.Instant) error {
	switch {
	case r.since == 0:
		r.since = now
		return nil
	case now.Sub(r.since) < slice:
		return nil
	}
	r.since = 0
	r.leave() // who waits for the place is first
	if r.share.needed(now) {
		r.share.enter()
		r.holds = true
		return nil
	}
	if err := r.yield.Yield(); err != nil {
		return fmt.Errorf("udp: reader: %w", err)
	}
	return nil
}

// leave gives up the place of the reader, if it holds one.
func (r *rests) leave() {
	if r.holds {
		r.holds = false
		r.share.leave()
	}
}
