package gate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate/observer"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

type windowInstant = window.Instant // where window is a rule

// pastGate is a gate in virtual time beside the exact costs of its keys, by minute.
type pastGate struct {
	*testing.T
	*Gate
	at, began       windowInstant
	turns           int
	every           time.Duration // between two turns
	offered, denied map[int64]map[string]uint64
	totals          map[int64]uint64
	chance          *rand.Rand
}

func newPastGate(t *testing.T, bytes, past int64, rules ...mitigation.Rule) *pastGate {
	start := time.Date(2026, 3, 4, 14, 0, 20, 0, time.UTC)
	g := New(Options{Memory: bytes, Past: past, Rules: rules, Start: start, Flush: time.Second})
	at := window.Instant(start.UnixNano())
	return &pastGate{
		T: t, Gate: g, every: sweepEvery, at: at, began: at, offered: map[int64]map[string]uint64{},
		denied: map[int64]map[string]uint64{}, totals: map[int64]uint64{},
		chance: rand.New(rand.NewPCG(1, 2)),
	}
}

// pass lets time pass, with the turns of Run.
func (g *pastGate) pass(d time.Duration) {
	for end := g.at.Add(d); g.at < end; {
		g.at = min(g.at-g.at%window.Instant(g.every)+window.Instant(g.every), end)
		if g.at%window.Instant(g.every) == 0 {
			g.turns++
			g.Turn(g.turns, g.at, g.at.Time())
		}
	}
}

// ask asks once, and notes the truth.
func (g *pastGate) ask(rule, key string, cost uint32) Decision {
	d, err := g.Lane(0).Decide(g.at, g.chance.Uint64(),
		Ask{Rule: []byte(rule), Key: []byte(key), Cost: cost})
	if err != nil {
		g.Fatal(err)
	}
	n := int64(g.at) / int64(time.Minute)
	note := func(to map[int64]map[string]uint64) {
		if to[n] == nil {
			to[n] = map[string]uint64{}
		}
		to[n][rule+" "+key] += uint64(max(cost, 1))
	}
	note(g.offered)
	g.totals[n] += uint64(max(cost, 1))
	if d.Deny {
		note(g.denied)
	}
	return d
}

// past returns the steps and denials of a key from a time on.
func (g *pastGate) past(rule, key string, from windowInstant) Past {
	p, _ := g.Past(PastAsked{From: from, To: math.MaxInt64, Now: g.at}, rule, []byte(key))
	return p
}

// truth returns what the key was offered, or denied, in a step.
func truth(
	of map[int64]map[string]uint64,
	s window.Instant,
	each time.Duration,
	key string,
) (n uint64) {
	for m := int64(s) / int64(time.Minute); m < int64(s.Add(each))/int64(time.Minute); m++ {
		n += of[m][key]
	}
	return n
}

// always says that all steps are complete.
func always(observer.Step) bool { return true }

// never says that no step is complete.
func never(observer.Step) bool { return false }

// check holds all steps of the key to the truth, and returns the greatest errors, as shares of the
// cost of a step: of a minute of the last five, of an older, and of a quarter.
func (g *pastGate) check(
	rule, key string,
	complete func(observer.Step) bool,
) (errs [3]float64, beyond int) {
	p := g.past(rule, key, 0)
	for n, s := range p.Steps {
		what := fmt.Sprintf("%s of %s at %s", rule, key, s.From.Time().UTC().Format(time.TimeOnly))
		name := rule + " " + key
		offered, denied := truth(
			g.offered,
			s.From,
			s.Each,
			name,
		), truth(
			g.denied,
			s.From,
			s.Each,
			name,
		)
		if offered < s.Offered.Least || !s.Incomplete && offered > s.Offered.Most {
			g.Errorf("%s: %d offered, not %+v", what, offered, s)
		}
		if denied < s.Denied.Least || !s.Dropped && denied > s.Denied.Most {
			g.Errorf("%s: %d denied, not %+v", what, denied, s)
		}
		if complete != nil && s.Incomplete == complete(s) {
			g.Errorf("%s: incomplete %v", what, s.Incomplete)
		}
		if s.Open != (n == len(p.Steps)-1) {
			g.Errorf("%s: open %v", what, s.Open)
		}
		if s.Incomplete || s.Open {
			continue
		}
		total := uint64(0)
		for m := range int64(s.Each / time.Minute) {
			total += g.totals[int64(s.From)/int64(time.Minute)+m]
		}
		if s.Total != total {
			g.Errorf("%s: %d in all, not %d", what, s.Total, total)
		}
		kind := 0
		if s.Each > time.Minute {
			kind = 2
		} else if len(p.Steps)-1-n >= 5 {
			kind = 1
		}
		errs[kind] = max(errs[kind], float64(s.Offered.Most-offered)/float64(max(total, 1)))
		if float64(s.Offered.Most-offered) > s.Error+1 {
			beyond++
		}
	}
	return errs, beyond
}

