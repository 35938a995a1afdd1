package edge

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// talker is a node that others hear.
type talker struct {
	*Admin
	said [][]byte
}

// newTalkers returns n nodes that hear each other's words once they are passed on.
func newTalkers(t *testing.T, n int) (all []*talker) {
	for at := range n {
		k := &talker{Admin: newTestAdmin(t, AdminOptions{Local: true})}
		k.edge.node = fmt.Sprintf("node-%d", at)
		k.edge.OnWord(func(record []byte) { k.said = append(k.said, record) }, func() bool { return true })
		all = append(all, k)
	}
	return all
}

// hear has k hear everything that from said, twice, and returns how much of it was news.
func (k *talker) hear(from *talker) (news int) {
	for range 2 {
		for _, record := range from.said {
			if k.edge.HearWord(record) {
				news++
			}
		}
	}
	return news
}

func (k *talker) check(rule, key string) wire.Answer {
	return k.edge.askAt(k.edge.Now(), wire.Check, rule, key, 1)
}

// TestWordsReachOthers checks that what is set and lifted by hand at one node holds at another as if it had
// been done there.
func TestWordsReachOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nodes := newTalkers(t, 2)
		here, there := nodes[0], nodes[1]
		post := func(action string) {
			body := fmt.Sprintf(`{"rule":"shed","key":"k","action":%q,"ttl":"10m","reason":"why","by":"ann"}`, action)
			if w := here.ask("POST", "/v1/mitigations", body); w.Code != http.StatusCreated {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
		}
		post("block")
		if news := there.hear(here); news != 1 {
			t.Errorf("%d news of one word heard twice", news)
		}
		if a := there.check("shed", "k"); a.Why != wire.WhyBlock || a.Retry != 600 {
			t.Errorf("blocked elsewhere: %+v", a)
		}
		rows := askFor[MitigationsView](t, there.Admin, "/v1/mitigations").Mitigations
		if len(rows) != 1 || rows[0].Source != "manual:ann" || rows[0].Node != "node-0" || rows[0].Reason != "why" {
			t.Errorf("shown there as %+v", rows)
		}
		if rows := askFor[MitigationsView](t, here.Admin, "/v1/mitigations").Mitigations; len(rows) != 1 || rows[0].Node != "" {
			t.Errorf("shown here as %+v", rows)
		}
		post("allow")
		there.hear(here) // both words again, the block first
		for range 10 {
			if a := there.check("shed", "k"); a.Status != wire.Allow {
				t.Fatalf("allowed elsewhere: %+v", a)
			}
		}
		for _, rule := range []string{"shed", "block"} { // a short word, heard when it is over
			here.put(t, rule, "short")
			there.hear(here)
			if _, err := here.edge.setByHand(here.edge.Now(), handFlag{rule: rule, key: []byte("short"), action: mitigation.Allow, ttl: time.Second}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			there.hear(here)
			if a := there.check(rule, "short"); a.Status != wire.Allow {
				t.Errorf("%s: blocked by a word that another took the place of: %+v", rule, a)
			}
		}
		there.edge.flags.Sweep(there.edge.Now().Add(11*time.Minute), func(*mitigation.Flag) bool { return true })
		time.Sleep(11 * time.Minute)
		if news := there.hear(here); news != 0 || len(there.edge.flags.Live(there.edge.Now())) != 0 {
			t.Error("a word that is over came back")
		}
	})
}

