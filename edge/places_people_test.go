package edge_test

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/api"
)

// inspect reads the JSON of an admin path into view, and returns the status and the text.
func (r *running) inspect(target string, view any) (status int, text string) {
	r.Helper()
	is, err := http.Get("http://" + r.node.Addresses().Admin[0].String() + target)
	if err != nil {
		r.Fatal(err)
	}
	defer is.Body.Close() //nolint:errcheck // only read from
	body, _ := io.ReadAll(is.Body)
	if view != nil {
		if err := json.Unmarshal(body, view); err != nil {
			r.Fatalf("%s: %v: %s", target, err, body)
		}
	}
	return is.StatusCode, string(body)
}

// The admin listener speaks of places: who holds them, since when, and what a rule has left.
func TestPlacesForPeople(t *testing.T) {
	n := start(t, placesConfig)
	first := n.says("acquire exports a", `allow lease=([0-9a-f]{16}) .*`)
	n.talks(`
		acquire exports a → allow .*
		acquire exports b → allow .*
	`)
	long := strings.Repeat("k", 60)
	n.says("acquire exports "+long+" cost=2", `allow .*`)

	var all api.LeasesView
	if status, text := n.inspect("/v1/leases?rule=exports", &all); status != 200 ||
		all.Taken != 5 || all.Keys != 3 || all.Limit != 2 || len(all.Held) != 3 ||
		all.Held[2].Key != "b" || all.Held[2].Places != 1 {
		t.Errorf("%d %s", status, text)
	}
	for _, h := range all.Held {
		if h.Cut != strings.HasPrefix(h.Key, "k") || h.Oldest.IsZero() {
			t.Errorf("%+v", h)
		}
	}
	var one api.LeasesView
	if status, text := n.inspect("/v1/leases?rule=exports&key=a", &one); status != 200 ||
		one.Taken != 2 || len(one.Leases) != 2 || one.Leases[0].Lease != first ||
		one.Leases[0].Until.Sub(one.Leases[0].Since).Seconds() != 120 {
		t.Errorf("%d %s", status, text)
	}
	for target, want := range map[string]int{
		"/v1/leases": 400, "/v1/leases?rule=fleet": 400,
		"/v1/leases?rule=none": 404, "/v1/leases?rule=exports&n=0": 400,
	} {
		if status, text := n.inspect(target, nil); status != want {
			t.Errorf("%s: %d %s", target, status, text)
		}
	}
	var rules api.RulesView
	n.inspect("/v1/rules", &rules)
	if r := rules.Rules[0]; r.Kind != "concurrency" || r.Lease != 120 || r.Places == nil ||
		*r.Places != (api.PlacesView{Taken: 5, Keys: 3, Leases: 4}) || r.Window != 0 {
		t.Errorf("%+v", r)
	}
	if r := rules.Rules[2]; r.Kind != "window" || r.Places != nil || len(r.Reserve) != 1 ||
		r.Reserve[0] != (api.ShareView{Tier: "critical", Share: 0.2}) {
		t.Errorf("%+v", r)
	}
	_, text := n.inspect("/metrics", nil)
	for _, want := range []string{
		`headgate_leases 4`, `headgate_places_taken{rule="exports"} 5`,
		`headgate_lease_capacity`, `headgate_leases_expired_total 0`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

func TestExplainSpeaksOfPlaces(t *testing.T) {
	n := start(t, placesConfig)
	for _, want := range []string{
		"A request with this key would be allowed now. It holds none of its 2 places. There is " +
			"room for 2 more at the same time.",
		"A request with this key would be allowed now. It holds 1 of its 2 places by 1 lease; " +
			"the oldest began T ago. There is room for 1 more at the same time.",
		"A request with this key would be denied now. It holds 2 of its 2 places by 2 leases; " +
			"the oldest began T ago. There is room again when a request of this key ends; its " +
			"oldest lease ends in T at the latest.",
	} {
		var v api.ExplainView
		n.inspect("/v1/explain?rule=exports&key=a", &v)
		if got := regexp.MustCompile(`\b(\d+m\d+s|\d+m|\d+s)( ago| at)`).ReplaceAllString(
			strings.Join(v.Sentences, " "), "T$2"); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
		if v.Kind != "concurrency" || v.Places == nil || len(v.SubWindows) != 0 {
			t.Errorf("%+v", v)
		}
		n.says("acquire exports a", ".*")
	}
}

func TestPoolsForPeople(t *testing.T) {
	n := start(t, poolsConfig)
	var v api.PoolsView
	if _, text := n.inspect("/v1/pools", &v); len(v.Pools) != 1 || v.Pools[0].Name != "workers" ||
		v.Pools[0].Heard != nil || len(v.Pools[0].Tiers) != 2 || v.Pools[0].ShedAbove != 0.85 {
		t.Error(text)
	}
	n.says("load workers 0.4", "ok")
	if _, text := n.inspect("/v1/pools", &v); v.Pools[0].Heard == nil || v.Pools[0].Reports != 1 ||
		v.Pools[0].Sources != 1 {
		t.Error(text)
	}
	if _, text := n.inspect("/metrics", nil); !strings.Contains(text,
		`headgate_pool_level{pool="workers"} 0`) {
		t.Error("no level of the pool in the metrics")
	}
}
