package gossip

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDifferences(t *testing.T) {
	own := Meta{PoP: "lhr", Ring: "r1", Rules: "d1", Wire: 1}
	for _, c := range []struct {
		what              string
		other             Meta
		ring, rules, wire bool
	}{
		{"same", own, false, false, false},
		{"other ring", Meta{PoP: "lhr", Ring: "r2", Rules: "d1", Wire: 1}, true, false, false},
		{"no ring where we have one", Meta{PoP: "lhr", Rules: "d1", Wire: 1}, true, false, false},
		{
			"other ring in another PoP",
			Meta{PoP: "ams", Ring: "r2", Rules: "d1", Wire: 1},
			false, false, false,
		},
		{"other rules", Meta{PoP: "ams", Rules: "d2", Wire: 1}, false, true, false},
		{"other version", Meta{PoP: "ams", Rules: "d1", Wire: 2}, false, false, true},
		{"says nothing", Meta{PoP: "ams"}, false, false, false},
	} {
		if ring, rules, wire := differences(own, c.other); ring != c.ring ||
			rules != c.rules || wire != c.wire {
			t.Errorf("%s: ring %v, rules %v, wire %v", c.what, ring, rules, wire)
		}
	}
}

// A difference of a moment, during a rollout, is not logged; a lasting one is, once.
func TestAlarmsWaitAndReportOnce(t *testing.T) {
	own := Meta{PoP: "lhr", Rules: "d1"}
	others := []Member{
		{Name: "self", Meta: Meta{PoP: "lhr", Rules: "another"}},
		{Name: "same", Meta: own},
		{Name: "other", Meta: Meta{PoP: "lhr", Rules: "d2"}},
		{Name: "dead", Meta: Meta{PoP: "lhr", Rules: "d2"}, State: Dead},
	}
	a, now := newAlarms(), time.Unix(1000, 0)
	at := func(after time.Duration, list []Member) []difference {
		return a.check(now.Add(after), own, "self", list)
	}
	if due := at(0, others); len(due) != 0 {
		t.Errorf("at once: %v", due)
	}
	if due := at(alarmAfter, others); !slices.Equal(due, []difference{{"other", "rules"}}) {
		t.Errorf("after %v: %v", alarmAfter, due)
	}
	if due := at(2*alarmAfter, others); len(due) != 0 {
		t.Errorf("said again: %v", due)
	}
	if due := at(3*alarmAfter, others[:2]); len(due) != 0 || len(a.since)+len(a.reported) != 0 {
		t.Errorf("remembered of who is gone: %v, %v", due, a)
	}
	if due := at(4*alarmAfter, others); len(due) != 0 {
		t.Errorf("when it begins again: %v", due)
	}
}

func TestMismatchesInACluster(t *testing.T) {
	var l lines
	simulate(t, 3, 17, func(t *testing.T, c *cluster) {
		odd := c.add(t, 3, func(cfg *Config) {
			cfg.Log = newLogger(&l)
			cfg.Meta = Meta{PoP: "pop1", Ring: "another", Rules: "old", Wire: 1}
		})
		c.within(t, 10*time.Second, "everybody is there", c.whole)
		for _, s := range c.nodes[:3] {
			if err := s.SetMeta(Meta{
				PoP: s.cfg.Meta.PoP, Ring: "ring", Rules: "new",
				Wire: 2,
			}); err != nil {
				t.Fatal(err)
			}
		}
		want := Mismatches{Ring: 1, Rules: 3, Wire: 3}
		c.within(t, 10*time.Second, "the odd one counts them",
			func() bool { return odd.Stats().Mismatches == want })
		if got := c.nodes[0].Stats().Mismatches; got != (Mismatches{Rules: 1, Wire: 1}) {
			t.Errorf("a node of the other PoP counts %+v", got)
		}
		pass(alarmAfter + 2*alarmEvery)
		for text, most := range map[string]int{
			"other ring servers": 1, "other rules": 3,
			"another version": 3,
		} {
			if got := l.with(text); got < 1 || got > most {
				t.Errorf("%d lines with %q, want 1 to %d", got, text, most)
			}
		}
		odd.stop()
		if got := c.nodes[0].Stats().Mismatches; got != (Mismatches{}) {
			t.Errorf("when the odd one is gone %+v are left", got)
		}
	})
}

func (l *lines) with(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.list {
		if strings.Contains(r.Message, text) {
			n++
		}
	}
	return n
}
