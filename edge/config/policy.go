package config

import (
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/headgate-dev/headgate/edge/config/document"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/mitigation"
)

// policies parses the list of policies, no two of the same name.
func policies(v value) ([]policy.Policy, bool) {
	return listByName(v, policy.MaxPolicies, "policy", value.policy)
}

// policyFile is a policy as read: the policy's numbers are a rule's, or a rule's for each tier.
type policyFile struct {
	policy.Policy
	rule   mitigation.Rule
	limits []tierNumber // where limit is a map
	bursts []tierNumber // where burst is a map
	// skip is given, as SkipAll or as names: an empty list of names is still no limit
	skip bool

	siblings int           // of the ladder; 0: not given
	plain    *policy.Tiers // of numbers; nil: not given
}

// tierNumber is the number of a tier.
type tierNumber struct {
	tier   string
	number int64
}

// policy parses a policy. Defaults are key client, cost 1, and those of a rule. A policy with
// numbers of its own becomes rules called as itself, which are counted, shown and blocked by hand
// like rules of the section rules.
func (v value) policy() policy.Policy {
	p := &policyFile{Policy: policy.Policy{
		At: v.pos(), Key: policy.DefaultKey(),
	}}
	if v.readScale(&p.rule); !v.fields(v.policyFields(p)) {
		return p.Policy
	}
	v.require("name", "match")
	// Read as the policy's, used as its rule's: in mode off neither matches anything.
	p.rule.Name, p.rule.Mode = p.Name, p.Mode
	if _, asks := v.d.given[join(v.path, "rules")]; !asks {
		p.Cost = v.readCost(p.rule.Scale)
	}
	v.checkUnits(&p.rule)
	v.checkActions(p)
	v.checkPending(p)
	if p.Burst = p.rule.Burst; v.hasOwn() {
		v.own(p)
	}
	return p.Policy
}

// numbers reads a number, or a number for each tier, from least to mitigation.MaxLimit. Zero is
// allowed for a single burst, where 0 is the default and means none; a tier with a burst has a
// burst.
func (v value) numbers(
	r *mitigation.Rule, one *int64, each *[]tierNumber, least int64,
) {
	if v.node.Kind != yaml.MappingNode {
		set(one, amounts(r, least).parse)(v)
		return
	}
	v.entriesOf(policy.MaxTiers, func(key, item value) {
		if n, ok := amounts(r, 1).parse(item); ok &&
			key.checkName(key.node.Value, mitigation.MaxRuleName) {
			*each = append(*each, tierNumber{key.node.Value, n})
		}
	})
}

// skip reads all, or the names of policies. Names are of policies below: the policies above have
// been asked by the time this policy is met.
func (v value) skip(p *policyFile) {
	p.skip = true
	if v.node.Kind == yaml.ScalarNode {
		if s, ok := v.text(); ok && s != "all" {
			v.fault("must be all, or a list of names of policies, not %s", document.Show(s))
		}
		p.SkipAll = true
		return
	}
	p.Skip, _ = listOf(policy.MaxPolicies, name(mitigation.MaxRuleName))(v)
}

// key reads a part of a key, or a list of parts. As in [client, header.x-api-key | cookie.session]:
// all parts make the key, and of alternatives the first the request has.
func key(v value) (policy.Key, bool) {
	if v.node.Kind != yaml.SequenceNode {
		part, ok := keyPart(v)
		return policy.Key{Parts: [][]policy.Part{part}}, ok
	}
	parts, ok := listOf(policy.MaxParts, keyPart)(v)
	if ok && len(parts) == 0 {
		v.fault("is empty: for one bucket for everybody write all")
	}
	return policy.Key{Parts: parts}, ok && len(parts) > 0
}

// moment reads a time with its zone.
func moment(v value) (time.Time, bool) {
	s, ok := v.text()
	if !ok {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		v.fault("must be a time such as \"2026-11-25T15:03:00Z\", not %s", document.Show(s))
	}
	return at, err == nil
}

func keyPart(v value) ([]policy.Part, bool) {
	s, ok := v.text()
	if !ok {
		return nil, false
	}
	part, err := policy.ParseKeyPart(s)
	if err != nil {
		v.fault("%v%s", err, keyHint(s))
	}
	return part, err == nil
}

// pending reads how many requests of a policy may wait beyond the limit, or free.
func (v value) pending(most *int) {
	switch _, err := strconv.Atoi(v.node.Value); {
	case v.node.Value == "free":
		*most = policy.Free
	case err != nil:
		v.fault("must be a whole number from 0 to %d, or free", policy.MaxPending)
	default:
		number(most, 0, policy.MaxPending)(v)
	}
}

// checkPending sets the default of pending: 0 where count_when says by the request, too, what may
// count.
func (v value) checkPending(p *policyFile) {
	at, given := v.d.given[join(v.path, "pending")]
	switch {
	case given && !p.CountWhen.UsesResponse():
		at.fault("is for a policy with a count_when that looks at the response")
	case given || !p.CountWhen.UsesResponse():
	case !p.CountWhen.NamesRequest():
		p.Pending = policy.Free
		if at, ok := v.d.given[join(v.path, "count_when")]; ok && p.Mode != mitigation.Off {
			at.warn("pending-free", "names no method and no path: requests under way are free, "+
				"unless pending says otherwise")
		}
	}
}

// tiers reads by which field and table a tier is found. Such as {of: header.x-api-key, table:
// "@plans", default: free}. The default is for values the table does not have, and for requests
// without the field.
func tiers(v value) *policy.Tiers {
	t := &policy.Tiers{}
	if !v.fields(tierFields(t)) {
		return nil
	}
	v.require("of", "table", "default")
	return t
}

func tierFields(t *policy.Tiers) []field {
	return append(plainFields(t), leaf("default", set(&t.Default, name(mitigation.MaxRuleName))).
		like(ruleName, "", "The tier of values that the table does not have."))
}

func requestField(v value) (condition.Field, bool) {
	s, ok := v.text()
	if !ok {
		return condition.Field{}, false
	}
	f, err := condition.ParseField(s)
	if err != nil {
		v.fault("%v%s", err, didYouMean(s, condition.FieldNames()))
	}
	return f, err == nil
}

// setName reads @ and the name of a set. Whether there is such a set is checked with all policies,
// since sets may stand below policies in the file.
func setName(v value) (string, bool) {
	s, ok := v.text()
	if !ok {
		return "", false
	}
	name, found := strings.CutPrefix(s, "@")
	if !found {
		v.fault("must be @ and the name of a table, not %s", document.Show(s))
		return "", false
	}
	return name, v.checkName(name, mitigation.MaxRuleName)
}
