package edge_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/api"
)

const figuresConfig = `rules: []
policies:
  - {name: office, match: {client: 192.0.2.1, path: /office}, skip: all}
  - {name: banned, match: {client: 192.0.2.2, path: /api/*}, deny: 403}
  - {name: trap, match: {client: 192.0.2.3}, deny: 403, mode: shadow}
  - {name: api, match: {path: /api/*}, key: client, limit: 20, window: 1h}
  - {name: burst, match: {path: /api/a}, key: client, limit: 3, window: 1h, burst: 8}
  - {name: strict, match: {path: /api/b},
      key: client, limit: 4, window: 1h, action: block, block_for: 1h}
  - {name: login, match: {path: /api/a}, count_when: {status: 401},
      key: client, limit: 5, window: 1h, action: block, block_for: 1h}
  - {name: failures, match: {path: /login}, count_when: {status: 401},
      key: client, limit: 9, window: 1h}
  - {name: dear, match: {path: /api/c},
      key: client, limit: 30, window: 1h, cost: {of: header.x-n, max: 40}}
  - {name: tokens, match: {path: /api/c},
      key: all, limit: 900, window: 1h, cost: {of: response.header.x-t, max: 30}}
  - {name: dark, match: {path: /api/*}, key: client, limit: 9, window: 1h, mode: shadow}
  - {name: first, match: {path: /api/a}, key: client, limit: 25, window: 1h, group: g}
  - {name: second, match: {path: /*}, key: all, limit: 300, window: 1h, group: g}
  - {name: room, match: {path: /room}, key: client, limit: 2, lease: 1h, kind: concurrency}
`

