package condition

import "slices"

// Covers reports whether every request matching later also matches earlier, both resolved, so a
// policy under later is never reached when a policy under earlier ends the walk. Possibly false
// where so, never true where not: a wrong true would make a working file a fault.
//
// A condition is a conjunction. Each term of earlier must follow from some term of later. A term on
// the tier is never taken to follow, because policies in between may change the tier.
func Covers(earlier, later *Expr) bool {
	// A term may follow from several others together, as a > 1 and a < 3 say a == 2: missed, as
	// allowed.
	has := later.Conjuncts()
	for _, needed := range earlier.Conjuncts() {
		if needed.UsesTier() || !slices.ContainsFunc(has,
			func(e *Expr) bool { return implies(e, needed) }) {
			return false
		}
	}
	return true
}

// implies reports whether b holds wherever a does, as far as the trees show it. For tests of a
// field that is inclusion of the values wanted: {/v2/a, /v2/b} implies {/v2/**}. The order of the
// cases matters: an Or on the right is tried before an Or on the left is taken apart, so {x, y}
// implies {x, y, z} is found by their kids.
func implies(a, b *Expr) bool {
	switch {
	// Before spellings are made: of a thousand policies most have a test each.
	case a.Op == OpTest && b.Op == OpTest:
		return a.Test.implies(b.Test)
	case a.Spelling() == b.Spelling():
		return true
	case b.Op == OpOr:
		return slices.ContainsFunc(b.Kids, func(kid *Expr) bool { return implies(a, kid) })
	case a.Op == OpOr && len(a.Kids) > 0:
		return !slices.ContainsFunc(a.Kids, func(kid *Expr) bool { return !implies(kid, b) })
	case b.Op == OpAnd:
		return !slices.ContainsFunc(b.Kids, func(kid *Expr) bool { return !implies(a, kid) })
	case a.Op == OpAnd:
		return slices.ContainsFunc(a.Kids, func(kid *Expr) bool { return implies(kid, b) })
	}
	return false
}

// implies is implies of two tests.
func (t *Test) implies(of *Test) bool {
	if t.Field != of.Field {
		return false
	}
	for i := range t.Wants {
		one := &t.Wants[i]
		if !slices.ContainsFunc(of.Wants, func(w Want) bool { return w.covers(one) }) {
			return false
		}
	}
	// A test of no values never holds, and would imply everything.
	return len(t.Wants) > 0 || len(of.Wants) == 0
}

// covers reports whether every value wanted by v is wanted by w. Other kinds cover only equal
// wants: whether a regular expression is wider than another cannot be decided by a look.
func (w *Want) covers(v *Want) bool {
	if w.Kind == v.Kind && w.Text == v.Text && w.Net == v.Net && w.low == v.low &&
		w.high == v.high && w.field == v.field && w.Loose == v.Loose {
		return true
	}
	switch w.Kind {
	// A number outside a range may be absent.
	case WantPresent:
		return v.Kind != WantAbsent && v.Kind != WantOutside
	case WantPrefix:
		return (v.Kind == WantText || v.Kind == WantPrefix) && len(v.Text) >= len(w.Text) &&
			v.Text[:len(w.Text)] == w.Text
	case WantHost:
		return (v.Kind == WantText || v.Kind == WantHost) && endsWith([]byte(v.Text), w.Text)
	case WantPath:
		return v.Kind == WantText &&
			v.each(func(text string) bool { return w.Path.matches([]byte(text)) }) ||
			v.Kind == WantPath && w.Path.covers(&v.Path)
	case WantRegexp:
		return v.Kind == WantText && v.each(w.re.MatchString)
	// 10.0.0.0/8 covers 10.1.0.0/16.
	case WantNet:
		return v.Kind == WantNet && w.Net.Bits() <= v.Net.Bits() && w.Net.Contains(v.Net.Addr())
	case WantRange:
		return v.Kind == WantRange && w.low <= v.low && v.high <= w.high
	}
	return false
}

// each reports whether holds is true for each text of v.
func (w *Want) each(holds func(text string) bool) bool {
	return !slices.ContainsFunc(w.Texts(), func(text string) bool { return !holds(text) })
}

// covers reports whether every path fitting q fits p. /v2/** covers /v2/*/orders; a star covers any
// segment but an empty segment, as in //.
func (p *PathPattern) covers(q *PathPattern) bool {
	if len(p.segments) > len(q.segments) {
		return false
	}
	for i, s := range p.segments {
		if s != q.segments[i] && (s != "*" || q.segments[i] == "") {
			return false
		}
	}
	return p.below || len(p.segments) == len(q.segments) && !q.below
}
