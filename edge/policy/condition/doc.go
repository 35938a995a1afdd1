// Package condition holds the conditions of policies: tests of a request's fields, joined by all, any
// and not.
//
//	match: of headgate.yaml ──ParseField, ParseValue, OneOf──► Expr ──Resolve──► Expr ──Holds──► bool
//	when: (a typed part of CEL) ──ParseWhen──────────────────►   ▲               │
//	                                                       All, Any, Not    Conjuncts, EachTest
//
// Both spellings become the same tree of tests, so that they cost the same and one can be compared
// with the other: Spelling is equal for equal conditions, Covers says which of two is wider. Resolve
// looks up the numbers of headers and the sets that a tree names; only then may it be evaluated.
//
// An absent field equals nothing and is in no set: its tests fail, and their negations hold. Holds is
// the meaning of a condition, evaluated test by test; edge/policy evaluates many at once.
package condition