// TestPastDenials: the list has each denial of the key with its reason and policy, those of a
// second together, and those of the steps alone. A flood of denied keys makes the bound unknown,
// and takes no more than the ring.
func TestPastDenials(t *testing.T) {
	edgetest.Alone(t)
	g := newPastGate(t, 16<<20, 1<<20,
		mitigation.Rule{Name: "r", Limit: 3, Window: 10 * time.Second},
		mitigation.Rule{
			Name: "b", Limit: 3, Window: 10 * time.Second, Action: mitigation.Block,
			BlockFor: 2 * time.Minute,
		})
	policy := "login"
	ask := func(lane int, rule string, times int) {
		for range times {
			_, _ = g.Lane(lane).Decide(g.at, 1,
				Ask{Rule: []byte(rule), Key: []byte("k"), Policy: &policy})
		}
	}
	g.pass(time.Second)
	ask(0, "r", 5)
	ask(1, "r", 2)
	g.ask("r", "k", 2)
	g.pass(time.Minute)
	ask(0, "b", 7)
	g.pass(10 * time.Second)
	ask(0, "b", 1)
	all := func(rule string, from windowInstant) (lines []string) {
		p := g.past(rule, "k", from)
		for _, d := range p.Denials {
			lines = append(
				lines,
				fmt.Sprintf("%s %s %s %d", d.At.Time().UTC().Format(time.TimeOnly),
					d.Why, d.Policy, d.Times),
			)
		}
		for _, s := range p.Steps {
			if s.Denied.Least > 0 {
				lines = append(lines, fmt.Sprintf(
					"%s %d to %d, %t",
					s.From.Time().
						UTC().
						Format(time.TimeOnly),
					s.Denied.Least,
					s.Denied.Most,
					s.Dropped,
				))
			}
		}
		return lines
	}
	same := func(when string, got, want []string) {
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	r, b := []string{"14:00:21 limit  1", "14:00:21 limit login 4", "14:00:00 6 to 6, false"},
		[]string{"14:01:31 block login 1", "14:01:21 block login 3", "14:01:21 limit login 1"}
	b = append(b, "14:01:00 5 to 5, false")
	same("r", all("r", 0), r)
	same("b", all("b", 0), b)
	same("r, later steps", all("r", g.at), nil)
	g.pass(time.Minute)
	same("r, read from the counts", all("r", 0), r)

	for second := range 30 {
		for n := range 1000 {
			for range 4 {
				_, _ = g.Lane(2).Decide(g.at, 1,
					Ask{Rule: []byte("r"), Key: fmt.Appendf(nil, "%d-%d", second, n)})
			}
			g.pass(time.Millisecond)
		}
	}
	if dropped := g.denials.Dropped(); dropped != 0 {
		t.Errorf("%d denials left no record, at 1,000 a second", dropped)
	}
	for n := range 1000 {
		for range 4 {
			_, _ = g.Lane(2).
				Decide(g.at, 1, Ask{Rule: []byte("r"), Key: fmt.Appendf(nil, "at once %d", n)})
		}
	}
	if dropped := g.denials.Dropped(); dropped != 1000-newDenials {
		t.Errorf("%d denials left no record, at once", dropped)
	}
	g.pass(time.Second)
	p := g.past("r", "k", g.at)
	if !p.Steps[0].Dropped {
		t.Error("denials were dropped, and the bound is said to hold")
	}
	same("r, from the counts alone", all("r", 0), r[2:])
}

// TestPastOfDeniedCrowd: 100 keys that are denied in turn have a record each, not each time.
func TestPastOfDeniedCrowd(t *testing.T) {
	g := newPastGate(t, 16<<20, 1<<20, mitigation.Rule{Name: "r", Limit: 1, Window: time.Minute})
	for times := range 20 {
		for n := range 100 {
			g.ask("r", fmt.Sprint("key-", n), 1)
			if times < 2 && n%50 == 0 || n == 0 {
				g.pass(10 * time.Millisecond)
			}
		}
	}
	policies := [2]string{"a", "b"}
	for n := range 4 * newDenials { // of a key for two policies in turn
		_, _ = g.Lane(0).Decide(g.at, 1,
			Ask{Rule: []byte("r"), Key: []byte("key-100"), Policy: &policies[n%2]})
	}
	if dropped := g.denials.Dropped(); dropped > 0 {
		t.Errorf("%d denials left no record", dropped)
	}
	for n := range 100 {
		g.check("r", fmt.Sprint("key-", n), always)
	}
}

// TestPastOfManyRules: a step keeps the lost cost of 64 rules apart, and bounds hold for all.
func TestPastOfManyRules(t *testing.T) {
	edgetest.Alone(t)
	rules := make([]mitigation.Rule, 100)
	for n := range rules {
		rules[n] = mitigation.Rule{
			Name: fmt.Sprint("r", n), Limit: 640, Window: 10 * time.Second,
		}
	}
	g := newPastGate(t, 1<<20, 1<<20, rules...)
	for second := range 50 {
		for n := range 3000 {
			g.ask(rules[n%100].Name, fmt.Sprint("key-", second%10, "-", n), 1)
		}
		g.pass(time.Second)
	}
	for n := range 3000 {
		g.check(rules[n%100].Name, fmt.Sprint("key-3-", n), nil)
	}
}

// TestPastOfSharedRule: under a rule that other nodes count too, the denials are known.
func TestPastOfSharedRule(t *testing.T) {
	r := mitigation.Rule{
		Name: "r", Limit: 3, Window: 10 * time.Second, Scope: mitigation.PoP,
	}
	g := newPastGate(t, 1<<20, 0)
	g.Gate = New(Options{
		Memory: 16 << 20, Past: 1 << 20, Rules: []mitigation.Rule{r}, Start: g.at.Time(),
		Flush: time.Second, Servers: 1,
	})
	for range 5 {
		g.ask("r", "k", 1)
	}
	g.pass(time.Second)
	g.check("r", "k", never)
	p := g.past("r", "k", 0)
	if d := p.Steps[0].Denied; d.Least != 2 || d.Most != 2 {
		t.Errorf("%+v", p.Steps[0])
	}
}

// TestPastBeside: the past is written, read and asked for at the same time.
func TestPastBeside(t *testing.T) {
	g := newPastGate(t, 16<<20, 1<<20, mitigation.Rule{Name: "r", Limit: 3, Window: time.Second})
	var all sync.WaitGroup
	for lane := range 4 {
		all.Go(func() {
			for n := range 3000 {
				_, _ = g.Lane(lane/2).Decide(g.Now(), uint64(n),
					Ask{Rule: []byte("r"), Key: []byte{byte(n % 5)}})
			}
		})
	}
	for turn := range 50 {
		g.Turn(turn, g.Now(), time.Now())
		_, _ = g.Past(PastAsked{Now: g.Now(), To: g.Now()}, "r", []byte{1})
	}
	all.Wait()
	sum := 0
	for key := range byte(5) {
		p, _ := g.Past(PastAsked{Now: g.Now(), To: g.Now()}, "r", []byte{key})
		for _, s := range p.Steps {
			sum += int(s.Denied.Least)
		}
	}
	if figures := g.Figures()[0].Totals; sum != int(figures.Refused()) {
		t.Errorf("%d denied, not %d", sum, figures.Refused())
	}
}

// newDenials is the most records of denials that a lane makes at once.
const newDenials = 64
