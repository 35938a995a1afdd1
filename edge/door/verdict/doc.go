// Package verdict puts a decision into the units of the protocols, and the parts of answers that
// depend on the rule alone into text, for every door sending the RateLimit headers.
//
//	gate.Decision ──► Of ────────► Verdict: whole seconds, consistent numbers ─┐
//	mitigation.Rule ─► Texts.Of ─► Text: formatted once a rule ────────────────┴─► AppendRateLimit
//
// It allocates only when it first meets a rule.
package verdict
