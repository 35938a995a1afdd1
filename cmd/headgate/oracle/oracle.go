// Package oracle judges a limiter's decisions by exact counts, in the two ways headgate publishes:
//
//   - enforcement: each decision against the admissions that really happened, so one error does
//     not cascade. A refusal is wrong if the exact admitted cost plus its own fits the limit, an
//     admission if it does not.
//   - classification: over its limit or not by the limiter's estimate, against the cost offered.
//
// No decision, no clock:
//
//	decided request ─► Book (an exact log a key) ─► Seen ─► Score
//
// Book is for replay and tests, where any bytes are a key. Whoever has a tighter way to keep exact
// logs makes the Seen itself and feeds the Score.
package oracle

// Seen is a decided request beside the exact logs' counts. Counts are cost units over the trailing
// window (t - window, t].
type Seen struct {
	Cost     int64
	Admitted int64 // exact, before this request
	Offered  int64 // exact, this request included
	Estimate int64 // the limiter's estimate of Offered
	Refused  bool
	ByFlag   bool // refused by a flag (block or ratio), which no admitted count can judge
	Settled  bool // the key had held an exact slot for a window or longer
}

// level is how much would stand admitted if the request were let pass.
func (s Seen) level() int64 { return s.Admitted + s.Cost }

// Enforcement is how refusals and admissions compare with the exact admitted counts.
type Enforcement struct {
	Judged     int64 `json:"judged"`
	WrongDeny  int64 `json:"wrong_deny"`
	WrongAllow int64 `json:"wrong_allow"`
	// lowest (admitted + cost)/limit wrongly refused; 0: none
	WorstDeny float64 `json:"worst_deny"`
	// highest (admitted + cost)/limit wrongly let pass; 0: none
	WorstAllow float64 `json:"worst_allow"`
	Outside    int64   `json:"outside"` // wrong by more than 2 % of the limit and a unit
}

func (e *Enforcement) take(s Seen, limit int64) {
	if s.ByFlag {
		return
	}
	e.Judged++
	share := float64(s.level()) / float64(limit)
	off := s.level() - limit
	switch fits := off <= 0; {
	case s.Refused && fits:
		e.WrongDeny++
		if e.WorstDeny == 0 || share < e.WorstDeny {
			e.WorstDeny = share
		}
	case !s.Refused && !fits:
		e.WrongAllow++
		e.WorstAllow = max(e.WorstAllow, share)
	default:
		return
	}
	// how far from the limit a decision may be taken, as a share, before it counts as outside.
	if float64(max(off, -off)) > 0.02*float64(limit)+1 {
		e.Outside++
	}
}

// Classification is how the limiter's estimates compare with the exact offered counts.
type Classification struct {
	Judged int64 `json:"judged"`
	// requests of keys above their limit by the exact count
	Over       int64   `json:"over"`
	WrongOver  int64   `json:"wrong_over"`  // estimated above, exactly not
	WrongUnder int64   `json:"wrong_under"` // estimated at or below, exactly above
	Rated      int64   `json:"rated"`       // requests of keys above a tenth of the limit
	RateError  float64 `json:"rate_error"`  // mean |estimate - exact| / exact over those

	errors float64 // sum behind RateError
}

func (c *Classification) take(s Seen, limit int64) {
	c.Judged++
	over, estimatedOver := s.Offered > limit, s.Estimate > limit
	if over {
		c.Over++
	}
	switch {
	case estimatedOver && !over:
		c.WrongOver++
	case !estimatedOver && over:
		c.WrongUnder++
	}
	// the share of the limit from which a key's rate error counts.
	if float64(s.Offered) > 0.1*float64(limit) {
		c.Rated++
		c.errors += float64(max(s.Estimate-s.Offered, s.Offered-s.Estimate)) / float64(s.Offered)
		c.RateError = c.errors / float64(c.Rated)
	}
}

// Keys is how whole keys fared.
type Keys struct {
	Seen int64 `json:"seen"`
	// exceeded the limit at least once, by offered cost
	Over           int64 `json:"over"`
	FalsePositives int64 `json:"false_positives"` // refused at least once, never exceeded it
	FalseNegatives int64 `json:"false_negatives"` // exceeded it, never refused
	// highest peak/limit among the false negatives; 0: none
	WorstMissed float64 `json:"worst_missed"`
}

// Score adds up both judgements for a rule. The zero Score is not usable; see NewScore.
type Score struct {
	Enforcement Enforcement `json:"enforcement"`
	// only after the key's first window in a slot
	Settled        Enforcement    `json:"enforcement_settled"`
	ByFlag         int64          `json:"refused_by_flag"` // not judged under enforcement
	Classification Classification `json:"classification"`
	Keys           Keys           `json:"keys"`

	limit int64
}

// NewScore returns an empty score for a limit of at least 1.
func NewScore(limit int64) *Score { return &Score{limit: limit} }

// Take adds a decided request.
func (s *Score) Take(r Seen) {
	if r.ByFlag {
		s.ByFlag++
	}
	s.Enforcement.take(r, s.limit)
	if r.Settled {
		s.Settled.take(r, s.limit)
	}
	s.Classification.take(r, s.limit)
}

// TakeKey adds a key, when all requests have been taken: the highest offered cost of the trailing
// window ever, and whether the key was refused at least once.
func (s *Score) TakeKey(peak int64, refused bool) {
	k := &s.Keys
	k.Seen++
	over := peak > s.limit
	if over {
		k.Over++
	}
	switch {
	case refused && !over:
		k.FalsePositives++
	case over && !refused:
		k.FalseNegatives++
		k.WorstMissed = max(k.WorstMissed, float64(peak)/float64(s.limit))
	}
}
