//go:build !race

package together

import (
	"syscall"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/api"
	hg "github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/wire"
)

// The rules of the tests of faults: clients keep to 0.8 of the first three.
const faultRules = `rules:
  - {name: calm, limit: 100, window: 10s, scope: pop}
  - {name: brisk, limit: 25, window: 1s, scope: pop}
  - {name: strict, limit: 20, window: 10s, scope: pop, action: block, block_for: 1m}
  - {name: shut, limit: 3, window: 1m, scope: pop, failure_mode: deny}
  - {name: wide, limit: 3, window: 1m, scope: pop, failure_mode: allow}
`

// lab is a PoP under load whose servers a test makes fail.
type lab struct {
	*systemtest.Load
	servers []*systemtest.Memcached
	flood   *systemtest.Stream
	honest  []*systemtest.Stream // clients that keep to 0.8 of their limit
}

// openLab starts everything, and loads it until it counts as one.
func openLab(t testing.TB, servers []*systemtest.Memcached, addresses []string) *lab {
	t.Helper()
	nodes := startNodes(t, 4, addresses, faultRules)
	l := &lab{servers: servers, honest: []*systemtest.Stream{
		{Name: "calm", Rule: "calm", Keys: 18, Rate: 8},
		{Name: "brisk", Rule: "brisk", Keys: 24, Rate: 20},
		{Name: "strict", Rule: "strict", Keys: 24, Rate: 1.6},
	}, flood: &systemtest.Stream{Name: "flood", Rule: "brisk", Keys: 4, Rate: 125}}
	l.Load = systemtest.StartLoad(t, nodes, append(l.honest, l.flood)...)
	return l
}

// check fails the test if a client that kept to its limit was refused, or anybody was not answered.
func (l *lab) check(when string) {
	l.Helper()
	l.Say(when)
	for _, s := range l.Streams {
		got := s.Total()
		if s != l.flood && got.Refused > 0 {
			l.Errorf("%s: %s: %d refused under the limit", when, s.Name, got.Refused)
		}
		if got.Unanswered > 0 {
			l.Errorf("%s: %s: %d unanswered", when, s.Name, got.Unanswered)
		}
	}
}

// refused returns how many requests of clients that keep to their limits were refused so far.
func (l *lab) refused() (sum int) {
	for _, s := range l.honest {
		sum += s.Total().Refused
	}
	return sum
}

// awaitViews waits until is holds for the numbers of a stream's keys with either view.
func (l *lab) awaitViews(what string, most time.Duration, is func(alone, pop int) bool) {
	l.Helper()
	took := edgetest.Await(l, what, most, func() bool { return is(l.Views(l.honest[1])) })
	l.Logf("%s: after %v", what, took.Round(time.Millisecond))
}

// The promises about the view.
const (
	lostWithin      = time.Second
	recoveredWithin = 2 * time.Second
)

func (l *lab) awaitLost(what string) {
	l.Helper()
	l.awaitViews(what+": some keys have view=node", lostWithin,
		func(alone, pop int) bool { return alone > 0 && pop > 0 })
}

func (l *lab) awaitRecovered(what string) {
	l.Helper()
	l.awaitViews(what+": all keys have view=pop", recoveredWithin,
		func(alone, _ int) bool { return alone == 0 })
}

// awaitCalm waits until the PoP counts as one and the load has gone round.
func (l *lab) awaitCalm() {
	l.Helper()
	for _, s := range l.honest {
		edgetest.Await(l, s.Name+" has view=pop", edgetest.Patience, func() bool {
			alone, _ := l.Views(s)
			return alone == 0
		})
	}
	systemtest.Hold(l, 2*time.Second)
}

// TestRingFaults kills, stops and restarts real memcached under clients that keep to their limits.
func TestRingFaults(t *testing.T) {
	t.Parallel()
	servers := startRingServers(t, 3)
	l := openLab(t, servers, systemtest.AddressesOf(servers))
	l.awaitCalm()
	before := weigh(t, l.Nodes)
	l.killOne()
	l.stopOne()
	l.killAll()
	l.Stop()
	l.check("in the end")
	l.logWaits()
	compareWeights(t, before, weigh(t, l.Nodes))
}

