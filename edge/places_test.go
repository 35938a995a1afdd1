package edge_test

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// running is a node that runs, and is asked over its own doors.
type running struct {
	*testing.T
	node  *edge.Node
	lines net.Conn
}

// start runs a node with that configuration, on free ports of loopback.
func start(t *testing.T, text string) *running {
	t.Helper()
	return startAt(t, `udp: "127.0.0.1:0", http: "127.0.0.1:0", admin: "127.0.0.1:0"`, text)
}

// startAt is start for other listeners.
func startAt(t *testing.T, listen, text string) *running {
	t.Helper()
	return run(t, edge.Options{Config: parse(t, listen, text)})
}

// parse returns the configuration of those listeners and text.
func parse(t *testing.T, listen, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("headgate.yaml", []byte(edgetest.Small("listen: {"+listen+"}\n"+text)))
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

// run is start for a node of other options.
func run(t *testing.T, o edge.Options) *running {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	node, err := edge.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	doortest.Serve(t, node.Run)
	r := &running{T: t, node: node}
	if r.lines, err = net.Dial("udp", node.Addresses().Datagram[0].String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.lines.Close() })
	return r
}

// send returns the reply to one line, without its line feed.
func (r *running) send(line string) string {
	r.Helper()
	if _, err := io.WriteString(r.lines, line+"\n"); err != nil {
		r.Fatal(err)
	}
	var room [512]byte
	_ = r.lines.SetReadDeadline(time.Now().Add(10 * time.Second))
	n, err := r.lines.Read(room[:])
	if err != nil {
		r.Fatal(err)
	}
	return strings.TrimSuffix(string(room[:n]), "\n")
}

// says fails the test unless the reply to line matches want, a pattern. It returns the first group.
func (r *running) says(line, want string) string {
	r.Helper()
	got := r.send(line)
	found := regexp.MustCompile("^(?:" + want + ")$").FindStringSubmatch(got)
	if found == nil {
		r.Errorf("%s: %q, want %s", line, got, want)
		return ""
	}
	return found[len(found)-1]
}

// talks is says for each line of script: a line to the daemon, an arrow and the answer.
func (r *running) talks(script string) {
	r.Helper()
	for question, answer := range doortest.Script(script) {
		r.says(question, answer)
	}
}

// post returns the status, a header and the body of the answer to a POST. A body is sent as JSON.
func (r *running) post(target, body string) (status int, header http.Header, text string) {
	r.Helper()
	q, err := http.NewRequest(
		http.MethodPost,
		"http://"+r.node.Addresses().HTTP[0].String()+target,
		strings.NewReader(body),
	)
	if err != nil {
		r.Fatal(err)
	}
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	is, err := http.DefaultClient.Do(q)
	if err != nil {
		r.Fatal(err)
	}
	defer is.Body.Close() //nolint:errcheck // only read from
	all, _ := io.ReadAll(is.Body)
	return is.StatusCode, is.Header, strings.TrimSpace(string(all))
}

const placesConfig = `
rules:
  - {name: exports, kind: concurrency, limit: 2, lease: 2m}
  - {name: shared, kind: concurrency, limit: 10, reserve: {critical: 20%}}
  - {name: fleet, limit: 10, window: 1m, reserve: {critical: 20%}}
policies:
  - {name: payments, match: {path: /pay}, tier: critical}
  - {name: api, match: {path: ["/pay", "/api"]}, key: all, rules: [fleet]}
  - {name: download, match: {path: "/get/**"}, key: client, kind: concurrency, limit: 2, lease: 1m}
  - name: attempts
    match: {path: "/get/secret"}
    count_when: {path: "/get/secret", status: 403}
    limit: 3
    window: 1m
`

func TestPlacesOverLines(t *testing.T) {
	n := start(t, placesConfig)
	first := n.says(
		"acquire exports a id=1",
		`id=1 allow lease=([0-9a-f]{16}) remaining=1 reset=120 view=node`,
	)
	n.talks(`
		acquire exports a lease=30 → allow lease=([0-9a-f]{16}) remaining=0 reset=30 view=node
		acquire exports a → deny why=limit retry=1 view=node remaining=\d+
		peek exports a → deny why=limit retry=1 view=node remaining=\d+
	`)
	n.says("release exports a lease="+first, "ok")
	n.says("release exports a lease="+first, "ok late=1")
	n.talks(`
		release exports b → ok late=1
		renew exports a → ok
		release exports a → ok
		renew exports a id=x → id=x ok late=1
		check exports a → error bad-request
		count exports a → error bad-request
		acquire fleet a → error bad-request
		release fleet a → error bad-request
		acquire none a → error unknown-rule
		acquire exports a cost=3 → deny why=cost remaining=2 view=node
		acquire shared a cost=8 → allow lease=([0-9a-f]{16}) remaining=0 reset=60 view=node
		acquire shared a → deny why=reserve status=503 retry=1 view=node
		acquire shared a tier=critical → allow lease=([0-9a-f]{16}) remaining=1 reset=60 view=node
	`)
}

