package surge

import (
	"math"
	"net/netip"
	"slices"
	"time"
)

// search looks for new findings, and for earlier ones. The result is the rate of attacks, which
// is not usual.
func (w *Watch) search(now int64, atOnce bool) (attacks float64) {
	l, minRate := &w.look, float64(w.settings.MinRate)
	attacks = w.renew(now)
	var found []Finding
	for range maxFound {
		c, ok := l.search(minRate)
		if !ok {
			break
		}
		if f := w.describe(&c, now); f != nil {
			found = append(found, *f)
		}
		l.remove(&c.now)
	}
	if len(found) == 0 && attacks == 0 {
		if f := w.few(now); f != nil {
			found = append(found, *f)
		}
	}
	for i := range found {
		if w.speak(&found[i], atOnce) && found[i].Kind == Attack {
			attacks += found[i].Rate
		}
	}
	w.before = found
	return attacks
}

// renew measures the findings in force again, and takes out the rows of attacks.
func (w *Watch) renew(now int64) (attacks float64) {
	l, minRate := &w.look, float64(w.settings.MinRate)
	for i := range w.findings {
		f := &w.findings[i]
		if f.Over || f.Kind == Few {
			continue
		}
		c := l.again(f.Conditions)
		if !l.rises(c.excess, minRate) {
			continue
		}
		w.measure(f, &c, now)
		if f.Kind == Attack {
			attacks += c.excess
			l.remove(&c.now)
		}
	}
	return attacks
}

// describe returns c as a finding; nil: nothing worth a sentence.
func (w *Watch) describe(c *conjunction, now int64) *Finding {
	l := &w.look
	f := &Finding{Kind: Crowd, Begun: time.Unix(0, now).UTC()}
	if l.ofFew(l.conditions(c)) {
		return nil
	}
	signs := l.signs(c)
	if len(signs) > 0 {
		f.Kind = Attack
		l.narrow(c, &signs[0])
		for i := range signs {
			f.Signs = append(f.Signs, l.text(&signs[i]))
		}
	}
	f.Conditions = l.conditions(c)
	if share, is := l.refusals(f.Conditions); is {
		f.Kind = Attack
		f.Signs = append(f.Signs, percent(share)+" are denied by the backend")
	}
	if f.Kind == Crowd && c.usual > MostPolicy {
		return nil
	}
	order(f.Conditions)
	f.ID = idOf(f.Conditions, nil)
	w.measure(f, c, now)
	return f
}

// measure sets f's figures, by c.
func (w *Watch) measure(f *Finding, c *conjunction, now int64) {
	l := &w.look
	f.Seen, f.Rate, f.Peak = time.Unix(0, now).UTC(), c.excess, max(f.Peak, c.excess)
	if f.Rate < f.Peak/2 {
		return
	}
	f.Usual = c.usual
	n := float64(c.rows)
	spread := 1.96 * math.Sqrt(n*(1-n/max(n, float64(len(l.rows)))))
	share := func(rows, usual float64) float64 {
		return min(1, max(0, (rows*l.perRow-usual*min(l.usual, l.now))/l.whole))
	}
	f.Low, f.High = share(n-spread, c.usual), share(n+spread, 0)
	f.UsualRows = both(c.use[:], c.use[:], nil)
	clients, networks := map[row16]bool{}, map[Term]bool{}
	for _, r := range l.all {
		if r.has(f.Conditions) {
			clients[r.client], networks[r.network] = true, true
		}
	}
	f.Clients, f.Networks = len(clients), len(networks)
}

// few returns the finding of kind few; nil: more clients make the rise.
func (w *Watch) few(now int64) *Finding {
	l := &w.look
	clients, rate := l.few(maxFew, float64(w.settings.MinRate))
	if len(clients) == 0 {
		return nil
	}
	f := &Finding{
		Kind: Few, Begun: time.Unix(0, now).UTC(), Seen: time.Unix(0, now).UTC(), Rate: rate,
		Clients: len(clients), Usual: 1,
	}
	for _, c := range clients {
		f.Addresses = append(f.Addresses, netip.AddrFrom16(c).Unmap())
	}
	rise := max(rateOf(l.all, l.span)-l.usual, 1e-9)
	f.Low, f.High = min(1, rate/rise), min(1, rate/rise)
	f.ID = idOf(nil, f.Addresses)
	return f
}

// speak puts f among the findings: in place of an equal, or where the look before had a condition
// in common. False: not yet.
func (w *Watch) speak(f *Finding, atOnce bool) bool {
	for i := range w.findings {
		was := &w.findings[i]
		if was.Over || was.ID != f.ID && !w.alike(was, f) {
			continue
		}
		if f.Kind == was.Kind || f.Kind != Attack {
			was.Seen, was.Rate, was.Addresses = f.Seen, f.Rate, f.Addresses
			return true
		}
		was.Over = true // a crowd turned out an attack
		w.changes = append(w.changes, *was)
		break
	}
	if !atOnce && !slices.ContainsFunc(w.before, func(b Finding) bool { return shares(&b, f) }) {
		return false
	}
	w.begin(f)
	return true
}

// begin notes that f begins.
func (w *Watch) begin(f *Finding) {
	w.insert(f)
	w.begun[f.Kind]++
	w.changes = append(w.changes, *f)
}

// insert puts f at the head of the findings, in place of an equal.
func (w *Watch) insert(f *Finding) {
	w.findings = slices.DeleteFunc(w.findings, func(was Finding) bool { return was.ID == f.ID })
	if len(w.findings) == MaxFindings {
		at := len(w.findings) - 1
		for i := range w.findings {
			if w.findings[i].Over {
				at = i
			}
		}
		w.findings = slices.Delete(w.findings, at, at+1)
	}
	w.findings = slices.Insert(w.findings, 0, *f)
}

// shares reports whether two findings have a condition in common, or are both of a few clients.
func shares(a, b *Finding) bool {
	return a.Kind == Few && b.Kind == Few || slices.ContainsFunc(a.Conditions,
		func(c Condition) bool {
			return slices.ContainsFunc(b.Conditions,
				func(o Condition) bool { return o.term == c.term })
		})
}

// alike reports whether two findings are the same: four fifths of their rows are the same.
func (w *Watch) alike(a, b *Finding) bool {
	if a.Kind == Few || b.Kind == Few {
		return a.Kind == b.Kind
	}
	both, either := 0, 0
	for _, r := range w.look.all {
		inA, inB := r.has(a.Conditions), r.has(b.Conditions)
		if inA && inB {
			both++
		}
		if inA || inB {
			either++
		}
	}
	return either > 0 && both*5 >= either*4
}
