package policy

import "slices"

// covers reports whether every request under which later holds is one under which earlier holds.
// It may say no where that is so, never yes where it is not.
func covers(earlier, later *Expr) bool {
	has := later.conjuncts()
	for _, needed := range earlier.conjuncts() {
		if needed.usesTier() || !slices.ContainsFunc(has, func(e *Expr) bool { return implies(e, needed) }) {
			return false
		}
	}
	return true
}

// implies reports whether b holds wherever a does, as far as is easily seen.
func implies(a, b *Expr) bool {
	switch {
	case a.spelling() == b.spelling():
		return true
	case b.op == opOr:
		return slices.ContainsFunc(b.kids, func(kid *Expr) bool { return implies(a, kid) })
	case a.op == opOr && len(a.kids) > 0:
		return !slices.ContainsFunc(a.kids, func(kid *Expr) bool { return !implies(kid, b) })
	case b.op == opAnd:
		return !slices.ContainsFunc(b.kids, func(kid *Expr) bool { return !implies(a, kid) })
	case a.op == opAnd:
		return slices.ContainsFunc(a.kids, func(kid *Expr) bool { return implies(kid, b) })
	case a.op != opTest || b.op != opTest || a.test.field != b.test.field:
		return false
	}
	for i := range a.test.wants {
		one := &a.test.wants[i]
		if !slices.ContainsFunc(b.test.wants, func(w want) bool { return w.covers(one) }) {
			return false
		}
	}
	return len(a.test.wants) > 0
}

// covers reports whether every value that v wants is one that w wants.
func (w *want) covers(v *want) bool {
	if w.spelling() == v.spelling() {
		return true
	}
	switch w.kind {
	case wantPresent:
		return v.kind != wantAbsent && v.kind != wantOutside
	case wantPrefix:
		return (v.kind == wantText || v.kind == wantPrefix) && len(v.text) >= len(w.text) && v.text[:len(w.text)] == w.text
	case wantHost:
		return (v.kind == wantText || v.kind == wantHost) && endsWith([]byte(v.text), w.text)
	case wantPath:
		return v.kind == wantText && w.path.matches([]byte(v.text)) || v.kind == wantPath && w.path.covers(&v.path)
	case wantRegexp:
		return v.kind == wantText && w.re.MatchString(v.text)
	case wantNet:
		return v.kind == wantNet && w.net.Bits() <= v.net.Bits() && w.net.Contains(v.net.Addr())
	case wantRange:
		return v.kind == wantRange && w.low <= v.low && v.high <= w.high
	}
	return false
}

// covers reports whether every path that fits q fits p.
func (p *pathPattern) covers(q *pathPattern) bool {
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
