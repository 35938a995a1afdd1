package global

import (
	"math"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/gossip"
	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/mitigation/override"
)

// The invariants of the simulated cluster:
//
//	I1  no client within 0.8 of its limit, and none that is allowed by hand, is refused, whatever breaks
//	I2  an attacker gets at most a bound in any window, see bound; and, where nothing is broken, not much less than the limit
//	I3  no table holds more than there are keys, or than it may
//	I4  some time after the last fault all nodes are one cluster, and agree on who owns and who sheds
//	I5  nothing runs on when all is stopped: the bubble fails if something does

const (
	// healthy is the most that an attacker gets in a window, in limits, once it has been met
	// everywhere.
	healthy = 1.25
	// late is the same of small limits: a PoP that comes late has its part beside a full window.
	late = 1.5
	// detection is how long an attack goes on until its ratio is in force, beside four ways over
	// the network: from the node to its reporter, to the owner, and back. Requests that pass
	// meanwhile are not taken back in the same window.
	detection = 360 * time.Millisecond
	hops      = 4
)

// delays is by how much each kind of fault may put detection off: until somebody else is asked, or
// alone is told alone.
var delays = [simKinds]time.Duration{
	faultLinks: time.Second, faultOneWay: 2 * time.Second, faultPartition: 500 * time.Millisecond,
	faultPause: 2 * time.Second,
	faultCrash: 2 * time.Second, faultClock: time.Second, faultRingDeath: time.Second,
	faultRingLoss: 500 * time.Millisecond,
	faultRingSlow: 500 * time.Millisecond, faultRingForget: 200 * time.Millisecond,
}

// bound returns the most that c may have got in the window that ends now, in limits. A node that
// was never asked for a key does not hear of it, so each may let its first request through.
func (s *sim) bound(c *simClient) float64 {
	w, most := c.rule.Window, healthy
	if c.rule.ByCounts() {
		most = late
	}
	unmet, sides, amnesties, felt := s.disturbed(w)
	if !felt && s.at-c.from > w+time.Second {
		return most
	}
	limit := float64(c.rule.Limit)
	unseen := c.times * limit * unmet.Seconds() / w.Seconds()
	excess := (unseen*(c.times-1)/c.times + 4*math.Sqrt(unseen) + float64(len(s.nodes))) / limit
	return sides*(1+max(most-1, excess)) + amnesties
}

// least returns the least that c must have got in the window that ends now, in limits: a limit is
// no block, though what the first windows let through is paid back.
func (s *sim) least(c *simClient) float64 {
	if len(s.plan.faults) > 0 || c.rule.Action == mitigation.Block ||
		s.at-c.from <= 2*c.rule.Window || s.at > c.until {
		return 0
	}
	if c.rule.RateMode() {
		return 0.1
	}
	return 0.6
}

// disturbed returns the effects of faults in a window w that ends now: how late an attack is
// answered, into how many sides the world is split, and how often a node forgot its admissions.
func (s *sim) disturbed(w time.Duration) (late time.Duration, sides, amnesties float64, is bool) {
	late, sides = detection+hops*(s.plan.links.Delay+s.plan.links.Jitter), 1
	for n := range s.plan.faults {
		f := &s.plan.faults[n]
		if f.at > s.at || s.at > f.until+s.lasts(f)+w {
			continue
		}
		is = true
		late += delays[f.kind] + hops*(f.links.Delay+f.links.Jitter)
		switch f.kind {
		case faultPartition:
			sides *= float64(slices.Max(f.sides) + 1)
		case faultCrash:
			amnesties++
		}
	}
	return late, min(sides, float64(len(s.plan.pops))), amnesties, is
}

// lasts is how long f is felt after its end.
func (s *sim) lasts(f *simFault) time.Duration {
	switch {
	case f.kind != faultPartition && f.kind != faultCrash && f.kind != faultPause:
		return felt
	case s.plan.full:
		return simRejoin + felt
	}
	return s.plan.rejoin + felt
}

// open returns why a refusal of c is known to be wrong and not mended yet, "" if it is not: it is
// counted, and does not fail.
func (s *sim) open(c *simClient, n *simNode) string {
	if c.role == vipClient && n.ahead < -override.MaxEarly {
		return "a node whose clock is far behind does not take the word of an operator"
	}
	return ""
}

