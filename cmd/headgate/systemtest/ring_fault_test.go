//go:build !race

package systemtest

import (
	"syscall"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	hg "github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/wire"
)

// The rules of the tests of faults: clients keep to 0.8 of the first three.
const faultRules = `rules:
  - {name: calm, limit: 100, window: 10s, scope: pop}
  - {name: brisk, limit: 50, window: 1s, scope: pop}
  - {name: strict, limit: 20, window: 10s, scope: pop, action: block, block_for: 1m}
  - {name: shut, limit: 3, window: 1m, scope: pop, failure_mode: deny}
  - {name: wide, limit: 3, window: 1m, scope: pop, failure_mode: allow}
`

// lab is a PoP under load whose servers a test makes fail.
type lab struct {
	*ringLoad
	servers []*ringServer
	flood   *stream
	honest  []*stream // clients that keep to 0.8 of their limit
}

// openLab starts everything, and loads it until it counts as one.
func openLab(t testing.TB, servers []*ringServer, addresses []string) *lab {
	t.Helper()
	nodes := startNodes(t, 4, addresses, faultRules)
	l := &lab{servers: servers, honest: []*stream{
		{name: "calm", rule: "calm", keys: 36, rate: 8},
		{name: "brisk", rule: "brisk", keys: 24, rate: 40},
		{name: "strict", rule: "strict", keys: 24, rate: 1.6},
	}, flood: &stream{name: "flood", rule: "brisk", keys: 4, rate: 250}}
	l.ringLoad = startLoad(t, nodes, append(l.honest, l.flood)...)
	return l
}

// check fails the test if a client that kept to its limit was refused, or anybody was not answered.
func (l *lab) check(when string) {
	l.Helper()
	l.say(when)
	for _, s := range l.streams {
		got := s.total()
		if s != l.flood && got.refused > 0 {
			l.Errorf("%s: %s: %d refused under the limit", when, s.name, got.refused)
		}
		if got.unanswered > 0 {
			l.Errorf("%s: %s: %d unanswered", when, s.name, got.unanswered)
		}
	}
}

// refused returns how many requests of clients that keep to their limits were refused so far.
func (l *lab) refused() (sum int) {
	for _, s := range l.honest {
		sum += s.total().refused
	}
	return sum
}

// awaitViews waits until is holds for the numbers of a stream's keys with either view.
func (l *lab) awaitViews(what string, most time.Duration, is func(alone, pop int) bool) {
	l.Helper()
	took := edgetest.Await(l, what, most, func() bool { return is(l.views(l.honest[1])) })
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
		edgetest.Await(l, s.name+" has view=pop", edgetest.Patience, func() bool {
			alone, _ := l.views(s)
			return alone == 0
		})
	}
	hold(l, 2*time.Second)
}

// TestRingFaults kills, stops and restarts real memcached under clients that keep to their limits.
func TestRingFaults(t *testing.T) {
	t.Parallel()
	servers := startRingServers(t, 3)
	l := openLab(t, servers, addressesOf(servers))
	l.awaitCalm()
	before := weigh(t, l.nodes)
	l.killOne()
	l.stopOne()
	l.killAll()
	l.stop()
	l.check("in the end")
	l.logWaits()
	compareWeights(t, before, weigh(t, l.nodes))
}

// killOne kills a server, and starts it again, empty, when the nodes have gone without it for a few
// periods. Only the keys whose counters would be there are counted by each node alone, about a
// third.
func (l *lab) killOne() {
	l.Helper()
	l.servers[0].kill()
	l.awaitLost("kill -9 of one")
	alone, pop := 0, 0
	for range 6 { // counters move to other servers every period, here 1 s: so the third changes
		hold(l, time.Second)
		a, p := l.views(l.honest[1])
		alone, pop = alone+a, pop+p
	}
	share := float64(alone) / float64(alone+pop)
	l.Logf("without one of three servers %.2f of the keys have view=node", share)
	if share < 0.1 || share > 0.6 {
		l.Errorf("without one of three servers %.2f of the keys have view=node, want about a third",
			share)
	}
	l.servers[0].start()
	l.awaitRecovered("restarted empty")
	hold(l, time.Second)
	l.check("after kill -9 of one, and its restart")
}

// stopOne has a server take connections and answer nothing, for a while.
func (l *lab) stopOne() {
	l.Helper()
	l.servers[1].signal(syscall.SIGSTOP)
	l.awaitLost("SIGSTOP of one")
	hold(l, 2*time.Second)
	l.servers[1].signal(syscall.SIGCONT)
	l.awaitRecovered("SIGCONT")
	hold(l, time.Second)
	l.check("after SIGSTOP and SIGCONT of one")
}

// killAll kills all servers and starts them again, empty.
func (l *lab) killAll() {
	l.Helper()
	for _, s := range l.servers {
		s.kill()
	}
	l.awaitViews("kill -9 of all: all keys have view=node", lostWithin,
		func(_, pop int) bool { return pop == 0 })
	l.checkFailureModes()
	hold(l, time.Second)
	for _, s := range l.servers {
		s.start()
	}
	l.awaitRecovered("all restarted empty")
	hold(l, time.Second)
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
		x := l.nodes[0].explain(rule, "visitor")
		if got := [3]string{x.FailureMode, x.Verdict, x.View}; got != want {
			l.Errorf("explain %s: failure mode, verdict and view are %v, want %v", rule, got, want)
		}
	}
	for _, r := range page[api.RulesView](l.nodes[0], "/v1/rules").Rules {
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
	a, err := l.clients[0].Check(l.Context(), rule, "visitor", 1)
	if err != nil {
		l.Error(err)
	}
	return a
}

// logWaits logs how long clients waited for answers, in all.
func (l *lab) logWaits() {
	l.Helper()
	waits := l.take()
	l.Logf("%d exchanges: half within %v, 99 %% within %v, the slowest %v", len(waits),
		quantile(waits, 0.5), quantile(waits, 0.99), quantile(waits, 1))
}
