package admin_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/override"
)

// peer is a node whose overrides other nodes receive.
type peer struct {
	*node
	published [][]byte
}

// newPeers returns n nodes, called "node-0" and so on, that receive each other's overrides once a
// test passes them on.
func newPeers(n int) (all []*peer) {
	for at := range n {
		k := &peer{}
		g := gate.New(gate.Options{
			Node: fmt.Sprintf("node-%d", at), Memory: 1 << 20,
			Flush: 100 * time.Millisecond, Start: time.Now(),
			Rules: []mitigation.Rule{gatetest.Shed, gatetest.Block, gatetest.Shadow, gatetest.Off},
			Global: &gate.Global{
				Publish: func(record []byte) { k.published = append(k.published, record) },
				Peers:   func() bool { return true },
			},
		})
		k.node = newNodeOf(g, admin.Options{Local: true})
		all = append(all, k)
	}
	return all
}

// receive hands k everything that from published, twice, and returns how much of it was news.
func (k *peer) receive(from *peer) (news int) {
	for range 2 {
		for _, record := range from.published {
			if k.gate.MergeOverride(record) {
				news++
			}
		}
	}
	return news
}

// overridesOf returns every override that g remembers, as its state has them.
func overridesOf(t *testing.T, g *gate.Gate) (all [][]byte) {
	t.Helper()
	if left := g.AppendOverrides(func(record []byte) bool {
		all = append(all, bytes.Clone(record))
		return true
	}); left != 0 {
		t.Errorf("%d overrides left out", left)
	}
	return all
}

// override gives the key k of rule shed a flag with this action, for ten minutes.
func (k *peer) override(t *testing.T, action string) {
	t.Helper()
	body := fmt.Sprintf(
		`{"rule":"shed","key":"k","action":%q,"ttl":"10m","reason":"why","by":"ann"}`,
		action,
	)
	if w := k.ask("POST", "/v1/mitigations", body); w.Code != http.StatusCreated {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
}

func (k *peer) check(rule, key string) gate.Decision {
	return gatetest.Decide(k.gate, k.gate.Now(), gate.Check, rule, key, 1)
}

// TestOverridesReachOthers checks that what is set and lifted by hand at one node holds at another
// as if it had been done there.
func TestOverridesReachOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nodes := newPeers(2)
		here, there := nodes[0], nodes[1]
		here.override(t, "block")
		if news := there.receive(here); news != 1 {
			t.Errorf("%d news of one word heard twice", news)
		}
		if a := there.check("shed", "k"); a.Why != mitigation.ByBlock ||
			a.Retry != 600*time.Second {
			t.Errorf("blocked elsewhere: %+v", a)
		}
		rows := askFor[api.MitigationsView](t, there.node, "/v1/mitigations").Mitigations
		if len(rows) != 1 || rows[0].Source != "manual:ann" || rows[0].Node != "node-0" ||
			rows[0].Reason != "why" {
			t.Errorf("shown there as %+v", rows)
		}
		if rows := askFor[api.MitigationsView](t, here.node,
			"/v1/mitigations").Mitigations; len(rows) != 1 || rows[0].Node != "" {
			t.Errorf("shown here as %+v", rows)
		}
		here.override(t, "allow")
		there.receive(here) // both overrides again, the block first
		for range 10 {
			if a := there.check("shed", "k"); a.Deny {
				t.Fatalf("allowed elsewhere: %+v", a)
			}
		}
		// a short override, received when it is over
		for _, rule := range []string{"shed", "block"} {
			here.put(t, rule, "short")
			there.receive(here)
			if _, err := here.gate.Override(here.gate.Now(),
				gate.ByHand{
					Rule: rule, Key: []byte("short"), Action: mitigation.Allow,
					TTL: time.Second,
				}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			there.receive(here)
			if a := there.check(rule, "short"); a.Deny {
				t.Errorf("%s: blocked by an override that another replaced: %+v", rule, a)
			}
		}
		time.Sleep(11 * time.Minute)
		for range 2 { // with the flags still in the table, and without
			if news := there.receive(here); news != 0 || len(flagsOf(there.gate)) != 0 {
				t.Error("an override that is over came back")
			}
			// every tenth turn clears out flags and overrides
			there.gate.Turn(10, there.gate.Now(), time.Now())
		}
	})
}

