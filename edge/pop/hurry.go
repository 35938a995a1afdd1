package pop

import (
	"context"
	"time"

	"github.com/headgate-dev/headgate/window"
)

// HurryAfter is how long a key that cannot wait for the next flush waits for others of its kind,
// and the least time between two calls of Hurry.
const HurryAfter = 2 * time.Millisecond

// Hurry exchanges the keys that cannot wait for the next flush, at now; wall is the node's wall
// clock at the same moment. It returns the time until it is to be called again; 0: not before the
// gate's Hurry yields.
func (p *Flusher) Hurry(
	ctx context.Context, now window.Instant, wall time.Time,
) (again time.Duration) {
	f := p.begin(now, wall)
	if !p.heartbeat.joined || p.heartbeat.stepped(raw(now, wall)) {
		return f.Interval // the gate yields no second time for waiting keys
	}
	var next window.Instant
	p.dues, p.keys, next = p.gate.CollectHurried(f, p.dues[:0], p.keys[:0])
	if p.ops, p.alone = p.ops[:0], p.alone[:0]; len(p.dues) > 0 {
		p.ops = p.board.Collect(p.ops)
		numbers := len(p.ops)
		p.exchange(ctx, &f)
		p.early.Add(uint64(len(p.dues)))
		p.hurries = true
		p.mergeAll(f, numbers)
		p.hurries = false
		p.notify(ctx, f, p.ops[:numbers])
		for n := range p.alone {
			p.gate.MergeAlone(f, &p.alone[n])
		}
		p.gate.Report(now)
	}
	// the time budget of a such key: at most 2,000 keys a second. The rest waits for the flush.
	rest := (500 * time.Microsecond) * time.Duration(len(p.dues))
	p.rests = wall.Add(rest)
	if next == 0 {
		return 0
	}
	return max(next.Sub(now), HurryAfter, rest)
}

// soon returns the dues to prefetch from first on. It rests if it is time to.
func (p *Flusher) soon(first int) []window.Due {
	// after how many dues a flush rests, a multiple of window.PrefetchDues: 40 to 100 µs of work.
	if p.options.Rest != nil && first%(8*window.PrefetchDues) == 0 {
		p.options.Rest()
	}
	return p.dues[first:min(first+window.PrefetchDues, len(p.dues))]
}

// noteAnswers tells the gate which servers answered. A server in quarantine counts as silent.
func (p *Flusher) noteAnswers(now window.Instant) {
	for n := range p.ops {
		if p.ops[n].Err == nil && !p.quarantines[p.ops[n].Server].at(now) {
			p.gate.Ring().Heard(p.ops[n].Server, now)
		}
	}
}

// splitAlone moves the dues no server can count now from p.dues to p.alone.
func (p *Flusher) splitAlone() {
	p.alone = p.alone[:0]
	kept := p.dues[:0]
	for n := range p.dues {
		if p.dues[n].Alone() {
			p.alone = append(p.alone, p.dues[n])
			continue
		}
		kept = append(kept, p.dues[n])
	}
	p.dues = kept
}
