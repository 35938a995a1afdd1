package edge

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
)

// exchange gives n the overrides of another member.
func (n *surgeNode) exchange(from *surgeNode) {
	n.Helper()
	from.gate.AppendOverrides(func(record []byte) bool {
		n.gate.MergeOverride(record)
		return true
	})
	select {
	case <-n.gate.PoliciesChanged():
		n.followPolicies()
	default:
	}
}

// TestSurgeOfAll: a policy for all members is in force at each, with its mode and end; undone at
// any of them it is gone at all, also at one that was away.
func TestSurgeOfAll(t *testing.T) {
	const others = "policies: [{name: x, match: {path: /x}, limit: 1, window: 1s}]\n"
	dir := t.TempDir()
	a := newSurgeNode(t, filepath.Join(dir, "a", "headgate.yaml"), applyFor)
	b := newSurgeNode(t, filepath.Join(dir, "b", "headgate.yaml"), "surge: {sample: 0}\n"+others)
	c := newSurgeNode(t, filepath.Join(dir, "c", "headgate.yaml"), applyFor+others)
	is := a.attack("x-a")
	in := func(when string, want bool, all ...*surgeNode) {
		t.Helper()
		for i, n := range all {
			if got := n.visit("x-a"); got.Deny != want {
				t.Fatalf("%s: member %d: %+v", when, i, got)
			}
		}
	}
	v, p := a.ApplySurge(api.SurgeApply{ID: is.ID, Mode: "enforce", All: true, By: "ann"})
	if p != nil || !v.Alone { // exchange takes the place of gossip
		t.Fatal(v, p)
	}
	b.exchange(a)
	in("not everywhere yet", false, c)
	c.exchange(b) // from whoever has it
	in("everywhere", true, a, b, c)
	if f := c.Surge().Findings; len(f) != 1 || f[0].ID != is.ID || f[0].Applied == nil ||
		!f[0].Applied.Until.Equal(v.Until) || f[0].Applied.By != "ann" || !f[0].Applied.All {
		t.Fatalf("%+v", f)
	}
	c.keepUsual()
	if p := b.UndoSurge(is.ID, "kim"); p != nil {
		t.Fatal(p)
	}
	in("undone at one", false, b)
	c = newSurgeNode(t, c.file, applyFor+others) // it comes back and does not know yet
	in("back", true, c)
	c.exchange(b)
	a.exchange(c)
	in("undone", false, a, b, c)
	a.exchange(b)
	if _, p := a.ApplySurge(api.SurgeApply{ID: is.ID, Mode: "shadow", All: true}); p != nil {
		t.Fatal(p)
	}
	c.exchange(a)
	if got := c.visit("x-a"); got.Deny || !got.Shadow {
		t.Errorf("again, in shadow: %+v", got)
	}
}

// TestHostilePolicies: a record of a member that is no policy of a finding changes nothing.
func TestHostilePolicies(t *testing.T) {
	n := newSurgeNode(t, filepath.Join(t.TempDir(), "headgate.yaml"), applyFor)
	other := newSurgeNode(t, filepath.Join(t.TempDir(), "headgate.yaml"), applyFor)
	for i, policy := range []string{
		`{}`, `x`, `{"Mode":"enforce"}`,
		`{"Mode":"off","Conditions":[{"Field":"path","Text":"/"}]}`,
		`{"Mode":"enforce","Conditions":[{"Field":"path","Text":""}]}`,
		`{"Mode":"enforce","Conditions":[{"Field":"path","Op":9,"Text":"/"}]}`,
		`{"Mode":"enforce","Conditions":[{"Field":"path","Op":3}]}`,
		`{"Mode":"enforce","Conditions":[{"Field":"path: /\n  skip","Text":"/"}]}`,
		`{"Mode":"enforce","Conditions":[{"Field":"header.a: b\n    path","Text":"/"}]}`,
		`{"Mode":"enforce","Conditions":[{"Field":"client","Text":"not"}]}`,
		`{"Mode":"enforce","Conditions":[{"Field":"asn","Text":"x"}]}`,
	} {
		if err := other.gate.ApplyPolicy(other.gate.Now(), fmt.Sprintf("surge-%06x", i),
			[]byte(policy), time.Now().Add(time.Hour), "eve"); err != nil {
			t.Fatal(err)
		}
	}
	good := `{"Mode":"enforce","Conditions":[{"Field":"path","Op":1,"Text":"/"}]}`
	if err := other.gate.ApplyPolicy(other.gate.Now(), "everything", []byte(good),
		time.Now().Add(time.Hour), "eve"); err != nil {
		t.Fatal(err)
	}
	n.exchange(other)
	if a := n.visit("x-a"); a.Deny || len(n.surges.applied) > 0 {
		t.Errorf("%+v, %+v", a, n.surges.applied)
	}
}
