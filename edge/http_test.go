package edge

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

var updateGolden = flag.Bool("update", false, "write the golden files of this package anew")

// patience bounds every wait of a test: long enough for a busy machine, short enough for a person.
const patience = 10 * time.Second

// fakeJudge answers what the key asks for and remembers every query it was given.
type fakeJudge struct {
	rules map[string]*mitigation.Rule

	mu    sync.Mutex
	asked []wire.Query // with copies of their slices
	gate  chan struct{}
}

func newFakeJudge() *fakeJudge {
	rules := map[string]*mitigation.Rule{}
	for _, r := range []mitigation.Rule{
		{Name: "login", Limit: 5, Window: time.Minute, Action: mitigation.Block, BlockFor: 10 * time.Minute},
		{Name: "per-ip", Limit: 100, Window: 10 * time.Second},
		{Name: "odd_window.v2", Limit: 1_000_000_000, Window: 1500 * time.Millisecond},
	} {
		rules[r.Name] = &r
	}
	return &fakeJudge{rules: rules}
}

func (*fakeJudge) Now() window.Instant { return 1 }

func (j *fakeJudge) Rule(name []byte) *mitigation.Rule { return j.rules[string(name)] }

func (j *fakeJudge) decide(_ uint64, _ window.Instant, _ uint64, q wire.Query) Decision {
	r := j.rules[string(q.Rule)]
	if r == nil {
		return Decision{}
	}
	if j.gate != nil {
		<-j.gate
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	q.Rule, q.Key = bytes.Clone(q.Rule), bytes.Clone(q.Key)
	j.asked = append(j.asked, q)
	return Decision{Rule: r, Answer: fakeAnswer(q)}
}

func fakeAnswer(q wire.Query) wire.Answer {
	if q.Op == wire.Count {
		return wire.Answer{Status: wire.OK}
	}
	switch string(q.Key) {
	case "limited":
		return wire.Answer{Status: wire.Deny, Why: wire.WhyLimit, Reset: 7, Retry: 9}
	case "blocked":
		return wire.Answer{Status: wire.Deny, Why: wire.WhyBlock, View: wire.ViewPoP, Reset: 30, Retry: 600}
	case "shed":
		return wire.Answer{Status: wire.Deny, Why: wire.WhyShed, View: wire.ViewGlobal, Ratio: 0.83, Remaining: 3}
	case "shadowed":
		return wire.Answer{Status: wire.Allow, Shadow: true, Reset: 60}
	}
	return wire.Answer{Status: wire.Allow, Remaining: 4, Reset: 60}
}

// queries returns what was asked so far.
func (j *fakeJudge) queries() []wire.Query {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]wire.Query(nil), j.asked...)
}

func testLimits() httpLimits {
	return httpLimits{read: patience, write: patience, idle: patience, drain: patience, conns: maxHTTPConns}
}

// door is a listener under test.
type door struct {
	*HTTP
	addr net.Addr
	stop func() error // ends Serve and returns what it returned; may be called again
}

// open serves j on a loopback port until the test ends.
func openDoor(t testing.TB, j judge, limits httpLimits) *door {
	t.Helper()
	ln, err := ListenHTTP(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveDoor(t, newHTTP(j, limits), ln)
}

func serveDoor(t testing.TB, h *HTTP, ln net.Listener) *door {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- h.Serve(ctx, ln) }()
	stop := sync.OnceValue(func() error {
		cancel()
		return <-served
	})
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return &door{HTTP: h, addr: ln.Addr(), stop: stop}
}

