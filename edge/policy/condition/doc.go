// Package condition holds the conditions of policies: tests of a request's fields, joined by all,
// any and not.
//
//	match: of headgate.yaml ──ParseValue, OneOf──► Expr ──Resolve──► Expr ──Holds──► bool
//	when: (a typed part of CEL) ──ParseWhen──────►   ▲               │
//	                                           All, Any, Not    Conjuncts, EachTest
//
// Both spellings become the same tree of tests, so they cost the same and one can be compared with
// the other: Spelling is equal for equal conditions, Covers says which of two is wider. Resolve
// looks up the numbers of headers and the sets a tree names; only then may it be evaluated.
//
// The grammar of when, in the notation of RFC 5234:
//
//	expr  = and *("||" and)
//	and   = not *("&&" not)
//	not   = ["!"] term
//	term  = "(" expr ")"
//	      / value ("==" / "!=" / "<" / "<=" / ">" / ">=") value
//	      / value "in" ("[" constants "]" / "sets." NAME)
//	      / string "in" ("header" / "query" / "cookie")
//	      / value "." ("startsWith" / "endsWith" / "contains" / "matches") "(" string ")"
//	value = method / host / path / client / country / asn / status / tier
//	      / header[string] / query[string] / cookie[string] / string / integer / bool
//
// The language is CEL (https://github.com/google/cel-spec) without arithmetic, loops and macros,
// and with types known when the file is read. One thing differs, on purpose. In CEL a header that
// is not there is an error. Here an absent field equals nothing and is in no set: its tests fail,
// and their negations hold.
//
// Holds is the meaning of a condition, evaluated test by test, and the oracle of edge/policy, which
// evaluates many conditions at once. Bounds: an expression has MaxWhen bytes, 64 brackets and
// negations nested, and regular expressions of MaxRegexp instructions; RE2 matches in time linear
// in the text, so no request can make a match slow.
package condition
