// Package explain puts the state of a key under a rule into words: the verdict on its next request,
// the count or flag behind it, and the way to change it. It reads, and counts nothing.
//
//	gate.Inspect ─► Inspection ─┬─► api.ExplainView: counts, flag, verdict
//	Sources.Ring ─► pop.Stats ──┤
//	Sources.Standing ─► global ─┴─► explanation ─┬─► Lifts, a line: the shortest way to pass
//	                                             └─► Sentences: verdict, ground, lost view, change
//
// The words mean the same everywhere:
//
//   - A view is the scope whose counts the verdict rests on: this node, the PoP or all PoPs. It is
//     lost when it has been narrower than the rule's scope for long enough for the rule's
//     failure mode to act.
//   - A key is drawn for when a flag with a ratio sheds it: each request is refused with that
//     probability.
//   - A flag is lifted when it is removed before it ends. Unless it allowed the key, that also
//     forgets the key's count on this node.
//
// For a key at its limit under a rule that sheds, the sentences are:
//
//	A request with this key would be denied now.
//	By this node's exact count it used 3 of the limit of 3 in 10s, and asked for 5.
//	There is room again in 9s, when the oldest of the 3 admitted leaves the window; …
//
// Key answers GET /v1/explain, and Flag every list of mitigations. The texts are part of the admin
// listener's contract: testdata/*.golden holds them.
package explain
