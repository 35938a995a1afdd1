package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/oracle"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

const (
	// maxTallied bounds the keys a replay keeps totals of, at about 170 bytes each. Requests of
	// keys beyond the bound are decided and counted as any other, only not listed by key.
	maxTallied = 20_000_000
	// topOffenders is how many keys the summary names.
	topOffenders = 10
)

// replayTally adds up decisions.
type replayTally struct {
	began    window.Instant
	requests int64
	denied   [byPolicy + 1]int64 // by ground
	waits    waits
	wentBack int64
	untold   int64 // requests of keys past maxTallied
	keys     map[string]*keyTally
}

// keyTally adds up the decisions of a key.
type keyTally struct {
	requests, denied int64
	firstDenied      window.Instant
	stay             stay // with an oracle only
}

func newReplayTally() *replayTally { return &replayTally{keys: make(map[string]*keyTally)} }

func (t *replayTally) add(now window.Instant, key []byte, a gate.Decision) {
	t.requests++
	t.waits.add(a.Delay)
	if a.Deny {
		t.denied[a.Why]++
	}
	k := t.key(key)
	if k == nil {
		t.untold++
		return
	}
	k.requests++
	if a.Deny {
		if k.denied == 0 {
			k.firstDenied = now
		}
		k.denied++
	}
}

// key returns the totals of key, or nil where there is no room for another.
func (t *replayTally) key(key []byte) *keyTally {
	k := t.keys[string(key)]
	if k == nil && len(t.keys) < maxTallied {
		k = &keyTally{}
		t.keys[string(key)] = k
	}
	return k
}

// replaySummary is the output of a replay; printed unchanged by --json.
type replaySummary struct {
	Rule     replayRule    `json:"rule"`
	Requests int64         `json:"requests"`
	Keys     int           `json:"keys"`
	Untold   int64         `json:"untracked_requests,omitempty"`
	Allowed  int64         `json:"allowed"`
	Denied   int64         `json:"denied"`
	DeniedBy replayGrounds `json:"denied_by"`
	Delayed  *replayWaits  `json:"delayed,omitempty"` // of Allowed: had to wait
	Flagged  int           `json:"flagged_keys"`      // refused at least once
	Top      []replayTop   `json:"top"`
	Began    time.Time     `json:"began"` // the log's time
	Ended    time.Time     `json:"ended"`
	WentBack int64         `json:"went_back"` // records earlier than one before them
	BadLines int64         `json:"bad_lines"`
	// lines that were read, by format
	Formats    map[string]int64 `json:"formats"`
	Matched    *int64           `json:"matched,omitempty"` // requests of a policy's rule
	Seconds    float64          `json:"seconds"`           // the replay took
	RequestsPS float64          `json:"requests_per_second"`
	Oracle     *oracle.Score    `json:"oracle,omitempty"`
	// of a replay of whole requests:
	Policies []replayPolicy `json:"policies,omitempty"`
	Rules    []replayAsked  `json:"rules,omitempty"`
}

// replayRule is the rule as replayed.
type replayRule struct {
	Name   string  `json:"name"`
	Limit  int64   `json:"limit"`
	Window float64 `json:"window"` // seconds
	Action string  `json:"action"`
	Kind   string  `json:"kind"`
	Burst  int64   `json:"burst,omitempty"` // of a bucket
	Delay  float64 `json:"delay,omitempty"` // seconds; of a bucket
	Lease  float64 `json:"lease,omitempty"` // seconds; of kind concurrency
}

// replayedRule returns rule for a summary.
func replayedRule(r *mitigation.Rule) replayRule {
	return replayRule{
		r.Name, r.Limit, r.Window.Seconds(), r.Action.String(), r.Kind.String(),
		r.Burst, r.Delay.Seconds(), r.Lease.Seconds(),
	}
}

// per names the rest of the limit, for people.
func (r *replayRule) per() string {
	if r.Kind == mitigation.Concurrency.String() {
		return "places a key, leases of " + cli.Span(cli.Seconds(r.Lease))
	}
	text := "per " + cli.Span(cli.Seconds(r.Window))
	if r.Burst > 0 {
		text += fmt.Sprintf(", %s at once", cli.Grouped(r.Burst))
	}
	if r.Delay > 0 {
		text += ", waits up to " + cli.Span(cli.Seconds(r.Delay))
	}
	return text + ", " + r.Action
}

// replayGrounds is how many requests were refused on which ground.
type replayGrounds struct {
	Limit   int64 `json:"limit"`
	Shed    int64 `json:"shed"`
	Block   int64 `json:"block"`
	Reserve int64 `json:"reserve,omitempty"`
	Pending int64 `json:"pending,omitempty"`
	Policy  int64 `json:"policy,omitempty"`
	Cost    int64 `json:"cost,omitempty"`
}

// replayTop is a key refused much.
type replayTop struct {
	Key         string    `json:"key"`
	Requests    int64     `json:"requests"`
	Denied      int64     `json:"denied"`
	FirstDenied time.Time `json:"first_denied"`
}

func (t *replayTally) summary(rule mitigation.Rule, elapsed time.Duration) *replaySummary {
	s := &replaySummary{
		Rule:     replayedRule(&rule),
		Requests: t.requests, Keys: len(t.keys), Untold: t.untold,
		DeniedBy: replayGrounds{
			t.denied[mitigation.ByLimit], t.denied[mitigation.ByShed],
			t.denied[mitigation.ByBlock], t.denied[mitigation.ByReserve],
			t.denied[mitigation.ByPending], t.denied[byPolicy], t.denied[mitigation.ByCost],
		},
		Delayed: t.waits.summary(),
		Began:   t.began.Time().UTC(), WentBack: t.wentBack,
		Seconds: elapsed.Seconds(), RequestsPS: float64(t.requests) / max(elapsed.Seconds(), 1e-9),
	}
	for _, n := range t.denied {
		s.Denied += n
	}
	s.Allowed = s.Requests - s.Denied
	s.Top, s.Flagged = t.offenders()
	return s
}

// offenders returns the keys refused most, and how many were refused at all.
func (t *replayTally) offenders() (top []replayTop, flagged int) {
	all := make([]replayTop, 0, topOffenders)
	for key, k := range t.keys {
		if k.denied > 0 {
			all = append(all, replayTop{key, k.requests, k.denied, k.firstDenied.Time().UTC()})
		}
	}
	slices.SortFunc(all, func(a, b replayTop) int {
		return cmp.Or(cmp.Compare(b.Denied, a.Denied), cmp.Compare(b.Requests, a.Requests),
			strings.Compare(a.Key, b.Key))
	})
	return all[:min(len(all), topOffenders)], len(all)
}
