package edge_test

import (
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

const poolsConfig = `
rules: []
pools: [{name: workers, order: [test, batch], up: 100%, down: 50%, stale: 1s}]
policies:
  - {name: batches, match: {path: "/batch/**"}, tier: batch}
  - {name: all, match: {}, pool: workers}
`

// Workers report over lines and HTTP, and requests of the tiers in the order are denied until they
// are silent.
func TestPoolsOverLinesAndHTTP(t *testing.T) {
	n := start(t, poolsConfig)
	n.talks(`
		load nothing 0.5 → error unknown-pool
		load workers 1.5 → error bad-request
		ask path=/batch/1 → allow why=none
	`)
	edgetest.Await(t, "the pool sheds all of batch", edgetest.Patience, func() bool {
		n.says("load workers 1 from=web-1 id=7", "id=7 ok")
		if status, _, body := n.post("/v1/load",
			`{"pool":"workers","utilisation":0.99,"from":"web-2"}`); status != 204 {
			t.Fatalf("%d %s", status, body)
		}
		return n.send("ask path=/batch/1") == "deny why=load status=503 retry=1 pool=workers "+
			"ratio=1.00"
	})
	c, err := client.Dial(n.node.Addresses().Datagram[0].String(),
		client.WithTimeout(edgetest.Patience))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for _, l := range []client.Limiter{c, n.node} {
		if a, err := l.Ask(t.Context(), client.Request{Path: "/batch/1"}); err != nil ||
			a.Ground != "load" || a.HTTP != 503 || a.Retry != time.Second || a.Ratio != 1 {
			t.Errorf("%T: %+v, %v", l, a, err)
		}
	}
	n.talks(`
		ask path=/ → allow why=none
		ask path=/ tier=test → deny why=load .*
	`)
	status, header, body := n.post("/v1/ask", `{"path":"/batch/1"}`)
	if status != 503 || header.Get("Headgate-Why") != "load" || header.Get("Retry-After") != "1" ||
		header.Get("Headgate-Pool") != "workers" ||
		!strings.Contains(body,
			`"why":"load","pool":"workers","ratio":1,"retry_after":1,"status":503`) {
		t.Errorf("%d %v %s", status, header, body)
	}
	for target, want := range map[string]int{
		"/v1/load?pool=nothing&utilisation=0.5": 404, "/v1/load?pool=workers": 400,
		"/v1/load?utilisation=1": 400, "/v1/load?pool=workers&utilisation=2": 400,
		"/v1/load?pool=workers&utilisation=0.5&utilisation=0.5": 400,
		"/v1/load?pool=workers&utilisation=0.5&of=x":            400,
		"/v1/load?pool=workers&utilisation=0.50":                204,
	} {
		if status, _, body := n.post(target, ""); status != want {
			t.Errorf("%s: %d %s", target, status, body)
		}
	}
	edgetest.Await(t, "silence ends it", edgetest.Patience,
		func() bool { return n.send("ask path=/batch/1") == "allow why=none" })
}
