package peers

import (
	"slices"
	"time"

	"github.com/headgate-dev/headgate/window"
)

const (
	// oneWay bounds the time that a packet is under way, where no round trip was measured.
	oneWay = 250 * time.Millisecond
	// sameClock is the lead below which clocks are the same, and sameLate the lag: on a busy
	// machine an answer waits.
	sameClock = 10 * time.Millisecond
	sameLate  = 50 * time.Millisecond
)

// sights are of a clock: every packet and every answer to a ping shows the clock of some time ago,
// so the largest lead is the nearest.
type sights struct {
	at    window.Instant // when these began; 0: there are none
	n     int
	lead  time.Duration // the largest
	round time.Duration // the least round trip; 0: none was measured
}

// add adds a sight of a clock that showed a time of lead ahead of this node's.
func (s *sights) add(now window.Instant, lead, round time.Duration) {
	if s.n == 0 {
		*s = sights{at: now, lead: lead}
	}
	s.n++
	s.lead = max(s.lead, lead)
	if round > 0 && (s.round == 0 || round < s.round) {
		s.round = round
	}
}

// sight adds a sight of p's clock to its latest, the older of which are forgotten.
func (p *peer) sight(now window.Instant, lead, round time.Duration) {
	// the time for which a sight counts, and up to as long again.
	if p.sights[0].n > 0 && now.Sub(p.sights[0].at) > (10*time.Second) {
		p.sights[0], p.sights[1] = sights{}, p.sights[0]
	}
	p.sights[0].add(now, lead, round)
}

// lead returns the lead of p's clock over this node's wall clock, 0 if the two may be the same. ok
// is false while it is not known.
func (p *peer) lead() (lead time.Duration, ok bool) {
	is := p.sights[0]
	if old := p.sights[1]; old.n > 0 {
		is.add(is.at, old.lead, old.round)
		is.n += old.n - 1
	}
	wide := is.round
	switch {
	// Without a round trip a packet up to two seconds late looks like a clock behind: three such
	// sights make a lead.
	case is.n == 0, wide == 0 && is.n < 3 && is.lead < -oneWay && is.lead > -2*time.Second:
		return 0, false
	case wide == 0:
		wide = oneWay
	}
	if is.lead <= sameClock && is.lead+wide >= -sameLate {
		return 0, true
	}
	return is.lead + is.round/2, true
}

// Pinged notes that the member called name answered a ping within round, and that its wall clock
// was lead ahead of this node's at the answer's arrival.
func (t *Table) Pinged(now window.Instant, name string, lead, round time.Duration) {
	if lead.Abs() <= MaxSkew {
		t.peer(name).sight(now, lead, round)
	}
}

// Lead returns the lead of a member's wall clock over this node's; 0 while it is not known.
func (t *Table) Lead(name string) time.Duration {
	if p := t.peers[name]; p != nil {
		lead, _ := p.lead()
		return lead
	}
	return 0
}

// Compare makes the median of all members' wall clocks, of an even number the clock behind, that of
// Offset.
func (t *Table) Compare(isMember func(name string) bool) {
	leads := []time.Duration{0}
	for name, p := range t.peers {
		if lead, ok := p.lead(); ok && name != t.self && isMember(name) {
			leads = append(leads, lead)
		}
	}
	slices.Sort(leads)
	is := -leads[(len(leads)-1)/2]
	if is == 0 || (is-t.offset).Abs() > sameClock {
		t.offset = is
	}
}

// Number makes the wall clock less offset the clock by which periods are numbered.
func (t *Table) Number(offset time.Duration) { t.numbering = offset }

// Offset returns by how much this node's wall clock is ahead of the cluster's, by the last Compare.
func (t *Table) Offset() time.Duration { return t.offset }
