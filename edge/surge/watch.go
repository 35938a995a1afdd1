package surge

import (
	"crypto/sha256"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/request"
)

const (
	maxRows     = 4096 // of now
	lookSeconds = 5    // between two looks
	lookNanos   = lookSeconds * 1e9
)

// Every is the time between two looks.
const Every = lookSeconds * time.Second

// Settings are the fields of the section surge.
type Settings struct {
	Sample  int           // requests kept a second, 20..2000; 0: none
	Learn   time.Duration // of traffic before the first finding
	MinRate int           // requests a second a finding adds at least
	// headers whose values are never kept, beside those whose names say so; nil: none
	Hidden func(name []byte) bool
}

// Watch is a node's surge. Keep and Answered are called on the way of a request: both wait for
// nothing, and rows lost thereby are counted. The other methods wait in turn.
// All may be called concurrently.
type Watch struct {
	// Share is the share of requests to draw, of 2^32; 0: none.
	Share atomic.Uint32

	tickets [maxRows]atomic.Uint64 // by number: of a row waiting for a status
	lost    atomic.Uint64
	said    atomic.Pointer[Report]

	mu       sync.Mutex // protects the fields below
	settings Settings
	chance   func() uint64
	fill     filler
	rows     []row // a ring
	next     int
	second   int64 // the last in which rows were kept
	inSecond int
	sampled  uint64

	usual    *usual
	learnt   time.Duration
	known    bool // usual traffic was kept
	look     look
	findings []Finding // newest first
	before   []Finding // of the look before, spoken or not
	begun    map[Kind]uint64
	state    string
	since    time.Time
	looked   int64
	changes  []Finding
}

// New returns a watch. key is of the hashes of terms; chance yields random bits, to a goroutine at
// a time.
func New(key [32]byte, chance func() uint64) *Watch {
	w := &Watch{
		rows: make([]row, maxRows), usual: newUsual(), chance: chance,
		begun: map[Kind]uint64{}, state: Off,
	}
	w.fill = filler{hash: sha256.New(), key: key[:], texts: newTexts()}
	w.look = look{
		u: w.usual, texts: w.fill.texts,
		candidates: make([]candidate, 0, maxCandidates),
		rows:       make([]*row, 0, maxRows), all: make([]*row, 0, maxRows),
	}
	w.said.Store(&Report{State: Off})
	return w
}

// Set puts s in force at now, in nanoseconds.
func (w *Watch) Set(s Settings, now int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settings, w.fill.hidden = s, s.Hidden
	switch {
	case s.Sample == 0:
		w.Share.Store(0)
		w.forget(math.MaxInt64)
		w.fill.texts.turned = 0
	case w.Share.Load() == 0:
		w.Share.Store(math.MaxUint32)
	}
	w.publish(now)
}

// Keep keeps r, which was drawn, at now in nanoseconds. ticket is of the answer; report: r is of a
// report.
func (w *Watch) Keep(r *request.Request, now int64, ticket uint64, report bool) {
	if !w.mu.TryLock() {
		w.lost.Add(1)
		return
	}
	defer w.mu.Unlock()
	share := w.Share.Load()
	if share == 0 {
		return
	}
	to := &w.rows[w.next]
	w.next = (w.next + 1) % maxRows
	*to = row{
		at: now, ticket: ticket, report: report, status: uint16(r.Status),
		weight: float32(math.MaxUint32 / float64(share)),
	}
	w.fill.fill(to, r)
	w.sampled++
	if ticket != 0 {
		w.tickets[ticket%maxRows].Store(ticket)
	}
	if to.status > 0 {
		w.noteStatus(to)
	}
	w.pace(now / 1e9)
	// In the second in which a flood begins.
	if w.inSecond++; w.inSecond > 2*w.settings.Sample {
		w.Share.Store(max(1, share/2))
		w.inSecond = w.settings.Sample
	}
}

// pace sets the share, where a second is over.
func (w *Watch) pace(second int64) {
	if second == w.second {
		return
	}
	share, most := float64(w.Share.Load()), float64(w.settings.Sample)
	if share > 0 {
		share *= min(2, most/max(1, float64(w.inSecond)))
		w.Share.Store(uint32(min(math.MaxUint32, max(1, share))))
	}
	w.second, w.inSecond = second, 0
}

