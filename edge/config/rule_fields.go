package config

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/headgate-dev/headgate/edge/config/document"
	"github.com/headgate-dev/headgate/edge/config/schema"
	"github.com/headgate-dev/headgate/mitigation"
)

// ruleFields describes every field of a rule, in the order of Marshal. A policy has the same fields
// for its numbers.
func ruleFields(r *mitigation.Rule) []field {
	return slices.Concat(limitFields(r), forceFields(r), failureFields(r), kindFields(r),
		bucketFields(r), denialFields(r))
}

// limitFields describes the limit and the action.
func limitFields(r *mitigation.Rule) []field {
	return []field{
		described("name", &r.Name, names(mitigation.MaxRuleName, "characters, unique"), "",
			"The name by which requests, metrics and commands know the rule."),
		described("limit", &r.Limit, amounts(r, 1), "",
			"The cost that may pass in each window. A request costs 1 unless it says "+
				"otherwise. Up to 1024, one node counts to the unit; above, in steps of "+
				"limit/1024, rounded up: no more than the limit passes, and 99.9 % of it "+
				"always does."),
		described("window", &r.Window, windows, "",
			"The time over which cost is counted. The window slides: it ends at the present "+
				"moment, wherever it began."),
		described("scope", &r.Scope, choice(mitigation.ParseScope, mitigation.Node, mitigation.PoP,
			mitigation.Global), "node",
			"The nodes over which the limit holds: this node, all nodes of the PoP (needs "+
				"`ring.servers`), or all PoPs (needs `gossip.bind`; name, limit, window, action "+
				"and mode must be the same everywhere)."),
		described("action", &r.Action, choice(mitigation.ParseAction, mitigation.Shed,
			mitigation.Block), "shed",
			"`shed` admits requests up to the limit and denies the rest. `block` denies every "+
				"request of a key that passed its limit, for `block_for`."),
	}
}

// forceFields describes the length of blocks, and how far a rule is enforced.
func forceFields(r *mitigation.Rule) []field {
	return []field{
		{
			name:  "block_for",
			read:  func(v value) { v.blockFor(r) },
			print: func() any { return printedBlocks(r) },
			values: between(MinBlockFor, mitigation.MaxBlockFor) +
				fmt.Sprintf(", or a list of up to %d; with action `block` only",
					mitigation.MaxSteps),
			usual: "0s",
			shape: schema.AnyOf(schema.Duration(),
				schema.List(1, mitigation.MaxSteps, schema.Duration())),
			text: "The length of a block. Action `block` must have it. A list is a ladder: " +
				"`[10m, 1h, 24h]` blocks a key for ten minutes, the next time for an hour, " +
				"and from then on for a day.",
		},
		described("forget_after", &r.Ladder.Forget, orDefault(durations(time.Second,
			mitigation.MaxForget).and(", with a list in `block_for` only"),
			mitigation.DefaultForget), "24h",
			"A key without a block for this long begins with the first step again. Kept over "+
				"a restart where there is a `state_dir`."),
		described("block_renew", &r.Renews, booleans.
			and(", of action `block` and scope `node` only"), "false",
			"Each request that a block denies moves its end to one `block_for` from now: the "+
				"block ends when the key has been quiet for so long. Blocks by hand end as they "+
				"were set."),
		described("mode", &r.Mode, modes, "enforce",
			"`enforce` denies. `shadow` decides, counts and reports as well, but "+
				"answers `allow` to all (`shadow=deny` where it would have denied): begin so. "+
				"`off` neither counts nor decides. `headgate mode` changes it until a reload."),
	}
}

