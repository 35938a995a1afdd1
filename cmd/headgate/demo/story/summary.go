package story

import "time"

// Summary is the result of a demo, by its clients' own count. Rates are shares of the limit: 1 is
// all of it.
type Summary struct {
	Seed     uint64  `json:"seed"`
	Seconds  float64 `json:"seconds"`  // played
	Complete bool    `json:"complete"` // played to its end
	// the attack was admitted the limit, within Tolerance, and no normal client was denied
	Held   bool    `json:"held"`
	Rule   string  `json:"rule"`
	Limit  int     `json:"limit"`  // requests
	Window float64 `json:"window"` // seconds
	PoPs   []Place `json:"pops"`
	Attack Attack  `json:"attack"`
	Normal Normal  `json:"normal"`
	// seen at the PoPs, in order of first sight
	Mitigations []Mitigation `json:"mitigations"`
	Unkept      int          `json:"unkept"` // mitigations for which there was no room
	Missed      int          `json:"missed"` // requests for a PoP's mitigations that failed
	// batches left out because the machine was too busy
	Skipped uint64 `json:"skipped"`
}

// Place is a PoP, with the clients' requests and answers.
type Place struct {
	PoP  string `json:"pop"`
	Node string `json:"node"`
	Ring string `json:"ring"`
	// counters for which the substitute for memcached had no room
	RingFull  uint64 `json:"ring_full"`
	Dashboard string `json:"dashboard"`
	Attack    Counts `json:"attack"`
	Normal    Counts `json:"normal"`
}

// Mitigation is a mitigation a PoP had.
type Mitigation struct {
	PoP    string  `json:"pop"`
	Rule   string  `json:"rule"`
	Key    string  `json:"key"` // as the daemon reports it: not safe to print
	Action string  `json:"action"`
	Source string  `json:"source"` // self, ring, gossip:<pop>, manual:<who>
	First  float64 `json:"first"`  // seconds since the story began
	Last   float64 `json:"last"`
	Ratio  float64 `json:"ratio"` // the highest
}

// Counts is a Tally for scripts.
type Counts struct {
	Asked      int `json:"asked"`
	Admitted   int `json:"admitted"`
	Denied     int `json:"denied"`
	Unanswered int `json:"unanswered"`
}

// countsOf returns a tally for scripts.
func countsOf(t Tally) Counts {
	return Counts{Asked: t.Asked, Admitted: t.Admitted, Denied: t.Denied, Unanswered: t.Unanswered}
}

// Attack is the result of the attack.
type Attack struct {
	Key     string  `json:"key"`
	Rounds  int     `json:"rounds"`
	OfLimit float64 `json:"of_limit"`
	Counts
	Seconds float64 `json:"seconds"`
	// seconds from the start to the first second within Tolerance; null: none
	Settled  *float64      `json:"settled"`
	BySecond []float64     `json:"by_second"` // of the last round
	Outside  int           `json:"outside"`   // seconds of any round that were not within Tolerance
	Phases   []PhaseResult `json:"phases"`
}

// PhaseResult is the result of the attack in a phase, over all rounds.
type PhaseResult struct {
	Phase    string   `json:"phase"`
	PoPs     []string `json:"pops"` // that received it
	Seconds  float64  `json:"seconds"`
	Asked    int      `json:"asked"`
	Admitted int      `json:"admitted"`
	OfLimit  float64  `json:"of_limit"`
	Least    float64  `json:"least"` // of any whole second
	Most     float64  `json:"most"`
	// seconds from the beginning to the first second within Tolerance, of the worst round; null:
	// none
	Settled *float64 `json:"settled"`
	// seconds, the longest from when a request was due to the answer
	Delay float64 `json:"delay"`

	bins      int
	unsettled bool // in a round at least
}

// settle notes the time after which a round's phase settled, if so.
func (p *PhaseResult) settle(after time.Duration, did bool) {
	seconds := after.Seconds()
	switch {
	case !did:
		p.Settled, p.unsettled = nil, true
	case !p.unsettled && (p.Settled == nil || seconds > *p.Settled):
		p.Settled = &seconds
	}
}

// Normal is the result of the normal clients.
type Normal struct {
	Clients int `json:"clients"`
	Counts
}