// Answered notes the status of the response to the request of ticket, if drawn.
func (w *Watch) Answered(ticket uint64, status int) {
	if ticket == 0 || w.tickets[ticket%maxRows].Load() != ticket {
		return
	}
	if !w.mu.TryLock() {
		w.lost.Add(1)
		return
	}
	defer w.mu.Unlock()
	w.tickets[ticket%maxRows].Store(0)
	for i := range w.rows {
		if r := &w.rows[i]; r.ticket == ticket {
			r.status = uint16(status)
			w.noteStatus(r)
			return
		}
	}
}

// noteStatus notes r's status as usual, unless an attack covers r.
func (w *Watch) noteStatus(r *row) {
	if !w.covered(r.terms[:r.n]) {
		w.usual.noteStatus(r.status)
	}
}

// covered reports whether a present attack covers a row.
func (w *Watch) covered(terms []Term) bool {
	for i := range w.findings {
		f := &w.findings[i]
		if !f.Over && f.Kind == Attack && hasAll(terms, f.Conditions) {
			return true
		}
	}
	return false
}

// Tick is for every second: sets the share to draw, and looks where a look is due, atOnce as in
// Look. The result is whether there was a look.
func (w *Watch) Tick(now int64, atOnce bool) bool {
	w.mu.Lock()
	w.pace(now / 1e9)
	due := now-w.looked >= lookNanos-3e8 // seconds are not exact
	w.mu.Unlock()
	if due {
		w.Look(now, atOnce)
	}
	return due
}

// Look compares now with usual traffic, every lookSeconds. at once: a look is enough for a
// finding, as by hand.
func (w *Watch) Look(now int64, atOnce bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.looked = now; w.settings.Sample == 0 {
		return
	}
	w.pace(now / 1e9)
	w.forget(now)
	l := &w.look
	l.take(w.rows, w.next, now)
	l.measure(w.usual.rate(now))
	rate := l.now
	learns := w.learns()
	if !learns && len(l.all) >= fewestRows {
		l.prepare()
		rate -= w.search(now, atOnce || l.failing())
	} else {
		w.before = nil
	}
	w.end(now)
	w.usual.noteRate(now, max(0, rate))
	w.learn(now, learns)
	w.publish(now)
}

// forget drops the rows and the texts that are older than a minute at now.
func (w *Watch) forget(now int64) {
	for i := range w.rows {
		if r := &w.rows[i]; r.n > 0 && now-r.at >= int64(time.Minute) {
			*r = row{}
		}
	}
	w.fill.texts.turn(now)
}

// LookAgain is Look between two looks: nothing is learnt.
func (w *Watch) LookAgain(now int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := &w.look
	if l.take(w.rows, w.next, now); w.settings.Sample == 0 || w.learns() ||
		len(l.all) < fewestRows {
		return
	}
	l.measure(w.usual.rate(now))
	l.prepare()
	w.search(now, true)
	w.publish(now)
}

// learns reports whether nothing is known yet of usual traffic.
func (w *Watch) learns() bool {
	return !w.known && w.learnt < w.settings.Learn || len(w.usual.last) < fewestLast
}

// learn lets rows of the last seconds become usual.
func (w *Watch) learn(now int64, all bool) {
	w.learnt += Every
	fresh := slices.DeleteFunc(slices.Clone(w.look.all), func(r *row) bool {
		return now-r.at >= lookNanos
	})
	w.usual.settle(now, w.covered, w.chance)
	if all {
		for _, r := range fresh {
			w.usual.add(r, true, w.chance)
		}
		return
	}
	// 256 an hour: fewer than a row each look
	if len(fresh) > 0 && w.chance()%3600 < perHour*lookSeconds {
		w.usual.add(fresh[w.chance()%uint64(len(fresh))], false, w.chance)
	}
}

// Adopt takes over a finding of another member, if the finding is not known here.
func (w *Watch) Adopt(f Finding) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.said.Load().Find(f.ID) == nil {
		w.fill.resolve(f.Conditions)
		w.insert(&f)
		w.publish(w.looked)
	}
}

// end ends findings whose time is over, and drops old findings.
func (w *Watch) end(now int64) {
	at := time.Unix(0, now)
	for i := range w.findings {
		if f := &w.findings[i]; !f.Over && at.Sub(f.Seen) >= overAfter {
			f.Over = true
			w.changes = append(w.changes, *f)
		}
	}
	w.findings = slices.DeleteFunc(w.findings, func(f Finding) bool {
		return f.Over && at.Sub(f.Seen) >= keepFor
	})
}
