package main

import (
	"time"

	"github.com/headgate-dev/headgate/window"
)

// notices are what the nodes of a PoP tell each other by their ring about the one key: for how long
// it is at its limit, see package board. Their exchange takes no time, like all that a ring does.
type notices struct{ left []time.Duration }

// reader is a node's part in it.
type reader struct {
	known  int            // notices read
	looked window.Instant // when the node read last
	until  window.Instant // the key is at its limit
}

// usedUp is the meter's view of what other nodes of the PoP know.
func (r *reader) usedUp(now window.Instant, _ []byte) window.Instant {
	if r.until > now {
		return r.until
	}
	return 0
}

// read reads the new notices at now, and write writes one if it is news.
func (r *reader) read(now window.Instant, all *notices) {
	for ; r.known < len(all.left); r.known++ {
		// The first look takes nothing in: those notices were written before, it is not known when.
		if r.looked != 0 {
			r.until = max(r.until, r.looked.Add(all.left[r.known]))
		}
	}
	r.looked = now
}

// It is news only if it is two flushes or more beyond the time that is known: else a key at its
// limit would be noted each time.
func (r *reader) write(now, until window.Instant, every time.Duration, all *notices) {
	if until.Sub(max(now, r.until)) >= 2*every {
		all.left = append(all.left, until.Sub(now))
		r.until, r.known = until, len(all.left)
	}
}