// killOne kills a server, and starts it again, empty, when the nodes have gone without it for a few
// periods. Only the keys whose counters would be there are counted by each node alone, about a
// third.
func (l *lab) killOne() {
	l.Helper()
	l.servers[0].Kill()
	l.awaitLost("kill -9 of one")
	alone, pop := 0, 0
	for range 6 { // counters move to other servers every period, here 1 s: so the third changes
		systemtest.Hold(l, time.Second)
		a, p := l.Views(l.honest[1])
		alone, pop = alone+a, pop+p
	}
	share := float64(alone) / float64(alone+pop)
	l.Logf("without one of three servers %.2f of the keys have view=node", share)
	if share < 0.1 || share > 0.6 {
		l.Errorf("without one of three servers %.2f of the keys have view=node, want about a third",
			share)
	}
	l.servers[0].Start()
	l.awaitRecovered("restarted empty")
	systemtest.Hold(l, time.Second)
	l.check("after kill -9 of one, and its restart")
}

// stopOne has a server take connections and answer nothing, for a while.
func (l *lab) stopOne() {
	l.Helper()
	l.servers[1].Signal(syscall.SIGSTOP)
	l.awaitLost("SIGSTOP of one")
	systemtest.Hold(l, 2*time.Second)
	l.servers[1].Signal(syscall.SIGCONT)
	l.awaitRecovered("SIGCONT")
	systemtest.Hold(l, time.Second)
	l.check("after SIGSTOP and SIGCONT of one")
}

// killAll kills all servers and starts them again, empty.
func (l *lab) killAll() {
	l.Helper()
	for _, s := range l.servers {
		s.Kill()
	}
	l.awaitViews("kill -9 of all: all keys have view=node", lostWithin,
		func(_, pop int) bool { return pop == 0 })
	l.checkFailureModes()
	systemtest.Hold(l, time.Second)
	for _, s := range l.servers {
		s.Start()
	}
	l.awaitRecovered("all restarted empty")
	systemtest.Hold(l, time.Second)
	l.check("after kill -9 of all, and their restart")
	l.checkRecovered()
}

// checkFailureModes asks rules that do without the ring's counts in their own way.
func (l *lab) checkFailureModes() {
	l.Helper()
	for range 10 {
		if a := l.one("shut"); a.Allowed() || a.View != wire.ViewNode {
			l.Errorf("failure_mode deny: allowed %v, view %v", a.Allowed(), a.View)
		}
		if a := l.one("wide"); !a.Allowed() || a.View != wire.ViewNode {
			l.Errorf("failure_mode allow: allowed %v, view %v", a.Allowed(), a.View)
		}
	}
	for rule, want := range map[string][3]string{
		"shut": {"deny", "deny", "node"},
		"wide": {"allow", "allow", "node"},
	} {
		x := l.Nodes[0].Explain(rule, "visitor")
		if got := [3]string{x.FailureMode, x.Verdict, x.View}; got != want {
			l.Errorf("explain %s: failure mode, verdict and view are %v, want %v", rule, got, want)
		}
	}
	for _, r := range systemtest.Page[api.RulesView](l.Nodes[0], "/v1/rules").Rules {
		if r.View != "node" {
			l.Errorf("rule %s has view=%s", r.Name, r.View)
		}
	}
}

// checkRecovered asks the same rules when the counts are back: who was refused for want of them may
// pass.
func (l *lab) checkRecovered() {
	l.Helper()
	if a := l.one("shut"); !a.Allowed() || a.View != wire.ViewPoP {
		l.Errorf("failure_mode deny, recovered: allowed %v, view %v", a.Allowed(), a.View)
	}
	// it had its limit more than once
	if a := l.one("wide"); a.Allowed() || a.View != wire.ViewPoP {
		l.Errorf("failure_mode allow, recovered: allowed %v, view %v", a.Allowed(), a.View)
	}
}

// one asks the first node once.
func (l *lab) one(rule string) hg.Answer {
	l.Helper()
	a, err := l.Clients[0].Check(l.Context(), rule, "visitor", 1)
	if err != nil {
		l.Error(err)
	}
	return a
}

// logWaits logs how long clients waited for answers, in all.
func (l *lab) logWaits() {
	l.Helper()
	waits := l.Take()
	l.Logf("%d exchanges: half within %v, 99 %% within %v, the slowest %v", len(waits),
		quantile(waits, 0.5), quantile(waits, 0.99), quantile(waits, 1))
}
