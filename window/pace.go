package window

import (
	"math"
	"time"
)

// fallen reports whether came is so far below expected as to rule out chance.
func fallen(expected float64, came int64) bool {
	// the fraction of the expected cost below which a rate is taken to have fallen. With 16 or more
	// expected, chance hardly ever leaves so little, and neither do nodes reporting a flush late.
	return expected > hardly && float64(came) < 0.3*expected
}

const (
	// mostRise bounds gone/settles in rise. With less, the rate of a key rare on a node would be
	// too low; with more, a lost read would leave a rate far too high.
	mostRise = 3
	// leap is the factor by which a rate must rise to be believed at once. More than late reports
	// of other nodes can make.
	leap = 4
	// surely is how many requests at once rule out chance for a rise by leap. hardly is how many
	// must be expected for their absence to say anything.
	surely = 50
	hardly = 16
	// ceases is the fraction by which the rate is taken to fall with each exchange of a fallen
	// rate. The average itself goes on: a key with many pauses would otherwise seem to ask for
	// little.
	ceases = 0.4
	// mostLate is for how many flushes late reports of other nodes are waited for. A node reports
	// nothing older than two flushes or a tenth of the window.
	mostLate = 8
)

// pace averages cost offered and admitted over a time until now into st's rate and admittedRate:
//
//	rate += (offered/over - rate) · (1 - e^(-over/settles))
//
// A leap sets rate at once, to less than the leap's height if the leap began within the flush. A
// fall only counts up quiet. After a gap of 1 s to 3 s the averages stay as they are; after a
// longer gap averages start from 0.
func (m *Meter) pace(st *syncState, now Instant, offered, admitted int64, over time.Duration) {
	if over > recent && over < 3*recent {
		return // the averages of before say more than a gap
	}
	if over > recent || over <= 0 {
		st.rate, st.admittedRate = 0, 0 // nothing is known of the time between
		st.setQuiet(0)
		st.waits = waitsOf(st.waits.failed(), 0)
		return
	}
	past := over.Seconds()
	weight := 1 - m.c.sync.decay.of(past/m.settles.Seconds())
	// never leaps, so the integral is right
	st.admittedRate += float32((float64(admitted)/past - float64(st.admittedRate)) * weight)
	rate, quiet := float64(offered)/past, 0
	every, late := m.c.every.Seconds(), st.waits.late()
	// cost other nodes held back and may report now
	waited := float64(st.rate) * float64(late) * every
	early := past < every/2 // between two flushes: the absence of others' cost says nothing
	if early {
		quiet = st.quiet()
	} else {
		late--
	}
	switch lately := (float64(offered) - waited) / max(past, every); {
	case lately > leap*float64(st.rate) && offered >= surely:
		rate, weight, quiet = lately, 1, 0 // a start or a sudden rise: the average would hide it
	case !early && fallen(float64(st.rate)*past, offered):
		late = st.waits.late() + 1
		if st.flags&lookAgain == 0 { // else the end of the previous period is still to come
			quiet = st.quiet() + 1
		}
	}
	st.waits = waitsOf(st.waits.failed(), late)
	st.setQuiet(quiet)
	st.rate += float32((rate - float64(st.rate)) * weight)
}

// paceBefore adds to st's averages the cost of other nodes late for the exchange before, which took
// in the counts of a time gone.
func (m *Meter) paceBefore(st *syncState, heard tally, gone time.Duration) {
	rise := m.rise(gone)
	st.rate += float32(float64(heard.offered) * rise)
	st.admittedRate += float32(float64(heard.admitted) * rise)
}

// decay is e^(-x) with a memory of the last result: the keys of a flush were nearly all last read
// at the same flush before, and so have the same x. Not safe for concurrent use.
type decay struct{ x, y float64 }

// of returns e^(-x).
func (d *decay) of(x float64) float64 {
	if x != d.x || d.y == 0 {
		d.x, d.y = x, math.Exp(-x)
	}
	return d.y
}
