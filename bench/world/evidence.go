package main

import (
	"math"
	"time"
)

// tally is cost counted since the beginning.
type tally struct{ offered, admitted int64 }

func (t tally) plus(o tally) tally  { return tally{t.offered + o.offered, t.admitted + o.admitted} }
func (t tally) minus(o tally) tally { return tally{t.offered - o.offered, t.admitted - o.admitted} }

// ring is what stands in for a PoP's memcached: totals of what all its nodes told.
type ring struct {
	total tally
	words map[string]uint64 // the same as the daemon's counters pack it, by period
	dead  bool
}

// rateRequests is how many requests a rate must rest on (control.md 2).
const rateRequests = 1600

// settles returns T_w, over which a rate is taken: limit per window, told every flush.
func settles(limit int64, window, flush time.Duration) time.Duration {
	enough := time.Duration(rateRequests * float64(window) / float64(limit))
	return min(max(enough, 2*flush), window)
}

// rates turns running totals into rates, each time a node looks at them.
type rates interface {
	look(now time.Duration, total tally)
	rate() (offered, admitted float64) // cost a second
}

// smooth is an exponential mean over settles, as package window keeps one in a slot.
type smooth struct {
	settles           time.Duration
	looked            time.Duration
	last              tally
	offered, admitted float64
}

// recent is how long after a look the next one can be told from it.
const recent = time.Second

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

func (s *smooth) rate() (offered, admitted float64) { return s.offered, s.admitted }

// boxcar is the difference of running totals over the last T_w: what control.md says, and what its figures
// were simulated with.
type boxcar struct {
	over  time.Duration
	looks []look
}

type look struct {
	at    time.Duration
	total tally
}

func (b *boxcar) look(now time.Duration, total tally) {
	b.looks = append(b.looks, look{now, total})
	old := 0
	for old+1 < len(b.looks) && b.looks[old+1].at <= now-b.over+time.Millisecond {
		old++
	}
	b.looks = append(b.looks[:0], b.looks[old:]...)
}

func (b *boxcar) rate() (offered, admitted float64) {
	if len(b.looks) < 2 {
		return 0, 0
	}
	first, last := b.looks[0], b.looks[len(b.looks)-1]
	news, over := last.total.minus(first.total), (last.at - first.at).Seconds()
	return float64(news.offered) / over, float64(news.admitted) / over
}
