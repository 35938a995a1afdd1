package whatif

import (
	"math"
	"time"
	"unsafe"

	"github.com/headgate-dev/headgate/window"
)

// spilled is the memory of a key of a bucket. Two looks tell the admissions of the key's bucket in
// between, but not when. Let d be the time between them, in which r tokens come back. Put all of
// that cost at the second look: each unit then comes at most d too late. So a bucket of r tokens
// more admits no less of it than the real, which admits no less than a bucket of r tokens fewer:
// what the real one admits in any span of time fits the larger one's, which is shorter by d at
// most, and first come, first served admits the most possible.
type spilled struct {
	looked  window.Instant // the last look
	full    window.Instant // when its own bucket was full again, by then
	number  uint64         // of the newest sub-window of refusals, by then
	running uint32         // refused in that one, by then
	endless bounds         // tokens a bucket which refuses nothing lacks
	tries   []tank         // by burst, of those that the key passed, lowest first
}

// bounds are the lower and the upper bound of a number of tokens.
type bounds struct{ low, high float64 }

// tank is a burst: the debt of the bucket, by both bounds, and the end of a block.
type tank struct{ low, high lacking }

type lacking struct {
	tokens float64
	until  window.Instant
}

const tankBytes = int(unsafe.Sizeof(tank{}))

// whole keeps sums of parts of a token from hiding a whole token.
const whole = 1e-6

// take returns how much of cost is refused by a bucket of size room after back more tokens. A
// blocked bucket refuses all; a bucket refusing anything blocks until then.
func (l *lacking) take(
	cost, room, back float64, blocked bool, until window.Instant,
) (refused float64) {
	l.tokens = max(0, l.tokens-back)
	admitted := min(cost, max(0, math.Floor(room-l.tokens+whole)))
	switch {
	case blocked:
		admitted = 0
	case admitted < cost:
		l.until = until
	}
	l.tokens += admitted
	return cost - admitted
}

// rate returns the tokens coming back in a nanosecond.
func (r *Rule) rate() float64 { return float64(r.Limit) / float64(r.Window) }

// admitted returns the bounds of the admissions of the key's own bucket from a moment to l.
func (k *spilled) admitted(l *window.Level, from window.Instant, r *Rule) bounds {
	if l.Full <= from || l.Full == k.full {
		return bounds{}
	}
	low := math.Ceil(float64(l.Full.Sub(l.At))*r.rate() - whole)
	if k.full >= l.At { // never full in between: nothing that came back is lost
		exact := math.Round(float64(l.Full.Sub(k.full)) * r.rate())
		return bounds{exact, exact}
	}
	return bounds{max(1, low), math.Ceil(float64(l.Full.Sub(max(from, k.full)))*r.rate() - whole)}
}

// look takes a look at the key. The result is the bounds of the demand since the look before;
// refused is called with the bounds of each burst's refusals, for the bursts passed by the key. The
// key's bounds of the least burst without refusals are returned, too.
func (k *spilled) look(
	l *window.Level, r *ladder, refused func(limit int, low, high float64),
) (asked, peak bounds) {
	from := max(k.looked, l.Since)
	asked = k.admitted(l, from, &r.rule)
	told := float64(l.RefusedSince(k.number, k.running))
	asked.low, asked.high = asked.low+told, asked.high+told
	rate := r.rule.rate()
	back, blurred, waits := float64(l.At.Sub(k.looked))*rate, float64(l.At.Sub(from))*rate,
		math.Floor(float64(r.rule.Delay)*rate+whole)
	before := k.endless
	k.endless = bounds{max(0, before.low-back) + asked.low, max(0, before.high-back) + asked.high}
	for n := len(k.tries); n < len(r.limits) &&
		k.endless.high+blurred-waits > float64(r.limits[n]); n++ {
		// it admitted everything
		k.tries = append(k.tries, tank{lacking{tokens: before.low}, lacking{tokens: before.high}})
	}
	for n := range k.tries {
		t, room := &k.tries[n], float64(r.limits[n])+waits
		low := t.low.take(asked.low, room+blurred, back, l.At <= t.low.until, k.blocks(from, r))
		high := t.high.take(asked.high, room-blurred, back, from < t.high.until, k.blocks(l.At, r))
		if asked.high > 0 {
			refused(n, min(low, high), high)
		}
	}
	k.looked, k.full, k.number, k.running = l.At, l.Full, l.Number, l.Refused[0]
	if asked.high == 0 {
		return asked, bounds{}
	}
	return asked, bounds{k.endless.low - blurred - waits, k.endless.high + blurred - waits}
}

// blocks returns until when a refusal at a moment blocks; 0: the rule sheds.
func (k *spilled) blocks(at window.Instant, r *ladder) window.Instant {
	if r.rule.BlockFor == 0 {
		return 0
	}
	return at.Add(r.rule.BlockFor)
}

// Look adds a key of a bucket, like Take for a window. Each key must be looked at within the fill
// time of the bucket.
func (s *Sample) Look(l *window.Level) {
	s.begin()
	used := uint64(max(0, math.Ceil(float64(l.Full.Sub(l.At))*s.rule.rate()-whole)))
	asked := used + uint64(l.RefusedSince(0, 0))
	if l.Full > max(l.Last, l.Since) { // something, although all of it is back
		asked = max(1, asked)
	}
	k := s.key(l.Index, asked)
	if k == nil {
		return
	}
	weight := max(1, s.threshold/float64(max(k.high, used, 1)))
	if k.bucket == nil {
		k.bucket = &spilled{looked: min(l.Last, l.Since)}
		if l.Since < l.Last { // another key stood for it until now
			weight = 0
		}
	}
	if l.At.Sub(k.bucket.looked) > s.fill() && l.Since < l.Last && weight > 0 &&
		k.bucket.full != 0 {
		s.late++
	}
	since, peak := k.bucket.look(l, &s.ladder, func(limit int, low, high float64) {
		s.low[limit] += weight * low
		s.high[limit] += weight * high
	})
	s.demand += weight * (since.low + since.high) / 2
	k.low, k.high = max(k.low, uint64(max(0, math.Ceil(peak.low-whole)))),
		max(k.high, uint64(max(1, math.Ceil(peak.high-whole))))
	s.rank(k)
}

// fill returns the time in which a bucket of the rule's own burst fills.
func (s *Sample) fill() time.Duration {
	return time.Duration(float64(s.rule.Burst) / s.rule.rate())
}