// dial connects to d, with a deadline for everything that follows.
func (d *door) dial(t testing.TB) net.Conn {
	t.Helper()
	c, err := net.Dial(d.addr.Network(), d.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

// reply is one response, its body read.
type reply struct {
	*http.Response
	body string
}

// readReply reads the next response of a connection.
func readReply(t testing.TB, br *bufio.Reader) reply {
	t.Helper()
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatalf("read response: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("read body: %v", err)
	}
	return reply{resp, string(body)}
}

// send sends raw bytes on a connection of its own and returns the first response.
func (d *door) send(t testing.TB, raw string) reply {
	t.Helper()
	c := d.dial(t)
	if _, err := io.WriteString(c, raw); err != nil {
		t.Fatal(err)
	}
	return readReply(t, bufio.NewReader(c))
}

// get asks for a target without a body.
func (d *door) get(t testing.TB, target string) reply {
	t.Helper()
	return d.send(t, "GET "+target+" HTTP/1.1\r\nHost: h\r\n\r\n")
}

// post sends a JSON body.
func (d *door) post(t testing.TB, target, body string) reply {
	t.Helper()
	return d.send(t, post(target, mediaJSON, body))
}

func post(target, contentType, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: h\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
		target, contentType, len(body), body)
}

// TestHTTPGolden holds every kind of answer to its bytes, but for the date.
func TestHTTPGolden(t *testing.T) {
	t.Parallel()
	const batch = `{"checks":[{"rule":"login","key":"a"},{"rule":"per-ip","key":"shed","cost":3},{"rule":"login","key":"shadowed"}]}`
	for name, raw := range map[string]string{
		"allow":         "GET /v1/check?rule=login&key=a HTTP/1.1\r\nHost: h\r\n\r\n",
		"allow_odd":     "GET /v1/check?rule=odd_window.v2&key=a HTTP/1.1\r\nHost: h\r\n\r\n",
		"allow_shadow":  "GET /v1/check?rule=login&key=shadowed HTTP/1.1\r\nHost: h\r\n\r\n",
		"allow_http10":  "GET /v1/check?rule=login&key=a HTTP/1.0\r\n\r\n",
		"deny_limit":    "GET /v1/check?rule=login&key=limited HTTP/1.1\r\nHost: h\r\n\r\n",
		"deny_block":    "GET /v1/check?rule=login&key=blocked&status=503 HTTP/1.1\r\nHost: h\r\n\r\n",
		"deny_shed":     "GET /v1/peek?rule=per-ip&key=shed&status=403 HTTP/1.1\r\nHost: h\r\n\r\n",
		"count":         "POST /v1/count?rule=login&key=a HTTP/1.1\r\nHost: h\r\n\r\n",
		"json":          post("/v1/check", mediaJSON, `{"rule":"login","key":"limited","cost":2}`),
		"batch":         post("/v1/check", mediaJSON, batch),
		"batch_count":   post("/v1/count", mediaJSON, batch),
		"unknown_rule":  "GET /v1/check?rule=nobody&key=a HTTP/1.1\r\nHost: h\r\n\r\n",
		"bad_key":       "GET /v1/check?rule=login&key=%zz HTTP/1.1\r\nHost: h\r\n\r\n",
		"bad_method":    "DELETE /v1/check?rule=login&key=a HTTP/1.1\r\nHost: h\r\n\r\n",
		"bad_batch_key": post("/v1/check", mediaJSON, `{"checks":[{"rule":"login","key":"a"},{"rule":"login"}]}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := openDoor(t, newFakeJudge(), testLimits()).dial(t)
			if _, err := io.WriteString(c, raw); err != nil {
				t.Fatal(err)
			}
			var seen bytes.Buffer
			readReply(t, bufio.NewReader(io.TeeReader(c, &seen)))
			compareGolden(t, name, regexp.MustCompile(`Date: [^\r]*`).ReplaceAll(seen.Bytes(), []byte("Date: (now)")))
		})
	}
}

func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	text := strings.ReplaceAll(string(got), "\r\n", "\n")
	file := filepath.Join("testdata", "http", name+".golden")
	if *updateGolden {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// TestHTTPQueries checks what reaches the judge.
func TestHTTPQueries(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", mitigation.MaxKey)
	query := func(op wire.Op, rule, key string, cost uint32) wire.Query {
		return wire.Query{Op: op, Rule: []byte(rule), Key: []byte(key), Cost: cost}
	}
	for target, want := range map[string]wire.Query{
		"/v1/check?rule=login&key=a":                      query(wire.Check, "login", "a", 1),
		"/v1/peek?key=a&rule=login&cost=7":                query(wire.Peek, "login", "a", 7),
		"/v1/count?rule=login&key=a&cost=1000000":         query(wire.Count, "login", "a", 1_000_000),
		"/v1/check?rule=per%2dip&key=a%20b+c%00%FF":       query(wire.Check, "per-ip", "a b c\x00\xff", 1),
		"/v1/check?&rule=login&&key=a=b;c&x=%zz&y":        query(wire.Check, "login", "a=b;c", 1),
		"/v1/check?rule=login&key=2001:db8::1&status=403": query(wire.Check, "login", "2001:db8::1", 1),
		"/v1/check?rule=login&key=" + long:                query(wire.Check, "login", long, 1),
		"http://h/v1/check?rule=login&key=a":              query(wire.Check, "login", "a", 1),
	} {
		for _, method := range []string{"GET", "POST"} {
			j := newFakeJudge()
			r := openDoor(t, j, testLimits()).send(t, method+" "+target+" HTTP/1.1\r\nHost: h\r\n\r\n")
			if r.StatusCode/100 != 2 {
				t.Errorf("%s %s: status %d: %s", method, target, r.StatusCode, r.body)
			}
			if diff := cmp.Diff([]wire.Query{want}, j.queries()); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", method, target, diff)
			}
		}
	}
}

// TestHTTPBodies checks what of a body reaches the judge.
func TestHTTPBodies(t *testing.T) {
	t.Parallel()
	j := newFakeJudge()
	d := openDoor(t, j, testLimits())
	large := strings.TrimSuffix(strings.Repeat(`{"rule":"per-ip","key":"k"} ,`, maxHTTPChecks), ",")
	for _, body := range []string{
		` { "key" : "\u00e9\ud83d\ude00\"\n" , "cost":12,"rule":"login"} `,
		`{"checks":[{"rule":"login","key":"a"},{"rule":"per-ip","key":"b","cost":2}]}`,
		`{"checks":[` + large + `]}`,
	} {
		if r := d.post(t, "/v1/peek", body); r.StatusCode != http.StatusOK {
			t.Errorf("status %d: %s", r.StatusCode, r.body)
		}
	}
	got := j.queries()
	want := []wire.Query{
		{Op: wire.Peek, Rule: []byte("login"), Key: []byte("é😀\"\n"), Cost: 12},
		{Op: wire.Peek, Rule: []byte("login"), Key: []byte("a"), Cost: 1},
		{Op: wire.Peek, Rule: []byte("per-ip"), Key: []byte("b"), Cost: 2},
	}
	if diff := cmp.Diff(want, got[:len(want)]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(got) != len(want)+maxHTTPChecks {
		t.Errorf("%d queries, want %d", len(got), len(want)+maxHTTPChecks)
	}
}

// TestHTTPChunked checks that a body of unannounced length is read, and the connection goes on after it.
func TestHTTPChunked(t *testing.T) {
	t.Parallel()
	j := newFakeJudge()
	c := openDoor(t, j, testLimits()).dial(t)
	br := bufio.NewReader(c)
	for range 2 {
		fmt.Fprint(c, "POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Type: Application/JSON; charset=utf-8\r\n"+
			"Transfer-Encoding: chunked\r\n\r\n10\r\n{\"rule\":\"login\",\r\nb\r\n\"key\":\"a\"  \r\n1\r\n}\r\n0\r\n\r\n")
		if r := readReply(t, br); r.StatusCode != http.StatusOK || r.Close {
			t.Fatalf("status %d, close %t: %s", r.StatusCode, r.Close, r.body)
		}
	}
	if n := len(j.queries()); n != 2 {
		t.Errorf("%d queries, want 2", n)
	}
}
