//go:build soak && !race

package together

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	hg "github.com/headgate-dev/headgate/edge/client"
)

// The tests named TestBelow… send to real daemons the requests of clients that stay below their
// limit, evenly or at random, at any node, and compare each denial with the exact log of all nodes:
// a request that was within the limit must not be denied.

// belowLasts is how long each is asked: 35,000 requests.
const belowLasts = 100 * time.Second

// belowRules are the rules, of which the first blocks, and how many clients ask for each.
var belowRules = []struct {
	name    string
	limit   int
	window  time.Duration
	clients int
}{
	{"login", 5, time.Minute, 120},
	{"second", 5, 2 * time.Second, 30},
	{"few", 20, 10 * time.Second, 30},
	{"hundred", 100, 10 * time.Second, 25},
}

// belowConfig is those rules' configuration.
func belowConfig(scope string) string {
	var b strings.Builder
	b.WriteString("rules:\n")
	for _, r := range belowRules {
		fmt.Fprintf(&b, "  - {name: %s, limit: %d, window: %v, scope: %s", r.name,
			r.limit, r.window, scope)
		if r.name == "login" {
			b.WriteString(", action: block, block_for: 10m")
		}
		b.WriteString("}\n")
	}
	return b.String()
}

func TestBelowSoakPoP(t *testing.T) {
	for _, nodes := range []int{2, 3, 6} {
		t.Run(fmt.Sprintf("%dNodes", nodes), func(t *testing.T) {
			all := startNodes(t, nodes, systemtest.AddressesOf(startRingServers(t, 3)),
				belowConfig("pop"))
			joined(t, all, "few")
			askBelow(t, all)
		})
	}
}

func TestBelowSoakWorld(t *testing.T) {
	askBelow(t, startPoPs(t, worldPlan{rules: belowConfig("global"), nodes: 1}).nodes)
}

// modest is a client below its limit.
type modest struct {
	rule   int
	name   string
	share  float64
	random bool
	next   time.Time
	log    []time.Time // when admissions were answered, the latest that they can have been
}

// modestAsked counts the answers to the requests.
type modestAsked struct{ asked, refused, wrong, unanswered int }

// askBelow asks for all clients until the time is over.
func askBelow(t *testing.T, nodes []*systemtest.Node) {
	var clients []*hg.Client
	for _, n := range nodes {
		clients = append(clients, n.Client())
	}
	const workers = 8
	var sums [workers]modestAsked
	var busy sync.WaitGroup
	end := time.Now().Add(belowLasts)
	for w := range workers {
		busy.Go(func() { sums[w] = askModest(t, clients, w, workers, end) })
	}
	busy.Wait()
	var sum modestAsked
	for _, s := range sums {
		sum.asked, sum.refused = sum.asked+s.asked, sum.refused+s.refused
		sum.wrong, sum.unanswered = sum.wrong+s.wrong, sum.unanswered+s.unanswered
	}
	t.Logf("%d nodes: %d asked, %d refused at their limit, %d below it, %d not answered",
		len(nodes), sum.asked, sum.refused-sum.wrong, sum.wrong, sum.unanswered)
	if sum.wrong > 0 || sum.asked < 10_000 {
		t.Errorf("%+v", sum)
	}
}

// askModest asks for every workers-th client.
func askModest(
	t *testing.T, nodes []*hg.Client, worker, workers int, end time.Time,
) (sum modestAsked) {
	rng := rand.New(rand.NewPCG(uint64(worker), 5))
	var mine []*modest
	for r, rule := range belowRules {
		for n := range rule.clients {
			if (n+r)%workers == worker {
				c := &modest{
					rule: r, name: fmt.Sprintf("%s-%d", rule.name, n),
					share: []float64{0.8, 0.95}[n/2%2], random: n%2 == 1,
				}
				c.next = time.Now().Add(
					time.Duration(rng.Int64N(int64(rule.window) / int64(rule.limit))))
				mine = append(mine, c)
			}
		}
	}
	for {
		c := slices.MinFunc(mine, func(a, b *modest) int { return a.next.Compare(b.next) })
		if c.next.After(end) || t.Context().Err() != nil {
			return sum
		}
		if wait := time.Until(c.next); wait > 0 {
			systemtest.Hold(t, wait)
		}
		c.ask(t, nodes[rng.IntN(len(nodes))], &sum)
		mean := float64(belowRules[c.rule].window) / float64(belowRules[c.rule].limit) / c.share
		if c.random {
			mean *= rng.ExpFloat64()
		}
		c.next = c.next.Add(time.Duration(mean))
	}
}

// ask asks once, and judges the answer.
func (c *modest) ask(t *testing.T, node *hg.Client, sum *modestAsked) {
	rule, began := &belowRules[c.rule], time.Now()
	a, err := node.Check(t.Context(), rule.name, c.name, 1)
	sum.asked++
	c.log = slices.DeleteFunc(c.log,
		func(at time.Time) bool { return began.Sub(at) >= rule.window })
	switch {
	case err != nil:
		sum.unanswered++
		c.log = append(c.log, time.Now()) // it may have been admitted
	case a.Allowed():
		c.log = append(c.log, time.Now())
	default:
		sum.refused++
		if len(c.log)+1 <= rule.limit {
			sum.wrong++
			t.Errorf("%s at %v of %d: %v, retry %v", c.name, len(c.log), rule.limit, a.Why, a.Retry)
		}
		if c.rule == 0 { // it is blocked from now on, and rightly: another takes its place
			c.name, c.log = c.name+"+", nil
		}
	}
}