// TestLiftReachesOthers checks that a lift ends what other nodes flagged on their own, and forgets the counts
// behind it, also where this node has no flag; and that it does so once.
func TestLiftReachesOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nodes := newTalkers(t, 2)
		here, there := nodes[0], nodes[1]
		for _, rule := range []string{"shed", "block"} {
			there.refuse(rule, "k")
			if a := there.check(rule, "k"); a.Status != wire.Deny {
				t.Fatalf("%s: %+v", rule, a)
			}
			if w := here.ask("DELETE", "/v1/mitigations?key=k&rule="+rule, ""); w.Code != http.StatusNoContent {
				t.Fatalf("%s: status %d: %s", rule, w.Code, w.Body)
			}
			if news := there.hear(here); news != 1 {
				t.Errorf("%s: %d news", rule, news)
			}
			if a := there.check(rule, "k"); a.Status != wire.Allow || a.Remaining != 2 {
				t.Errorf("%s: lifted elsewhere: %+v", rule, a)
			}
			here.said = nil
		}
		there.refuse("block", "k")
		state := here.edge.Words()
		if news, err := there.edge.MergeWords(state); news != 0 || err != nil {
			t.Errorf("%d news, %v", news, err)
		}
		if a := there.check("block", "k"); a.Why != wire.WhyBlock {
			t.Errorf("a lift took back what came after it: %+v", a)
		}
		alone := newTestAdmin(t, AdminOptions{Local: true})
		checkAdminProblem(t, alone.ask("DELETE", "/v1/mitigations?rule=shed&key=k", ""), http.StatusNotFound, "key")
		alone.refuse("shed", "k")
		if w := alone.ask("DELETE", "/v1/mitigations?rule=shed&key=k", ""); w.Code != http.StatusNoContent {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
		if is := alone.edge.words.Stats(); is.Held != 0 {
			t.Errorf("%d words of a lift that nobody heard", is.Held)
		}
	})
}

// TestOldLift checks that a lift heard late, as by a node that was away, lifts what was flagged before it and
// nothing that came after.
func TestOldLift(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nodes := newTalkers(t, 2)
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
		if news := there.hear(here); news != 2 {
			t.Errorf("%d news", news)
		}
		if a := there.check("shed", "before"); a.Status != wire.Allow {
			t.Errorf("lifted before it was heard: %+v", a)
		}
		if a := there.check("shed", "after"); a.Status != wire.Deny {
			t.Errorf("flagged since: %+v", a)
		}
		if a := there.check("shed", "newer word"); a.Status != wire.Deny {
			t.Errorf("another key: %+v", a)
		}
	})
}

// TestWordsOfUnknownRules checks that a word waits for its rule, and that a reload that takes a rule away does
// not forget what was said of it.
func TestWordsOfUnknownRules(t *testing.T) {
	t.Parallel()
	nodes := newTalkers(t, 2)
	here, there := nodes[0], nodes[1]
	there.edge.setRules([]mitigation.Rule{offRule})
	here.put(t, "shed", "k")
	if news := there.hear(here); news != 1 {
		t.Errorf("%d news", news)
	}
	for range 2 {
		there.edge.setRules([]mitigation.Rule{shedRule})
		if a := there.check("shed", "k"); a.Why != wire.WhyBlock {
			t.Errorf("with the rule: %+v", a)
		}
		there.edge.setRules([]mitigation.Rule{offRule})
		if live := there.edge.flags.Live(there.edge.Now()); len(live) != 0 {
			t.Errorf("without the rule: %+v", live)
		}
	}
}

// TestMergeWordsRefuses checks that a state which cannot be read changes nothing, and one from the future
// neither, while what is good in it is taken.
func TestMergeWordsRefuses(t *testing.T) {
	t.Parallel()
	nodes := newTalkers(t, 2)
	here, there := nodes[0], nodes[1]
	here.put(t, "shed", "a")
	here.put(t, "shed", "b")
	state := here.edge.Words()
	for n := 2; n < len(state)-1; n++ {
		news, err := there.edge.MergeWords(state[:n])
		if whole := 2 + int(state[1]); n == whole {
			continue // one word and not the other
		}
		if err == nil || news != 0 {
			t.Fatalf("cut at %d of %d: %d news, %v", n, len(state), news, err)
		}
	}
	early := mitigation.Word{Rule: "shed", Key: []byte("early"), Says: mitigation.SaysBlock, Node: "x", Issued: time.Now().Add(time.Hour).UnixMilli()}
	early.Until = early.Issued + 5000
	early.Keep = early.Until
	all, err := mitigation.ParseWords(state)
	if err != nil {
		t.Fatal(err)
	}
	_, err = there.edge.MergeWords(mitigation.AppendWords(nil, append([]mitigation.Word{early}, all...)))
	if err == nil || len(there.edge.flags.Live(there.edge.Now())) != 2 {
		t.Errorf("%v, flags %v", err, there.edge.flags.Live(there.edge.Now()))
	}
	if there.edge.HearWord([]byte("nonsense")) || there.edge.words.Stats().Bad == 0 {
		t.Error("nonsense was news, or was not counted")
	}
	if !bytes.Equal(here.edge.Words(), there.edge.Words()) {
		t.Error("two nodes that heard the same hold different words")
	}
}