// failureFields describes the behaviour between nodes.
func failureFields(r *mitigation.Rule) []field {
	return []field{
		described("failure_mode", &r.FailureMode, choice(mitigation.ParseFailureMode,
			mitigation.FailLocal, mitigation.FailAllow, mitigation.FailDeny), "local",
			"The behaviour of a rule of scope `pop` or `global` while the counts of the "+
				"others are missing: for 500ms from memcached, or for 30s from every other node. "+
				"`local` limits by the counts of this node, or of its PoP; `allow` admits all "+
				"requests except those of keys with a mitigation; `deny` denies every request. "+
				"With kind concurrency it is what happens when no lease is left: `deny` denies, "+
				"the others allow without a lease."),
		described("fairness", &r.Fairness, choice(mitigation.ParseFairness, mitigation.FairPoPs,
			mitigation.FairRequests).and(", of scope `global`"), "pops",
			"The division of a limit among the PoPs while they ask for more. `pops` gives "+
				"each PoP its demand, up to an equal share and its part of the shares that others "+
				"leave unused: an attack in one PoP takes nothing from a PoP that asks for less "+
				"than an equal share. `requests` drops the same share of the requests in every "+
				"PoP."),
	}
}

// kindFields describes the kind and the fields of a single kind. Each text names the kind: a field
// of another kind is a fault.
func kindFields(r *mitigation.Rule) []field {
	return []field{
		described("kind", &r.Kind, choice(mitigation.ParseKind, mitigation.Window,
			mitigation.Bucket, mitigation.Concurrency), "window",
			"`window` limits the cost in any window of time. `bucket` limits the rate: see "+
				"`burst`. `concurrency` limits the cost under way at the same time: a request "+
				"takes places (`acquire`, or a policy) and gives them back at its end (`release`, "+
				"or the report of its response). It has `lease` in place of `window`, scope "+
				"`node` only, and no action."),
		described("lease", &r.Lease, leases, "0s",
			"Of kind `concurrency`, where `0s` means 60s: the time after which places that "+
				"were not given back are free again. A proxy that dies gives up all its places "+
				"within one lease."),
		described("reserve", &r.Reserve, codec[[]mitigation.Share]{
			"tiers with percentages, in order, together below 100 %", reserve, printedShares,
			schema.Map(mitigation.MaxShares, schema.Name(mitigation.MaxRuleName), schema.Percent()),
		}, "{}",
			"Parts of the limit kept for some tiers. With `{critical: 20%}` tier critical may "+
				"use the whole limit, all others 80 %, rounded down. With several, each tier may "+
				"use what those before it leave. The tier is that of a policy, or `tier=` of a "+
				"check. A denial has status 503 and `why=reserve`."),
		described("unit", &r.Unit, codec[string]{
			"small letters, digits and -, at most 16", unit, itself[string],
			schema.Like("([a-z][a-z0-9-]{0,15})?"),
		}, `""`, "The name of the unit of limit and costs, such as tokens or usd, for answers and "+
			"people to read."),
		described("scale", &r.Scale, numbers[int](0, mitigation.MaxScale), "0",
			"The digits behind the point of limit, burst and costs: `scale: 4` counts 0.0001 of a "+
				"unit. A cost is at most 1,000,000 of these parts."),
		described("numbers", &r.Numbers, codec[*mitigation.Numbers]{
			"`@` and the name of a table", numbersOf, printedNumbers,
			schema.Like("(@" + nameLike + ")?"),
		}, `""`,
			"Keys with a limit of their own, by lines such as `KEY,137` of the table: see "+
				"[customers](customers.md). Policies write `{of: header.x-api-key, table: "+
				"\"@tenants\"}`."),
	}
}

// bucketFields describes the fields of buckets, and the cost counting in a window.
func bucketFields(r *mitigation.Rule) []field {
	return []field{
		described("burst", &r.Burst, amounts(r, 0), "0",
			"Above 0 the rule is a token bucket of that size, which refills at `limit` per "+
				"`window`: so much cost passes at once, and then one more every window/limit. Its "+
				"arithmetic is exact. More than 24h to refill is a fault."),
		described("delay", &r.Delay, durations(0, mitigation.MaxDelay).and(", with `burst` only"),
			"0s",
			"A request that has its tokens within this time is allowed. The answer has "+
				"the time to wait (`delay=` in milliseconds, `Headgate-Delay`); the tokens "+
				"are gone. Only for callers with `delay=ok`, or `Headgate-Accept: delay`."),
		described("counts", &r.Counts, choice(mitigation.ParseCounts, mitigation.CountAdmitted,
			mitigation.CountOffered).and(", of kind `window`"), "admitted",
			"The cost that counts. With `offered` a request that the limit denies counts as "+
				"well, up to one limit: a client that goes on asking past its limit is not let in "+
				"again until it asks less. By default a denied request costs none."),
	}
}