// TestFiguresAgree: of any traffic the answers, the rules, the policies and the metrics have the
// same sums, and a request is counted once, whoever denied it and however often it is reported.
func TestFiguresAgree(t *testing.T) {
	t.Parallel()
	n := startAt(t, allDoors, figuresConfig)
	const requests = 1500
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	denials, named, asked := 0, map[string]uint64{}, regexp.MustCompile(
		`^(allow|deny why=(\S+))(?: |$)(?:.*ticket=(\S+))?(?:.*rule=(\S+))?`)
	status := regexp.MustCompile(`(?s)^0 \x08\x02\x12.\x08\x02\x12.*?\x1a.([a-z]+)"`)
	for range requests {
		path := strings.Fields("/api/a /api/b /api/c /login /office /room /x")[rng.IntN(7)]
		if rng.IntN(8) == 0 {
			client := fmt.Sprint("192.0.2.", 3+rng.IntN(5))
			got := n.call(descriptor("path", path, "client", client))
			if is := status.FindStringSubmatch(got); is != nil {
				denials++
				named[is[1]]++
			}
			continue
		}
		reply := n.send(fmt.Sprintf("ask path=%s client=192.0.2.%d header.x-n=%d", path,
			1+rng.IntN(7), rng.IntN(50)))
		is := asked.FindStringSubmatch(reply)
		switch {
		case is == nil:
			t.Fatal(reply)
		case is[2] == "policy":
			denials++
			named["banned"]++
		case is[2] != "":
			denials++
			named[is[4]]++
		}
		if is[3] != "" && rng.IntN(3) > 0 {
			n.says(fmt.Sprintf("report ticket=%s status=%d response.header.x-t=%d id=1", is[3],
				200+201*rng.IntN(2), rng.IntN(40)), "id=1 ok")
		}
	}
	n.says("report path=/login client=192.0.2.9 status=401 id=2", "id=2 ok")
	n.says("peek api 192.0.2.7", ".*") // is no request
	var rules api.RulesView
	var policies api.PoliciesView
	n.inspect("/v1/rules", &rules)
	n.inspect("/v1/policies", &policies)
	_, metrics := n.inspect("/metrics", nil)
	sum, beside, counted := uint64(0), uint64(0), uint64(0)
	for _, r := range rules.Rules {
		series := func(name string) (all uint64) {
			for _, m := range regexp.MustCompile(`(?m)^headgate_`+name+` (\d+)$`).
				FindAllStringSubmatch(metrics, -1) {
				n, _ := strconv.ParseUint(m[1], 10, 64)
				all += n
			}
			return all
		}
		p := policies.Policies[0]
		for _, other := range policies.Policies {
			if other.Name == r.Name {
				p = other
			}
		}
		d := r.Denials
		denied := series(fmt.Sprintf(`requests_total{decision="deny",reason="[^o]\w+",rule="%s"}`,
			r.Name))
		beside += d.DeniedBeside
		counted += r.Counted
		if d.Requests != p.Matched || r.Counted != p.Counted {
			t.Errorf("%s: %d requests, %d counted, and the policy %d matched, %d counted", r.Name,
				d.Requests, r.Counted, p.Matched, p.Counted)
		}
		if r.Mode == "shadow" {
			shadow := series(fmt.Sprintf(
				`requests_total{decision="shadow_deny",reason="",rule="%s"}`, r.Name))
			if d.Denied == 0 || d.DeniedKeys == 0 || d.Denied != p.ShadowDenied ||
				named[r.Name] != 0 || d.Denied != shadow {
				t.Errorf("%s: shadow denials %+v, policy %+v", r.Name, d, p)
			}
			continue
		}
		if none := d.Denied+d.DeniedBeside == 0; d.DeniedKeys > 8 ||
			r.Places == nil && none != (d.DeniedKeys == 0) {
			t.Errorf("%s: %d denials of %d keys", r.Name, d.Denied, d.DeniedKeys)
		}
		if sum += d.Denied; d.Denied != named[r.Name] || d.Denied != denied ||
			d.Denied != p.Denied || d.Denied != series(fmt.Sprintf(
			`policy_denials_total{policy="%s",why="\w+"}`, r.Name)) {
			t.Errorf("%s: answers %d, rules %d, policies %d, metrics %d", r.Name,
				named[r.Name], d.Denied, p.Denied, denied)
		}
		offered := d.Requests
		if r.Counted > 0 { // it looks at requests
			offered = r.Counted + d.Denied
		}
		if cost := r.Name == "dear" || r.Name == "tokens"; cost != (r.Unit == "cost") ||
			!cost && uint64(r.Offered) != offered {
			t.Errorf("%s: offered %v %s, not %d", r.Name, r.Offered, r.Unit, offered)
		}
	}
	if sum += named["banned"]; int(sum) != denials || denials == 0 || beside == 0 || counted == 0 {
		t.Errorf("%d denials, %d in the sums, %d beside, %d counted", denials, sum, beside, counted)
	}
	n.seen(t)
	if t.Failed() {
		t.Log("seed", seed)
	}
}

// seen checks that top says of each key what the next request meets, and suggest what was denied.
func (n *running) seen(t *testing.T) {
	t.Helper()
	var top api.TopsView
	n.inspect("/v1/top?n=1000", &top)
	beside := 0
	for _, k := range top.Top {
		if k.DeniedBy != "" {
			beside++
		}
		next := n.send("peek " + k.Rule + " " + k.Key)
		if denies := strings.Contains(next, "deny"); denies == (k.State == "ok") {
			t.Errorf("%s %s is %s, denied by %q: %s", k.Rule, k.Key, k.State, k.DeniedBy, next)
		}
	}
	if len(top.Top) < 20 || beside == 0 {
		t.Error(len(top.Top), beside)
	}
	var v api.SuggestView
	n.inspect("/v1/suggest?rule=login", &v)
	if v.Observed.Denied == 0 || v.Observed.Denied > v.Observed.Requests {
		t.Error(v.Observed)
	}
	for _, row := range v.Rows {
		if row.Limit <= v.Limit && strings.Contains(row.Note, "denies nothing") {
			t.Errorf("suggest: %+v after %+v", row, v.Observed)
		}
	}
}
