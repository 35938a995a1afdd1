package ask

import (
	"errors"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
)

// answer sets the answer of p from the decisions of the part's questions.
func (s *Session) answer(p *Part) {
	if p.Why != ByRules {
		return
	}
	p.By, p.Why = nil, ByNone
	for i := range s.several.n {
		if p.asked>>i&1 == 0 {
			continue
		}
		d := s.decision(i)
		p.Shadow = p.Shadow || d.Shadow
		if s.several.forms[i] != nil && s.several.unnamed(i, d) {
			p.unnamed(d)
			continue // unlike a rule named in the question
		}
		// the denial of the figures, or the nearest
		if p.By == nil || s.names(i) || !s.names(p.by) && nearer(d, p.By) {
			p.By, p.by = d, i
		}
	}
	if p.By == nil {
		return
	}
	p.Why = ByRules
	form := s.several.forms[p.by]
	p.Silent = form != nil && form.Silent
	p.Over = p.By.Deny || p.By.Shadow && s.several.asks[p.by].Quota
	if !p.By.Deny {
		return
	}
	p.Deny, p.Status = true, StatusOf(p.By.Why)
	if form != nil {
		s.denied(&p.Answer, form)
		p.trap = p.canDeceive && form.Deceive
	}
}

// names reports whether the denial of all parts names question i.
func (s *Session) names(i int) bool {
	return s.together.Deny && s.several.place[i] == s.together.By
}

// deceive has the parts denied deceive, if all can: reports whether so.
func (s *Session) deceive(parts []Part) bool {
	for i := range parts {
		if p := &parts[i]; p.Deny && !p.trap {
			return false
		}
	}
	for i := range parts {
		if p := &parts[i]; p.Deny {
			p.deceive()
			p.Over, s.pretends = false, true
		}
	}
	return s.pretends
}

// giveBack gives back the cost of q: of the admitted cost, or the key's oldest lease. Missing cost
// changes nothing.
func (s *Session) giveBack(b *gate.Batch, q *gate.Question) {
	if q.Op == gate.Check && errors.Is(b.Settle(&q.Ask, true), gate.ErrKind) {
		_, _ = s.room.Release(b.Now(), q.Rule, q.Key, 0)
	}
}

// Delay returns for how long a request of parts passing is to wait first. Only parts of which
// Session.CanWait says so wait.
func (s *Session) Delay() time.Duration { return s.together.Delay() }

// Full reports whether there was no lease left for some part: the failure mode decided.
func (s *Session) Full() bool { return s.full() }
