package explain_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/explain"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestALadderOfNetworksIsExplained: a client that its own limit lets pass is told of the networks
// that it is in, and that one of them denies it.
func TestALadderOfNetworksIsExplained(t *testing.T) {
	t.Parallel()
	own := mitigation.Rule{Name: "site", Limit: 2, Window: 10 * time.Second}
	near, far, others := own, own, own
	near.Name, near.Limit, near.Siblings = "site/24,56", 3, 2
	far.Name, far.Limit, far.Siblings = "site/16,48", 30, 2
	others.Name = "site2/8,32"
	g := gatetest.New(t, 1<<20, own, near, far, others)
	now := g.Now()
	for n := range 6 {
		client := fmt.Sprintf("203.0.113.%d", n%2)
		a := gatetest.Ask(gate.Check, near.Name, "203.0.113.0/24", 1)
		a.Parts = &gate.Parts{Narrower: []byte(client)}
		if _, err := g.Lane(0).Decide(now, 0, a); err != nil {
			t.Fatal(err)
		}
	}
	seen := func(rule, key string) string {
		v, ok := explain.Key(explain.Sources{Gate: g}, now, 0,
			explain.About{Rule: rule, Key: []byte(key)})
		if !ok {
			t.Fatalf("rule %s is not in force", rule)
		}
		text := ""
		for _, l := range v.Ladder {
			text += fmt.Sprintf("%s %s %s%s %v/%v %v/%v; ", l.Rule, l.Key, l.Verdict, l.Why, l.Used,
				l.Limit, l.Siblings.Asked, l.Siblings.Needed)
		}
		says := strings.Contains(strings.Join(v.Sentences, " "),
			"Whatever its own count, a request of it is denied: its network 203.0.113.0/24 is "+
				"over its limit under site/24,56 (3 of 3 used, at least 2 narrower keys asked).")
		return fmt.Sprintf("%s %t %s", v.Verdict, says, text)
	}
	const wide = "site/16,48 203.0.0.0/16 allow 0/30 0/2; "
	for _, c := range []struct{ rule, key, want string }{
		{"site", "203.0.113.9", "allow true site/24,56 203.0.113.0/24 denylimit 3/3 2/2; " + wide},
		{"site", "203.0.112.9", "allow false site/24,56 203.0.112.0/24 allow 0/3 0/2; " + wide},
		{"site", "2001:db8:1:2::/64", "allow false site/24,56 2001:db8:1::/56 allow 0/3 0/2; " +
			"site/16,48 2001:db8:1::/48 allow 0/30 0/2; "},
		{"site/24,56", "203.0.113.0/24", "deny false " + wide},
		{"site/16,48", "203.0.0.0/16", "allow false "},
		{"site", "tenant-1", "allow false "},
	} {
		if got := seen(c.rule, c.key); got != c.want {
			t.Errorf("%s %s:\n%q, want\n%q", c.rule, c.key, got, c.want)
		}
	}
}

// TestTheFateOfAnEpoch: for whom it is asked is denied exactly where the gate denies them, until
// the epoch ends.
func TestTheFateOfAnEpoch(t *testing.T) {
	t.Parallel()
	rule := mitigation.Rule{
		Name: "shed", Limit: 50, Window: time.Second, ShedBy: "client",
		Epoch: 10 * time.Second,
	}
	g := gate.New(gate.Options{
		Node: "test", Memory: 1 << 20, Flush: 100 * time.Millisecond,
		Start: time.Now(), Global: &gate.Global{}, Rules: []mitigation.Rule{rule},
	})
	shedBy("shed", mitigation.MaxRatio/2)(g)
	now := g.Now()
	denials := 0
	for n := range 200 {
		client := fmt.Sprintf("203.0.113.%d", n)
		v, _ := explain.Key(explain.Sources{Gate: g}, now, 0,
			explain.About{Rule: "shed", Key: []byte("k"), By: []byte(client)})
		d, err := g.Lane(0).Decide(now, 0, gate.Ask{
			Op: gate.Peek, Rule: []byte("shed"),
			Key: []byte("k"), Parts: &gate.Parts{ShedBy: []byte(client)},
		})
		if err != nil {
			t.Fatal(err)
		}
		s := v.ShedBy
		if s == nil || s.Denied == nil || *s.Denied != d.Deny || s.By != client ||
			s.Part != "client" || s.Epoch != 10 {
			t.Fatalf("%s: %+v, and the gate %+v", client, s, d)
		}
		if left := s.Ends.Sub(v.Now); left <= 0 || left > 10*time.Second ||
			s.Ends.Add(time.Millisecond).UnixNano()%int64(10*time.Second) > int64(
				2*time.Millisecond) {
			t.Fatalf("the epoch ends at %s, now is %s", s.Ends, v.Now)
		}
		want := map[bool]string{true: "are denied", false: "pass"}[d.Deny]
		if text := strings.Join(v.Sentences, " "); !strings.Contains(text,
			"Those of client "+client+" "+want+" for another ") {
			t.Fatalf("%s, denied %t: %s", client, d.Deny, text)
		}
		if d.Deny {
			denials++
		}
	}
	if denials < 70 || denials > 130 {
		t.Errorf("%d of 200 denied at a ratio of a half", denials)
	}
	v, _ := explain.Key(explain.Sources{Gate: g}, now, 0,
		explain.About{Rule: "shed", Key: []byte("k")})
	if v.ShedBy == nil || v.ShedBy.Denied != nil || v.ShedBy.By != "" {
		t.Errorf("nobody asked for: %+v", v.ShedBy)
	}
	v, _ = explain.Key(explain.Sources{Gate: g}, now, 0,
		explain.About{Rule: "shed", Key: []byte("calm"), By: []byte("203.0.113.7")})
	if v.ShedBy == nil || v.ShedBy.Denied != nil {
		t.Errorf("a key without a ratio: %+v", v.ShedBy)
	}
}
