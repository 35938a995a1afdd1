package edge_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

const bucketConfig = `
rules:
  - {name: slow, limit: 1, window: 1m, burst: 3}
  - {name: queue, limit: 1, window: 10s, burst: 1, delay: 30s}
  - {name: strict, limit: 2, window: 1m, counts: offered}
sets: {tenants: {table: {k1: gold}}}
policies:
  - {name: line, match: {path: /queue}, key: client, rules: [queue]}
  - name: api
    match: {path: /api}
    key: raw(header.x-api-key)
    tiers: {of: header.x-api-key, table: "@tenants", default: free}
    limit: {free: 1, gold: 2}
    burst: {free: 2, gold: 4}
    window: 1m
`

// get returns the status, the headers and the body of the answer to a GET with headers, each
// NAME:VALUE.
func (r *running) get(
	target string, headers ...string,
) (status int, header http.Header, text string) {
	r.Helper()
	q, err := http.NewRequest(http.MethodGet, "http://"+r.node.Addresses().HTTP[0].String()+target,
		nil)
	if err != nil {
		r.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ":")
		q.Header.Set(name, value)
	}
	is, err := http.DefaultClient.Do(q)
	if err != nil {
		r.Fatal(err)
	}
	defer is.Body.Close() //nolint:errcheck // only read from
	all, _ := io.ReadAll(is.Body)
	return is.StatusCode, is.Header, strings.TrimSpace(string(all))
}

func TestBucketsOverLines(t *testing.T) {
	n := start(t, bucketConfig)
	n.talks(`
		peek slow a → allow remaining=3 reset=0 view=node
		check slow a cost=2 → allow remaining=1 reset=60 view=node
		check slow a cost=2 → deny why=limit retry=60 view=node remaining=1
		check slow a → allow remaining=0 reset=(60|59) view=node
		check slow a → deny why=limit retry=(60|59) view=node remaining=\d+
		check slow b cost=4 → deny why=cost remaining=3 view=node
	`)
	for range 2 {
		n.says(
			"ask path=/api header.x-api-key=other",
			`allow rule=api@free remaining=. reset=60 view=node`,
		)
	}
	n.says(
		"ask path=/api header.x-api-key=other",
		`deny why=limit retry=(59|6[0-6]) rule=api@free view=node remaining=\d+`,
	)
	n.says(
		"ask path=/api header.x-api-key=k1",
		`allow rule=api@gold remaining=3 reset=30 view=node`,
	)
	for range 2 {
		n.says("check strict a", `allow remaining=. reset=\d+ view=node`)
	}
	n.says("check strict a", `deny why=limit retry=60 view=node remaining=\d+`)
}

func TestDelaysOverLines(t *testing.T) {
	n := start(t, bucketConfig)
	n.talks(`
		check queue a delay=ok → allow remaining=0 reset=10 view=node
		check queue a → deny why=limit retry=10 view=node remaining=\d+
		peek queue a delay=ok → allow delay=\d{4,5} remaining=0 reset=10 view=node
		check queue a delay=ok id=7 → id=7 allow delay=(10000|99\d\d) remaining=0 reset=20 view=node
		check queue a delay=ok → allow delay=(20000|199\d\d) remaining=0 reset=30 view=node
		ask path=/queue client=192.0.2.1 delay=ok → allow rule=queue remaining=0 reset=10 view=node
	`)
	n.says(
		"ask path=/queue client=192.0.2.1 delay=ok",
		`allow delay=(10000|99\d\d) rule=queue remaining=0 reset=20 view=node`,
	)
	n.says(
		"ask path=/queue client=192.0.2.1",
		`deny why=limit retry=(1[01]|2[0-2]) rule=queue view=node remaining=\d+`,
	)
}

func TestBucketsOverHTTP(t *testing.T) {
	n := start(t, bucketConfig)
	status, header, body := n.get("/v1/check?rule=slow&key=h")
	if status != 200 || header.Get("RateLimit-Policy") != `"slow";q=3;w=180` ||
		header.Get("RateLimit") != `"slow";r=2;t=60` ||
		!strings.Contains(body, `"limit":1,"window":60,"burst":3,"remaining":2`) {
		t.Errorf("%d %v %s", status, header, body)
	}
	const accept = "Headgate-Accept:deceive, Delay"
	for _, c := range []struct {
		target  string
		headers []string
		status  int
		waits   bool
	}{
		{"/v1/check?rule=queue&key=h", nil, 200, false},
		{"/v1/check?rule=queue&key=h", nil, 429, false},
		{"/v1/check?rule=queue&key=h", []string{accept}, 200, true},
		{
			"/v1/auth/forward",
			[]string{"X-Forwarded-Uri:/queue", "X-Forwarded-For:192.0.2.9"},
			200,
			false,
		},
		{
			"/v1/auth/forward",
			[]string{"X-Forwarded-Uri:/queue", "X-Forwarded-For:192.0.2.9"},
			429,
			false,
		},
		{"/v1/auth/forward", []string{
			"X-Forwarded-Uri:/queue", "X-Forwarded-For:192.0.2.9",
			accept,
		}, 200, true},
	} {
		status, header, body := n.get(c.target, c.headers...)
		if status != c.status || (header.Get("Headgate-Delay") != "") != c.waits {
			t.Errorf("%s %v: %d %v %s", c.target, c.headers, status, header, body)
		}
		if c.waits && strings.Contains(c.target, "check") && !strings.Contains(body, `"delay":`) {
			t.Errorf("%s: %s", c.target, body)
		}
	}
}