func TestPlacesOverHTTP(t *testing.T) {
	n := start(t, placesConfig)
	status, header, body := n.post("/v1/acquire?rule=exports&key=a", "")
	number := header.Get("Headgate-Lease")
	if status != 200 || header.Get(
		"RateLimit-Policy") != `"exports";q=2;qu="concurrent-requests"` ||
		header.Get("RateLimit") != `"exports";r=1;t=120` ||
		body != `{"verdict":"allow","rule":"exports","limit":2,"remaining":1,"reset":120,"view":"node","lease":"`+number+`"}` {
		t.Errorf("%d %v %s", status, header, body)
	}
	if status, header, body = n.post("/v1/acquire",
		`{"rule":"exports","key":"a","cost":1,"lease":30}`); status != 200 ||
		header.Get("Headgate-Lease") == "" {
		t.Errorf("%d %v %s", status, header, body)
	}
	if status, header, body = n.post("/v1/acquire?rule=exports&key=a", ""); status != 429 ||
		header.Get("Retry-After") != "1" || header.Get("Headgate-Lease") != "" {
		t.Errorf("%d %v %s", status, header, body)
	}
	if status, header, _ = n.post("/v1/renew", `{"rule":"exports","key":"a","lease":"`+number+
		`"}`); status != 204 || header.Get("Headgate-Late") != "" {
		t.Errorf("%d %v", status, header)
	}
	for _, late := range []string{"", "1"} {
		if status, header, _ = n.post("/v1/release?rule=exports&key=a&lease="+number,
			""); status != 204 || header.Get("Headgate-Late") != late {
			t.Errorf("%d %v", status, header)
		}
	}
	n.post("/v1/acquire?rule=shared&key=a&cost=8", "")
	if status, header, _ = n.post("/v1/acquire?rule=shared&key=a", ""); status != 503 ||
		header.Get("Headgate-Why") != "reserve" {
		t.Errorf("%d %v", status, header)
	}
	for target, want := range map[string]int{
		"/v1/acquire?rule=fleet&key=a": 400, "/v1/check?rule=exports&key=a": 400,
		"/v1/release?rule=none&key=a": 404, "/v1/acquire?rule=exports": 400,
		"/v1/acquire?rule=exports&key=a&lease=0":  400,
		"/v1/acquire?rule=exports&key=a&lease=1m": 400,
		"/v1/acquire?rule=exports&key=a&cost=0":   400,
		"/v1/release?rule=exports&key=a&lease=af": 400,
		"/v1/release?rule=exports&key=a&cost=1":   400, "/v1/renew?rule=exports&key=a&key=b": 400,
	} {
		if status, _, body := n.post(target, ""); status != want {
			t.Errorf("%s: %d %s", target, status, body)
		}
	}
	if status, _, body := n.post("/v1/check",
		`{"checks":[{"rule":"fleet","key":"x"},{"rule":"exports","key":"x"}]}`); status != 400 ||
		!strings.Contains(body, "checks[1].rule") {
		t.Errorf("%d %s", status, body)
	}
	n.says("peek fleet x", "allow remaining=8 .*")
}

// A policy takes a place for a request that passes; the report of its response gives it back.
func TestPlacesByPolicies(t *testing.T) {
	n := start(t, placesConfig)
	first := n.says(
		"ask path=/get/a client=203.0.113.7",
		`allow ticket=([0-9a-f]{16}) rule=download remaining=1 reset=60 view=node`,
	)
	n.says(
		"ask path=/get/b client=203.0.113.7",
		`allow ticket=([0-9a-f]{16}) rule=download remaining=0 .*`,
	)
	n.says(
		"ask path=/get/c client=203.0.113.7",
		`deny why=limit retry=1 rule=download view=node remaining=0`,
	)
	n.says("ask path=/get/c client=203.0.113.8", `allow ticket=([0-9a-f]{16}) .*`)
	n.says("report ticket="+first+" status=200 id=1", "id=1 ok")
	n.says("report ticket="+first+" status=200 id=2", "id=2 ok late=1")
	second := n.says(
		"ask path=/get/c client=203.0.113.7",
		`allow ticket=([0-9a-f]{16}) rule=download remaining=0 .*`,
	)
	n.says("renew download 203.0.113.7 lease="+second, "ok")
	n.says("release download 203.0.113.7 lease="+second, "ok")

	// A ticket that also waits for the status: its number is that of the lease too.
	both := n.says("ask path=/get/secret client=203.0.113.9", `allow ticket=([0-9a-f]{16}) .*`)
	n.says("peek download 203.0.113.9", `allow remaining=1 .*`)
	n.says("renew download 203.0.113.9 lease="+both, "ok")
	n.says("report ticket="+both+" status=403 id=1", "id=1 ok")
	n.talks(`
		peek download 203.0.113.9 → allow remaining=2 .*
		peek attempts 203.0.113.9 → allow remaining=2 .*
	`)
	both = n.says("ask path=/get/secret client=203.0.113.9", `allow ticket=([0-9a-f]{16}) .*`)
	n.says("release download 203.0.113.9 lease="+both, "ok")
	n.says("release download 203.0.113.9 lease="+both, "ok late=1")
	n.says("report ticket="+both+" status=403 id=1", "id=1 ok")
	n.says("peek attempts 203.0.113.9", `allow remaining=1 .*`)

	// The tier of a policy, and that of a trusted sender, open what is reserved.
	for range 8 {
		n.says("ask path=/api", `allow rule=fleet .*`)
	}
	n.talks(`
		ask path=/api → deny why=reserve status=503 retry=\d+ rule=fleet view=node
		ask path=/pay → allow rule=fleet remaining=1 .*
		ask path=/api tier=critical → allow rule=fleet remaining=0 .*
		ask path=/pay → deny why=limit retry=\d+ rule=fleet view=node remaining=\d+
	`)
	if status, header, _ := n.post("/v1/check?rule=fleet&key=x&cost=9", ""); status != 503 ||
		header.Get("Headgate-Why") != "reserve" {
		t.Errorf("%d %v", status, header)
	}
	if status, _, _ := n.post("/v1/check?rule=fleet&key=x&cost=9&status=403", ""); status != 403 {
		t.Errorf("the status that was asked for: %d", status)
	}
	n.talks(`
		check fleet x cost=9 tier=critical → allow remaining=1 .*
		check fleet x → deny why=reserve retry=\d+ view=node
	`)
}
