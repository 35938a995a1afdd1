package grpc_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/config/envoy"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/gate"
)

const late = `
domain: ai
descriptors:
  - {key: user, rate_limit: {unit: hour, requests_per_unit: 10}}
  - {key: shy, shadow_mode: true, rate_limit: {unit: hour, requests_per_unit: 10}}
  - {key: none, rate_limit: {unit: hour, requests_per_unit: 0}}
  - {key: a, quota_mode: true, rate_limit: {unit: hour, requests_per_unit: 2}}
  - {key: b, quota_mode: true, rate_limit: {unit: hour, requests_per_unit: 4}}
  - {key: dark, quota_mode: true, shadow_mode: true, rate_limit: {unit: hour, requests_per_unit: 1}}
  - {key: nothing, quota_mode: true, rate_limit: {unit: hour, requests_per_unit: 0}}
  - {key: free, quota_mode: true, rate_limit: {unlimited: true}}
`

// rows asks the domain ai of late line by line. own of a row are hits of a descriptor itself.
func rows(t *testing.T, script string) {
	t.Helper()
	tree, faults := envoy.Load([]envoy.File{{Name: "ai.yaml", Data: []byte(late)}}, envoy.Options{})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	h := open(t, twoRules)
	h.gate.SetRules(append(h.gate.Rules(), tree.Rules...))
	h.door.SetLimits(tree, false)
	c := h.dial(t)
	for asked, want := range doortest.Script(script) {
		var parts []string
		for _, d := range strings.Fields(asked) {
			key, hits, told := strings.Cut(d, "=")
			if key == "hits" {
				parts = append(parts, num(3, uint64(hits[0]-'0')))
				continue
			}
			pairs := []string{strings.TrimSuffix(key, "-"), "x"}
			more := ""
			if strings.HasSuffix(key, "-") {
				more = num(4, 1)
			}
			if told {
				n := uint64(0)
				for _, c := range hits {
					n = 10*n + uint64(c-'0')
				}
				more += msg(3, num(1, n))
			}
			if more != "" {
				pairs = append(pairs, "+", more)
			}
			parts = append(parts, describe(pairs...))
		}
		got, _, _ := strings.Cut(c.limit(limits("ai", parts...)), " RateLimit-Policy")
		got = strings.NewReplacer("/HOUR", "", " reset 3600", "", " reset 3599", "").Replace(got)
		if got != want {
			t.Errorf("%s: %s, want %s", asked, got, want)
		}
	}
}

// TestLeftOut: of more limits than a call can ask the first are asked, and the room knows.
func TestLeftOut(t *testing.T) {
	h := open(t, twoRules)
	var parts []string
	for n := range gate.MaxQuestions {
		parts = append(parts, describe("rule", "api", "key", strconv.Itoa(n)))
	}
	c := h.dial(t)
	if c.limit(limits("d", parts...)); h.room.LeftOut() != nil {
		t.Error("left out of as many as can be:", h.room.LeftOut().Rule)
	}
	parts = append(parts, describe("rule", "login", "key", "k"))
	if c.limit(limits("d", parts...)); h.room.LeftOut().Rule != "login" {
		t.Error(h.room.LeftOut().Rule)
	}
}

// TestLateCosts: in a domain of a file a descriptor's own hits are admitted whether they fit or
// not, up to twice the limit; a look is denied above the limit, and not at it.
func TestLateCosts(t *testing.T) {
	t.Parallel()
	rows(t, `
		user=0 → OK [OK 10 left 10 reset 0]
		user=8 → OK [OK 10 left 2]
		user=0 → OK [OK 10 left 2]
		user=2 → OK [OK 10 left 0]
		user=0 → OK [OK 10 left 0]
		user → OVER [OVER 10 left 0]
		user=1 → OVER [OVER 10 left 0]
		user=0 → OVER [OVER 10 left 0]
		// what is told is admitted, whatever the others say, and they are not
		user=500 a=0 → OVER [OVER 10 left 0] [OK 2 left 2 reset 0]
		user=0 hits=2 → OVER [OVER 10 left 0]
		// of 20
		user-=12 a=0 → OK [OK 10 left 2] [OK 2 left 2 reset 0]
		user hits=3 → OVER [OVER 10 left 2]
		user hits=2 → OK [OK 10 left 0]
		none=0 → OK [OK 0 left 0]
		none=1 → OVER [OVER 0 left 0]
		shy=30 → OK [OK 10 left 0] dark ai.shy
		shy=0 → OK [OK 10 left 0] dark ai.shy
	`)
}

// TestQuotas: a quota that is over says so, and denies only if all quotas of the request are over.
func TestQuotas(t *testing.T) {
	t.Parallel()
	rows(t, `
		a → OK [OK 2 left 1]
		a b hits=2 → OK [OVER 2 left 1] [OK 4 left 2]
		a b → OK [OK 2 left 0] [OK 4 left 1]
		a b → OK [OVER 2 left 0] [OK 4 left 0]
		// all are over: the others admit nothing
		a b user → OVER [OVER 2 left 0] [OVER 4 left 0] [OK 10 left 10 reset 0]
		a → OVER [OVER 2 left 0]
		a user → OVER [OVER 2 left 0] [OK 10 left 10 reset 0]
		user=0 → OK [OK 10 left 10 reset 0]
		// nor does an unlimited one count as a quota; one in shadow is never over
		a free user → OVER [OVER 2 left 0] [OK] [OK 10 left 10 reset 0]
		a dark user → OK [OVER 2 left 0] [OK 1 left 0] [OK 10 left 9]
		a dark user → OK [OVER 2 left 0] [OK 1 left 0] [OK 10 left 8]
		nothing → OVER [OVER 0 left 0]
		nothing a → OVER [OVER 0 left 0] [OVER 2 left 0]
		nothing dark → OK [OVER 0 left 0] [OK 1 left 0] dark ai.dark
		nothing=0 a → OK [OK 0 left 0] [OVER 2 left 0]
		// looks and late costs
		a=0 user → OK [OK 2 left 0] [OK 10 left 7]
		a=1 b=0 user → OK [OVER 2 left 0] [OK 4 left 0] [OK 10 left 6]
		a=0 b=1 user → OVER [OVER 2 left 0] [OVER 4 left 0] [OK 10 left 6]
		a b=0 user → OVER [OVER 2 left 0] [OVER 4 left 0] [OK 10 left 6]
		// an enforcing one denies beside a quota with room
		user hits=7 → OVER [OVER 10 left 6]
	`)
}