// check compares the present with the invariants.
func (s *sim) check(step int) {
	now := s.now()
	for _, c := range s.clients {
		if c.role != attacker {
			continue
		}
		got := float64(c.log.Admitted(now)) / float64(c.rule.Limit)
		if most := s.bound(c); got > most {
			s.fail("I2", "%s got %.2f limits of %s in a window, at most %.2f are bounded", c.key,
				got, c.rule.Name, most)
			s.explain(c)
		}
		if least := s.least(c); got < least {
			s.fail("I2", "%s got %.2f limits of %s in a window, at least %.2f are due", c.key,
				got, c.rule.Name, least)
			s.explain(c)
		}
	}
	if step%100 == 0 {
		s.checkTables()
	}
}

// checkTables is I3.
func (s *sim) checkTables() {
	keys := len(s.plan.loads)
	for _, n := range s.nodes {
		if n.down {
			continue
		}
		is := n.stats()
		for _, t := range []struct {
			name       string
			held, most int
		}{
			{"locals", is.Locals, keys},
			// for the PoP, and alone
			{"desks", is.ReporterKeys, 2 * keys},
			{"books", is.OwnedKeys, keys},
			{"queued", n.queued(), 2 * keys},
		} {
			if t.held > t.most {
				s.fail("I3", "%s holds %d %s of %d keys", n.name, t.held, t.name, keys)
			}
		}
	}
}

// stats reads how n's council stands.
func (n *simNode) stats() coordinator.Stats {
	n.world.mu.Lock()
	defer n.world.mu.Unlock()
	return n.world.coordinator.Stats()
}

// standing reads how c's key stands in the world, as n knows it.
func (n *simNode) standing(c *simClient) control.Standing {
	n.world.mu.Lock()
	defer n.world.mu.Unlock()
	return n.world.coordinator.Explain(n.edge.Now(), n.sim.farName(c.rule), c.key)
}

// members returns how many members n seats.
func (n *simNode) members() int {
	n.world.mu.Lock()
	defer n.world.mu.Unlock()
	return n.world.coordinator.Assignment().Members()
}

// queued returns how many records n's gossip has to spread.
func (n *simNode) queued() int {
	if node, ok := n.world.transport.(*gossip.Node); ok {
		return node.Stats().Queued
	}
	return 0
}

// healed is when everything was well again, as far as can be asked.
func (s *sim) healed() (at time.Duration) {
	for _, f := range s.plan.faults {
		at = max(at, f.until)
	}
	if s.plan.full {
		return at + simRejoin
	}
	return at + max(s.plan.rejoin, s.plan.detect) + felt
}

// checkEnd is I4.
func (s *sim) checkEnd() {
	if !s.whole() && s.at < s.healed() || slices.ContainsFunc(s.nodes,
		func(n *simNode) bool { return !n.answers() }) {
		return
	}
	for _, n := range s.nodes {
		if is := n.members(); is != len(s.nodes) {
			s.fail("I4", "%s knows %d of %d members", n.name, is, len(s.nodes))
			return
		}
	}
	for _, c := range s.clients {
		s.checkAgreement(c)
	}
}

// checkAgreement is I4 for a key.
func (s *sim) checkAgreement(c *simClient) {
	var first control.Standing
	for number, n := range s.nodes {
		is := n.standing(c)
		if number == 0 {
			first = is
		}
		if is.Owner != first.Owner || is.Standby != first.Standby {
			s.fail("I4", "%s thinks that %s owns %s, %s that %s does", n.name, is.Owner, c.key,
				s.nodes[0].name, first.Owner)
		}
		attacked := c.role == attacker && c.until >= s.at && s.at-c.from > 5*time.Second
		asked := is.Viewed != 0 && n.edge.Now().Sub(is.Viewed) < 2*time.Second
		if attacked && asked && c.rule.RateMode() && !is.View.Shed {
			s.fail("I4", "%s does not shed %s, of which it heard %v ago", n.name, c.key,
				n.edge.Now().Sub(is.Viewed))
			s.explain(c)
		}
	}
}