// denialFields describes the fields about who is denied, and what the denied are told.
func denialFields(r *mitigation.Rule) []field {
	return []field{
		described("max_blast", &r.MaxBlast, numbers[int](0, mitigation.MaxMaxBlast).
			as("0 (off), or 2 to 1000000 clients, with action `block` only"), "0",
			"A block that would deny more clients than this sheds instead (`why=shed "+
				"blast=N`): for keys that many clients share. Of requests through policies."),
		described("shed_by", &r.ShedBy, codec[string]{
			"`request`, or a part of a key, such as `client`", shedBy,
			func(part string) any { return cmp.Or(part, "request") }, schema.Text(maxKeyPart),
		}, "request",
			"The requests that a drop ratio denies. `request` draws for each of them. A part, "+
				"such as `client` for a rule by API key, draws for all requests with "+
				"it: the same clients are denied for one `epoch`, then others. Of policies."),
		described("epoch", &r.Epoch, orDefault(durations(mitigation.MinEpoch, mitigation.MaxEpoch).
			and(", with `shed_by` only"), mitigation.DefaultEpoch), "10s",
			"How long a client is denied, or not, before the next draw."),
		described("retry_spread", &r.RetrySpread, codec[int]{
			"`requests`, or a percentage, `0%` to `100%`", spread,
			func(part int) any { return spreadText(part) }, schema.Percent(spreadOfRequests),
		}, "requests",
			"The retry of a denial is longer by a random part up to this, never shorter: not "+
				"all come back at once. `requests` is 10 % for requests through policies, 0 % "+
				"where rule and key are named; a percentage holds for both."),
	}
}

// The values of fields of rules needing more than a range.
var (
	modes = choice(mitigation.ParseMode, mitigation.Enforce, mitigation.Shadow, mitigation.Off)
	// A rule of kind concurrency has no window, and the decoder refuses a window there.
	windows = codec[time.Duration]{
		between(mitigation.MinWindow, mitigation.MaxWindow) + ", whole milliseconds", window,
		func(d time.Duration) any {
			if d == 0 {
				return nil
			}
			return document.Brief(d)
		},
		schema.Duration(),
	}
	leases = codec[time.Duration]{
		between(MinLease, MaxLease) + ", whole seconds, with kind `concurrency` only", lease, brief,
		schema.Duration(),
	}
)

// orDefault has c print usual in place of 0: a decision compares with zero, the file has a name.
func orDefault(c codec[time.Duration], usual time.Duration) codec[time.Duration] {
	c.print = func(d time.Duration) any { return document.Brief(cmp.Or(d, usual)) }
	return c
}

// printedRules returns rules for Marshal.
func printedRules(rules []mitigation.Rule) []*yaml.Node {
	list := make([]*yaml.Node, len(rules))
	for i := range rules {
		list[i] = printed(ruleFields(&rules[i]))
	}
	return list
}

// printedBlocks returns the time of r's blocks, or of each in a row.
func printedBlocks(r *mitigation.Rule) any {
	if len(r.Ladder.Steps) == 0 {
		return document.Brief(r.BlockFor)
	}
	steps := make(oneLine, len(r.Ladder.Steps))
	for i, d := range r.Ladder.Steps {
		steps[i] = document.Brief(d)
	}
	return steps
}

// printedShares returns a reserve as a mapping in a line, in the order of the shares: a map of Go
// would be sorted.
func printedShares(shares []mitigation.Share) any {
	node := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	for _, share := range shares {
		node.Content = append(node.Content, nodeOf(share.Tier),
			nodeOf(document.PercentText(share.Part, mitigation.Whole)))
	}
	return node
}
