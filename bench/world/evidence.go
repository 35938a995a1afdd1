package main

import (
	"math"
	"time"
)

// tally is cost since the start of the run.
type tally struct{ offered, admitted int64 }

// plus and minus add and subtract tallies.
func (t tally) plus(o tally) tally  { return tally{t.offered + o.offered, t.admitted + o.admitted} }
func (t tally) minus(o tally) tally { return tally{t.offered - o.offered, t.admitted - o.admitted} }

// ring stands in for a PoP's memcached: the totals of all its nodes.
type ring struct {
	// total is the cost that all nodes reported.
	total tally
	// packed holds the daemon's counters by counting period.
	packed map[string]uint64
	// notices are the PoP's notices of the key at its limit.
	notices notices
	// dead says that the ring does not answer.
	dead bool
	// died is the time of its death. Until noticed later its nodes send to it: a delta that was
	// sent may have been counted.
	died, noticed time.Duration
}

// stop makes the ring answer no more. Its nodes notice after a while.
func (r *ring) stop(now, noticed time.Duration) {
	r.dead, r.died, r.noticed = true, now, noticed
	clear(r.packed)
}

// start makes the ring answer again: a restarted memcached is empty.
func (r *ring) start() {
	r.dead = false
	clear(r.packed)
}

// lost reports whether the nodes know at now that the ring does not answer.
func (r *ring) lost(now time.Duration) bool { return r.dead && now-r.died >= r.noticed }

// rateRequests is the number of requests that a rate rests on, as in package window.
const rateRequests = 1600

// settles returns T_w, the averaging time of a rate: clamp(1600·window/limit, 2·flush, window).
func settles(limit int64, window, flush time.Duration) time.Duration {
	enough := time.Duration(rateRequests * float64(window) / float64(limit))
	return min(max(enough, 2*flush), window)
}

// rates turns running totals into rates, at every look of a node.
type rates interface {
	// look takes the running total at now.
	look(now time.Duration, total tally)
	// rate returns both rates, cost per second.
	rate() (offered, admitted float64)
}

// smooth is an exponential mean over settles, like package window's in a slot.
type smooth struct {
	// settles is the time constant.
	settles time.Duration
	// looked and last are the previous look.
	looked            time.Duration
	last              tally
	offered, admitted float64
}

// recent is the longest gap between two looks over which a rate is computed.
const recent = time.Second

// look implements rates.
func (s *smooth) look(now time.Duration, total tally) {
	past, news := now-s.looked, total.minus(s.last)
	s.looked, s.last = now, total
	if past <= 0 || past > recent {
		s.offered, s.admitted = 0, 0
		return
	}
	weight := 1 - math.Exp(-past.Seconds()/s.settles.Seconds())
	s.offered += (float64(news.offered)/past.Seconds() - s.offered) * weight
	s.admitted += (float64(news.admitted)/past.Seconds() - s.admitted) * weight
}

// rate implements rates.
func (s *smooth) rate() (offered, admitted float64) { return s.offered, s.admitted }

// boxcar is the difference of running totals over the last T_w. The column "simple model" was
// simulated with it.
type boxcar struct {
	// over is T_w.
	over time.Duration
	// looks are those of the last T_w.
	looks []look
}

// look is a running total at a time.
type look struct {
	at    time.Duration
	total tally
}

// look implements rates.
func (b *boxcar) look(now time.Duration, total tally) {
	b.looks = append(b.looks, look{now, total})
	old := 0
	for old+1 < len(b.looks) && b.looks[old+1].at <= now-b.over+time.Millisecond {
		old++
	}
	b.looks = append(b.looks[:0], b.looks[old:]...)
}

// rate implements rates.
func (b *boxcar) rate() (offered, admitted float64) {
	if len(b.looks) < 2 {
		return 0, 0
	}
	first, last := b.looks[0], b.looks[len(b.looks)-1]
	news, over := last.total.minus(first.total), (last.at - first.at).Seconds()
	return float64(news.offered) / over, float64(news.admitted) / over
}
