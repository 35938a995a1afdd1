package reference

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/config/document"
	"github.com/headgate-dev/headgate/mitigation"
)

// In three parts by how often they are written: nearly every rule has the first, few have the last.
func ruleReference() []Field {
	return slices.Concat(basicReference(), kindReference(), denialReference())
}

func basicReference() []Field {
	return []Field{
		{
			"rules[].name", atMost("name", mitigation.MaxRuleName, "characters, unique"), "",
			"The name by which requests, metrics and commands know the rule.",
		},
		{
			"rules[].limit", fmt.Sprintf("whole number, 1 to %d", mitigation.MaxLimit), "",
			"The cost that may pass in each window. A request costs 1 unless it says otherwise. Up to 1024, one node counts to the " +
				"unit; above, in steps of limit/1024, rounded up: no more than the limit passes, and no request below 99.9 % of " +
				"it is denied.",
		},
		{
			"rules[].window", between(mitigation.MinWindow,
				mitigation.MaxWindow) + ", whole milliseconds", "",
			"The time over which cost is counted. The window slides: it ends at the present moment, wherever it began.",
		},
		{
			"rules[].scope", oneOf("node", "pop", "global"), "node",
			"The nodes over which the limit holds: this node, all nodes of the PoP (needs `ring.servers`), or all PoPs (needs " +
				"`gossip.bind`; name, limit, window, action and mode must be the same everywhere).",
		},
		{
			"rules[].action", oneOf("shed", "block"), "shed",
			"`shed` admits requests up to the limit and denies the rest. `block` denies every request of a key that passed its " +
				"limit, for `block_for`.",
		},
		{
			"rules[].block_for", between(config.MinBlockFor, mitigation.MaxBlockFor) + fmt.Sprintf(", or a list of up to %d; with action `block` only", mitigation.MaxSteps), "0s",
			"The length of a block. Action `block` must have it. A list is a ladder: `[10m, 1h, 24h]` blocks a key for ten minutes, the next " +
				"time for an hour, and from then on for a day.",
		},
		{
			"rules[].forget_after", between(time.Second, mitigation.MaxForget) + ", with a list in `block_for` only", "24h",
			"A key without a block for this long begins with the first step again. Kept over a restart where there is a `state_dir`.",
		},
		{
			"rules[].mode", oneOf("enforce", "shadow", "off"), "enforce",
			"`enforce` denies. `shadow` decides, counts and reports as `enforce` does, but answers `allow` to every request (with " +
				"`shadow=deny` where it would have denied): the mode to begin with. `off` neither counts nor decides. " +
				"`headgate mode` changes it until the next reload.",
		},
		{
			"rules[].failure_mode", oneOf("local", "allow", "deny"), "local",
			"The behaviour of a rule of scope `pop` or `global` while the counts of the others are missing: for 500ms from " +
				"memcached, or for 30s from every other node. `local` limits by the counts of this node, or of its PoP; `allow` " +
				"admits all requests except those of keys with a mitigation; `deny` denies every request. With kind concurrency it " +
				"is what happens when no lease is left: `deny` denies, the others allow without a lease.",
		},
	}
}

// Each text names the kind that its field belongs to: a field of another kind is a fault, and its
// reader comes here.
func kindReference() []Field {
	return []Field{
		{
			"rules[].kind", oneOf("window", "bucket", "concurrency"), "window",
			"`window` limits the cost in any window of time. `bucket` limits the rate: see `burst`. `concurrency` limits the cost under way at the same time: a request " +
				"takes places (`acquire`, or a policy) and gives them back at its end (`release`, or the report of its response). It " +
				"has `lease` in place of `window`, scope `node` only, and no action.",
		},
		{
			"rules[].lease", between(config.MinLease, config.MaxLease) + ", whole seconds, with kind `concurrency` only", "0s",
			"Of kind `concurrency`, where `0s` means 60s: the time after which places that were not given back are free again. A proxy that dies gives up all its places within one lease.",
		},
		{
			"rules[].reserve", "tiers with percentages, in order, together below 100 %", "{}",
			"Parts of the limit that are kept for requests of some tiers. With `{critical: 20%}` requests of tier critical may use the " +
				"whole limit, all others 80 % of it, rounded down. With several, each tier may use what those before it leave. The tier of a " +
				"request is that of a policy, or `tier=` of a check. A request denied so has status 503 and `why=reserve`.",
		},
		{
			"rules[].fairness", oneOf("pops", "requests") + ", of scope `global`", "pops",
			"The division of a limit among the PoPs while they ask for more. `pops` gives each PoP its demand, up to an equal share " +
				"and its part of the shares that others leave unused: an attack in one PoP takes nothing from a PoP that asks for " +
				"less than an equal share. `requests` drops the same share of the requests in every PoP.",
		},
		{
			"rules[].burst", fmt.Sprintf("whole number, 0 to %d", mitigation.MaxLimit), "0",
			"Above 0 the rule is a token bucket of that size, which refills at `limit` per `window`: so much cost passes at once, and " +
				"then one more every window/limit. Its arithmetic is exact, whatever the numbers. A bucket that takes more than 24h to refill " +
				"is a fault.",
		},
		{
			"rules[].delay", between(0, mitigation.MaxDelay) + ", with `burst` only", "0s",
			"A request that lacks tokens now, and would have them within this time, is allowed and sent the time to wait (`delay=` in " +
				"milliseconds, `Headgate-Delay`); its tokens are taken. Only for callers that say `delay=ok`, or `Headgate-Accept: delay`; " +
				"others are denied.",
		},
	}
}

func denialReference() []Field {
	return []Field{
		{
			"rules[].max_blast", "0 (off), or 2 to 1000000 clients, with action `block` only", "0",
			"A block that would deny more clients than this sheds instead (`why=shed blast=N`): for keys that many clients share. Of requests through policies.",
		},
		{
			"rules[].shed_by", "`request`, or a part of a key, such as `client`", "request",
			"The requests that a drop ratio denies. `request` draws for each of them. A part, such as `client` for a rule that counts by API key, draws for all " +
				"requests with it: the same clients are denied for one `epoch`, then others. The key must not contain it. Of requests through policies.",
		},
		{
			"rules[].epoch", between(mitigation.MinEpoch, mitigation.MaxEpoch) + ", with `shed_by` only", "10s",
			"How long a client is denied, or not, before the next draw.",
		},
		{
			"rules[].retry_spread", "`requests`, or a percentage, `0%` to `100%`", "requests",
			"The retry of a denial is longer by a random part up to this, never shorter: not all come back at once. `requests` is 10 % for requests through " +
				"policies, 0 % where rule and key are named; a percentage holds for both.",
		},
		{
			"rules[].counts", oneOf("admitted", "offered") + ", of kind `window`", "admitted",
			"The cost that counts. With `offered` a request that the limit denies counts as well, up to one limit: a client that goes on " +
				"asking past its limit is not let in again until it asks less. By default a denied request costs no quota.",
		},
	}
}

// atMost documents the most items or characters that a value may have.
func atMost(kind string, n int, what string) string {
	return strings.TrimSpace(fmt.Sprintf("%s, at most %d %s", kind, n, what))
}

// between documents a range of durations.
func between(low, high time.Duration) string {
	return fmt.Sprintf("duration, `%s` to `%s`", document.Brief(low), document.Brief(high))
}

// oneOf documents a choice.
func oneOf(words ...string) string { return "`" + strings.Join(words, "`, `") + "`" }
