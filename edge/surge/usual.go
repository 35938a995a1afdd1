package surge

import "math"

// The sizes of usual traffic, in rows.
const (
	hours    = 24
	hourRows = 512
	lastRows = 2048
	maxUsual = hours*hourRows + lastRows
	// the fewest to compare with
	fewestLast = 300
	perHour    = 256 // rows that enter, after learning
	delayNanos = 600e9
)

// usualRow is a row without text, time or address.
type usualRow struct {
	n     uint8
	terms [maxTerms]Term
}

// usual is how traffic usually is: rows by hour of the day, rows of the last hours, and rates.
type usual struct {
	hour  [hours]sample
	last  sample
	rates [hours]rate
	// of the last hour, a look each
	recent   [3600 / lookSeconds]float32
	looks    int // whose rates are in recent, at most its length; then the next place
	next     int
	answered float64 // rows with a status, of the last hours
	refusals float64 // among the answered
	failures float64 // likewise, with 5xx

	waiting []waitingRow // until delayNanos are over
}

// sample is a fixed number of rows at random.
type sample []usualRow

// rate is a mean of requests a second.
type rate struct{ mean, n float64 }

type waitingRow struct {
	at int64
	usualRow
}

func newUsual() *usual {
	u := &usual{last: make(sample, 0, lastRows), waiting: make([]waitingRow, 0, MaxFindings)}
	for i := range u.hour {
		u.hour[i] = make(sample, 0, hourRows)
	}
	return u
}

// enter puts r in the sample, in place of another where full.
func (s *sample) enter(r *usualRow, chance uint64) {
	if len(*s) < cap(*s) {
		*s = append(*s, *r)
		return
	}
	(*s)[chance%uint64(len(*s))] = *r
}

// add adds a row of a moment: at once, or once delayNanos are over.
func (u *usual) add(r *row, atOnce bool, chance func() uint64) {
	w := waitingRow{at: r.at, usualRow: usualRow{n: r.n, terms: r.terms}}
	if atOnce {
		u.take(&w, chance)
	} else if len(u.waiting) < MaxFindings {
		u.waiting = append(u.waiting, w)
	}
}

// settle lets the rows enter whose time is over at now, but for those a finding covers.
func (u *usual) settle(now int64, covered func(terms []Term) bool, chance func() uint64) {
	n := 0
	for n < len(u.waiting) && now-u.waiting[n].at >= delayNanos {
		if w := &u.waiting[n]; !covered(w.terms[:w.n]) {
			u.take(w, chance)
		}
		n++
	}
	u.waiting = append(u.waiting[:0], u.waiting[n:]...)
}

func (u *usual) take(w *waitingRow, chance func() uint64) {
	u.hour[hourOf(w.at)].enter(&w.usualRow, chance())
	u.last.enter(&w.usualRow, chance())
}

// hourOf returns the hour of the day of a moment, UTC.
func hourOf(at int64) int { return int(at/3600e9) % hours }

// noteRate notes the rate of a look.
func (u *usual) noteRate(now int64, perSecond float64) {
	u.recent[u.next] = float32(perSecond)
	u.next = (u.next + 1) % len(u.recent)
	u.looks = min(u.looks+1, len(u.recent))
	r := &u.rates[hourOf(now)]
	r.n++ // the mean decays over four days
	r.mean += max(1/r.n, 1/float64(4*len(u.recent))) * (perSecond - r.mean)
}

// rate returns the usual rate at now: of this hour of the day, or of the last hour.
func (u *usual) rate(now int64) float64 {
	sum := 0.0
	for _, x := range u.recent[:u.looks] {
		sum += float64(x)
	}
	mean := sum / max(1, float64(u.looks))
	// An hour just begun for the first time would be the surge itself.
	if r := u.rates[hourOf(now)]; r.n > float64(len(u.recent)/2) {
		mean = max(mean, r.mean)
	}
	return mean
}

// noteStatus notes the status of a response.
func (u *usual) noteStatus(status uint16) {
	if u.answered++; u.answered > maxRows { // older ones weigh half
		u.answered, u.refusals, u.failures = u.answered/2, u.refusals/2, u.failures/2
	}
	if isRefusal(status) {
		u.refusals++
	}
	if status >= 500 {
		u.failures++
	}
}

// isRefusal reports whether the backend turned the request away. 404 is none: a
// letter with a mistyped address makes a crowd of those. 5xx is the backend's own trouble.
func isRefusal(status uint16) bool { return status == 401 || status == 403 || status == 422 }

// rows returns how many rows there are.
func (u *usual) rows() int {
	n := len(u.last)
	for i := range u.hour {
		n += len(u.hour[i])
	}
	return n
}

// upper is the upper end of a share, at 95 %: k of n rows. 0 of 12,288 are at most 0.02 %.
func upper(k, n float64) float64 {
	if n == 0 {
		return 1
	}
	return min(1, (k+1.35+1.65*math.Sqrt(k+0.7))/n)
}
