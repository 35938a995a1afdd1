package udp

import "github.com/headgate-dev/headgate/window"

// Reader is when and how a reader lets others run. For the goroutine of the loop.
type Reader struct {
	share *Share // nil: there are no other doors
	yield func() error
	since window.Instant // it works without a wait; 0: it waits, or has just woken
	holds bool           // a place of share
}

// Reader returns the part of another reader in s, which may be nil: there are no other doors then.
// yield lets ready goroutines run, and returns.
func (s *Share) Reader(yield func() error) Reader { return Reader{share: s, yield: yield} }

// Waits notes that an imminent wait of the reader for datagrams.
func (r *Reader) Waits() {
	r.since = 0
	r.Leave()
}

// Worked notes that the reader has answered a batch read at now, and lets others run after work for
// a Slice without a wait: gave: others ran. An error is from yield.
func (r *Reader) Worked(now window.Instant) (gave bool, err error) {
	switch {
	case r.since == 0:
		r.since = now
		return false, nil
	case now.Sub(r.since) < Slice:
		return false, nil
	}
	r.since = 0
	r.Leave() // who waits for the place is first
	if r.share.needed(now) {
		r.share.places <- struct{}{}
		r.holds = true
		return true, nil
	}
	return true, r.yield()
}

// Leave gives up the place of the reader, if any. Called by an ending reader.
func (r *Reader) Leave() {
	if r.holds {
		r.holds = false
		<-r.share.places
	}
}
