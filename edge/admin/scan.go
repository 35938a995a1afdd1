package admin

import (
	"bytes"
	"cmp"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// scanShare is the least ratio of the time between two scans to the duration of a scan. A scan
// takes at most a hundredth of a processor: with very many keys, the lists of a picture are renewed
// less often.
const scanShare = 100

// scan is the part of a picture with a pass over all flags and suspects.
type scan struct {
	at       window.Instant     // when it began
	took     time.Duration      // its duration
	flags    api.FlagCountsView // all live flags, by action
	first    []rankedFlag       // the liveMitigations that deny most
	top      []api.TopView      // the liveTop heaviest keys
	byRule   map[string]int     // flags
	allowed  map[string]int     // of them, by rule: those that allow
	suspects map[string]int     // by rule
}

// rankedFlag is a flag with the place in the order of a picture.
type rankedFlag struct {
	*mitigation.Flag
	denied float64 // cost a second; 0 for all but the liveMitigations keys denied most
}

// due reports whether the next scan may begin at now.
func (s *scan) due(now window.Instant) bool { return s == nil || now.Sub(s.at) >= scanShare*s.took }

// newScan passes once over the suspects and once over the flags.
func newScan(g *gate.Gate, now window.Instant) *scan {
	s := &scan{
		at: now, byRule: map[string]int{}, allowed: map[string]int{},
		suspects: map[string]int{},
	}
	s.scanFlags(g, now, s.scanSuspects(g, now))
	s.took = g.Now().Sub(now)
	return s
}

// deniedSuspect is a suspect with the cost a second denied over the trailing window.
type deniedSuspect struct {
	window.Suspect
	rate float64
}

// scanSuspects fills in the top and the numbers of suspects. The result is the cost a second denied
// to the liveMitigations keys denied most, by rule and key as appendID joins them. The flags do not
// hold such costs, and the counts must not be read while the table of flags is locked.
func (s *scan) scanSuspects(g *gate.Gate, now window.Instant) map[string]float64 {
	seconds := map[string]float64{}
	for _, r := range g.Rules() {
		seconds[r.Name] = r.Fill().Seconds()
	}
	top := newShortlist(liveTop, heavier)
	most := newShortlist(liveMitigations, func(a, b deniedSuspect) int {
		return cmp.Or(-cmp.Compare(a.rate, b.rate),
			heavier(topKey{Suspect: a.Suspect}, topKey{Suspect: b.Suspect}))
	})
	g.EachSuspect(now, func(is window.Suspect) bool {
		s.suspects[is.Rule]++
		d := deniedSuspect{Suspect: is}
		if over := seconds[is.Rule]; over > 0 { // 0: a reload took the rule away meanwhile
			d.rate = float64(is.Offered-passedOf(is)) / over
		}
		forTop, forMost := is.Offered > 0 &&
			top.Wants(topKey{Suspect: is}), d.rate > 0 && most.Wants(d)
		if !forTop && !forMost {
			return true
		}
		is.Key = bytes.Clone(is.Key)
		if forTop {
			top.Offer(topKey{Suspect: is})
		}
		if d.Suspect = is; forMost {
			most.Offer(d)
		}
		return true
	})
	eachHolder(g, now, func(string) bool { return true }, liveTop, top.Offer)
	s.top = viewTop(g, now, top.Sorted())
	rates := make(map[string]float64, len(most.Kept()))
	for _, d := range most.Kept() {
		rates[string(appendID(nil, d.Rule, d.Key))] = d.rate
	}
	return rates
}

// passedOf returns the cost of s not denied in the trailing window: of a bucket, about the refill
// of the window, if more was offered.
func passedOf(s window.Suspect) int64 {
	if s.Full != 0 {
		return min(s.Offered, s.Limit)
	}
	return s.Admitted
}

// scanFlags fills in the first flags and the numbers of flags. denied is from scanSuspects.
func (s *scan) scanFlags(g *gate.Gate, now window.Instant, denied map[string]float64) {
	first := newShortlist(liveMitigations, compareRanked)
	var id []byte
	g.EachFlag(now, func(f *mitigation.Flag) bool {
		countFlag(&s.flags, f.Action)
		s.byRule[f.Rule]++
		r := rankedFlag{Flag: f}
		if f.Action == mitigation.Allow {
			s.allowed[f.Rule]++
		} else {
			id = appendID(id[:0], f.Rule, f.Key)
			r.denied = denied[string(id)]
		}
		if first.Wants(r) {
			kept := f.Clone()
			r.Flag = &kept
			first.Offer(r)
		}
		return true
	})
	s.first = first.Sorted()
}

// appendID appends the name of a key under a rule. A rule's name holds no zero byte.
func appendID(to []byte, rule string, key []byte) []byte {
	return append(append(append(to, rule...), 0), key...)
}

// countFlag adds a flag with action a to v.
func countFlag(v *api.FlagCountsView, a mitigation.Action) {
	v.Total++
	switch a {
	case mitigation.Block:
		v.Block++
	case mitigation.Allow:
		v.Allow++
	default:
		v.Shed++
	}
}

// compareRanked orders flags by the cost a second denied, then by weight, as the table does when
// full. Of two flags of a kind the newer comes first: so the place does not depend on the last
// extension of the end.
func compareRanked(a, b rankedFlag) int {
	return cmp.Or(-cmp.Compare(a.denied, b.denied), -cmp.Compare(a.Weight(), b.Weight()),
		-cmp.Compare(a.Since, b.Since),
		compareFlags(a.Flag, b.Flag))
}
