package policy

import (
	"bytes"

	"github.com/headgate-dev/headgate/edge/request"
)

// again goes through the policies once more, with the path decoded, and joins the walks. A question
// of either is asked; a denial of either denies; a skip or a tier holds if both say so. Whole walks
// are joined, and not terms: so a "not" holding for only one path changes one walk. Questions a
// skip took back stay so: the other walk has the questions.
func (w *walk) again() {
	out, r := w.out, w.r
	first, tier, shadow := out.Verdict, out.Tier, out.Shadow
	if first == Skip {
		out.reset(w.e)
	} else {
		out.forget(w.e)
		out.Shadow, out.Tier = false, nil
	}
	sent, over := r.Path, out.over
	r.Path, w.second = r.Decoded, true
	w.whole()
	r.Path, w.second = sent, false
	if !bytes.Equal(tier, out.Tier) {
		tier = nil
	}
	shadow = shadow || out.Shadow
	// The skip has taken back the questions of the first walk as well.
	if out.Verdict == Skip && first != Skip {
		out.reset(w.e)
		w.whole()
	}
	out.Tier, out.Shadow = tier, shadow
	if out.over > 2*over { // the visitor's spelling asks too much, not the configuration
		r.Unfit = request.UnfitTarget
	}
}

// merge adds d to an equal question, and reports whether there is any. Different costs stay two
// questions: the second is judged after the first has counted.
func (w *walk) merge(s *step, rule *askedRule, key []byte, d demand) bool {
	out, shadow := w.out, s.traits&inShadow != 0
	for i := range out.N {
		same := &out.Questions[i]
		if same.Rule != rule.index || same.Cost != d.cost || same.Shadow != shadow ||
			!bytes.Equal(same.Key, key) ||
			(same.Later || d.do&later != 0) && !w.waitsAlike(same, s, d) {
			continue
		}
		same.Judges = same.Judges || d.do&judges != 0
		same.narrow(rule, d)
		same.Counts = same.Counts || d.do&counts != 0
		if d.do&later != 0 {
			same.Later, out.Later, same.Pending.Held = true, true, d.held
		}
		return true
	}
	return false
}

// narrow lowers the burst of q to that of a policy that asks rule and judges.
func (q *Question) narrow(rule *askedRule, d demand) {
	if rule.burst > 0 && d.do&judges != 0 && (q.Burst == 0 || rule.burst < q.Burst) {
		q.Burst = rule.burst
	}
}

// waitsAlike reports whether q and d are of the same policy, in two walks, and wait for the same of
// the response, or either for nothing. Two policies count by conditions of their own.
func (w *walk) waitsAlike(q *Question, s *step, d demand) bool {
	return w.second && q.Policy == int(s.policy) &&
		(q.Pending.Held == d.held || !q.Later || d.do&later == 0)
}