// TestLiftReachesOthers checks that a lift ends what other nodes flagged on their own, and forgets
// the counts behind it, also where this node has no flag; and that it does so once.
func TestLiftReachesOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nodes := newPeers(2)
		here, there := nodes[0], nodes[1]
		for _, rule := range []string{"shed", "block"} {
			there.refuse(rule, "k")
			if a := there.check(rule, "k"); !a.Deny {
				t.Fatalf("%s: %+v", rule, a)
			}
			if w := here.ask("DELETE", "/v1/mitigations?key=k&rule="+rule,
				""); w.Code != http.StatusNoContent {
				t.Fatalf("%s: status %d: %s", rule, w.Code, w.Body)
			}
			if news := there.receive(here); news != 1 {
				t.Errorf("%s: %d news", rule, news)
			}
			if a := there.check(rule, "k"); a.Deny || a.Remaining != 2 {
				t.Errorf("%s: lifted elsewhere: %+v", rule, a)
			}
			here.published = nil
		}
		there.refuse("block", "k")
		for _, record := range overridesOf(t, here.gate) {
			if there.gate.MergeOverride(record) {
				t.Errorf("news: %q", record)
			}
		}
		if a := there.check("block", "k"); a.Why != mitigation.ByBlock {
			t.Errorf("a lift took back what came after it: %+v", a)
		}
		alone := newNode(t, admin.Options{Local: true})
		checkProblem(t, alone.ask("DELETE", "/v1/mitigations?rule=shed&key=k", ""),
			http.StatusNotFound, "key")
		alone.refuse("shed", "k")
		if w := alone.ask("DELETE", "/v1/mitigations?rule=shed&key=k",
			""); w.Code != http.StatusNoContent {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
		if is := alone.gate.OverrideStats(); is.Held != 0 {
			t.Errorf("%d words of a lift that nobody heard", is.Held)
		}
	})
}

// TestOldLift checks that a lift heard late, as by a node that was away, lifts what was flagged
// before it and nothing that came after.
func TestOldLift(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nodes := newPeers(2)
		here, there := nodes[0], nodes[1]
		there.put(t, "shed", "before")
		time.Sleep(time.Minute)
		for _, key := range []string{"before", "after"} {
			here.ask("DELETE", "/v1/mitigations?rule=shed&key="+key, "")
		}
		time.Sleep(time.Minute)
		there.put(t, "shed", "newer word")
		there.refuse("block", "after")
		there.refuse("shed", "after")
		time.Sleep(2 * time.Minute)
		there.refuse("shed", "after")
		if news := there.receive(here); news != 2 {
			t.Errorf("%d news", news)
		}
		if a := there.check("shed", "before"); a.Deny {
			t.Errorf("lifted before it was heard: %+v", a)
		}
		if a := there.check("shed", "after"); !a.Deny {
			t.Errorf("flagged since: %+v", a)
		}
		if a := there.check("shed", "newer word"); !a.Deny {
			t.Errorf("another key: %+v", a)
		}
	})
}

// TestOverridesOfUnknownRules checks that an override waits for its rule, and that a reload that
// takes a rule away does not forget what was said of it.
func TestOverridesOfUnknownRules(t *testing.T) {
	t.Parallel()
	nodes := newPeers(2)
	here, there := nodes[0], nodes[1]
	there.gate.SetRules([]mitigation.Rule{gatetest.Off})
	here.put(t, "shed", "k")
	if news := there.receive(here); news != 1 {
		t.Errorf("%d news", news)
	}
	for range 2 {
		there.gate.SetRules([]mitigation.Rule{gatetest.Shed})
		if a := there.check("shed", "k"); a.Why != mitigation.ByBlock {
			t.Errorf("with the rule: %+v", a)
		}
		there.gate.SetRules([]mitigation.Rule{gatetest.Off})
		if live := flagsOf(there.gate); len(live) != 0 {
			t.Errorf("without the rule: %+v", live)
		}
	}
}

// TestMergeOverrideRefuses checks that a record which cannot be read changes nothing, and one from
// the future neither.
func TestMergeOverrideRefuses(t *testing.T) {
	t.Parallel()
	nodes := newPeers(2)
	here, there := nodes[0], nodes[1]
	here.put(t, "shed", "a")
	here.put(t, "shed", "b")
	early := override.Override{
		Rule: "shed", Key: []byte("early"), Verb: override.Block, Node: "x",
		Issued: time.Now().Add(time.Hour).UnixMilli(),
	}
	early.Until = early.Issued + 5000
	early.Keep = early.Until
	refused := [][]byte{override.Append(nil, &early), []byte("nonsense")}
	for _, record := range overridesOf(t, here.gate) {
		for n := range record {
			refused = append(refused, record[:n])
		}
	}
	for _, record := range refused {
		if there.gate.MergeOverride(record) || len(flagsOf(there.gate)) != 0 {
			t.Fatalf("%q is news", record)
		}
	}
	if bad := there.gate.OverrideStats().Bad; bad < uint64(len(refused)-1) {
		t.Errorf("%d of %d are counted as bad", bad, len(refused))
	}
	if there.receive(here); len(flagsOf(there.gate)) != 2 ||
		!slices.EqualFunc(overridesOf(t, here.gate), overridesOf(t, there.gate), bytes.Equal) {
		t.Error("two nodes that heard the same hold different words")
	}
}
