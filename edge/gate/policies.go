package gate

import (
	"time"

	"github.com/headgate-dev/headgate/mitigation/override"
	"github.com/headgate-dev/headgate/window"
)

// Policies for all members travel as overrides do, in a set of their own. The gate does not know
// their meaning.

// policyKey is the key of their records.
const policyKey = "policy"

// ApplyPolicy has all members put the policy called name in force, until then.
func (g *Gate) ApplyPolicy(
	now window.Instant, name string, policy []byte, until time.Time, who string,
) error {
	o := override.Override{
		Rule: name, Key: []byte(policyKey), Verb: override.Apply, Policy: policy, Who: who,
	}
	publish, ok := g.issueTo(
		&g.policies,
		now,
		&o,
		until.Sub(g.Wall(now).Truncate(time.Millisecond)),
	)
	if !ok {
		return ErrNoRoom
	}
	publish()
	return nil
}

// WithdrawPolicy has all members end the policy called name.
func (g *Gate) WithdrawPolicy(now window.Instant, name, who string) {
	o := override.Override{
		Rule: name, Key: []byte(policyKey), Verb: override.Withdraw, Who: who,
	}
	publish, _ := g.issueTo(&g.policies, now, &o, 0)
	publish()
}

// Policies returns the last record of each policy, of those that have ended too.
func (g *Gate) Policies(now window.Instant) []override.Override {
	return g.policies.All(g.Wall(now).UnixMilli())
}

// PoliciesChanged receives when another member has changed the policies.
func (g *Gate) PoliciesChanged() <-chan struct{} { return g.applied }

// mergePolicy merges a policy of another node, and reports whether it was news.
func (g *Gate) mergePolicy(o override.Override) (news bool) {
	is, _ := g.policies.Merge(g.Wall(g.Now()).UnixMilli(), o) // an error is counted there
	if is == override.Newest {
		select {
		case g.applied <- struct{}{}:
		default: // known already
		}
	}
	return is != override.Known
}
