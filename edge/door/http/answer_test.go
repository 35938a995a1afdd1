package http

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
)

var updateGolden = flag.Bool("update", false, "write the golden files of this package anew")

// TestHTTPGolden holds every kind of answer to its bytes, but for the date.
func TestHTTPGolden(t *testing.T) {
	t.Parallel()
	const batch = `{"checks":[{"rule":"login","key":"a"},{"rule":"per-ip","key":"shed","cost":3},{"rule":"login","key":"shadowed"}]}`
	for name, raw := range map[string]string{
		"allow":        "GET /v1/check?rule=login&key=a HTTP/1.1\r\nHost: h\r\n\r\n",
		"allow_odd":    "GET /v1/check?rule=odd_window.v2&key=a HTTP/1.1\r\nHost: h\r\n\r\n",
		"allow_shadow": "GET /v1/check?rule=login&key=shadowed HTTP/1.1\r\nHost: h\r\n\r\n",
		"allow_http10": "GET /v1/check?rule=login&key=a HTTP/1.0\r\n\r\n",
		"deny_limit":   "GET /v1/check?rule=login&key=limited HTTP/1.1\r\nHost: h\r\n\r\n",
		"deny_block": "GET /v1/check?rule=login&key=blocked&status=503 HTTP/1.1\r\nHost: " +
			"h\r\n\r\n",
		"deny_shed":    "GET /v1/peek?rule=per-ip&key=shed&status=403 HTTP/1.1\r\nHost: h\r\n\r\n",
		"count":        "POST /v1/count?rule=login&key=a HTTP/1.1\r\nHost: h\r\n\r\n",
		"json":         post("/v1/check", jsonType, `{"rule":"login","key":"limited","cost":2}`),
		"batch":        post("/v1/check", jsonType, batch),
		"batch_count":  post("/v1/count", jsonType, batch),
		"unknown_rule": "GET /v1/check?rule=nobody&key=a HTTP/1.1\r\nHost: h\r\n\r\n",
		"bad_key":      "GET /v1/check?rule=login&key=%zz HTTP/1.1\r\nHost: h\r\n\r\n",
		"bad_method":   "DELETE /v1/check?rule=login&key=a HTTP/1.1\r\nHost: h\r\n\r\n",
		"bad_batch_key": post("/v1/check", jsonType,
			`{"checks":[{"rule":"login","key":"a"},{"rule":"login"}]}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := openDoor(t, newFakeDecider(), testLimits()).dial(t)
			if _, err := io.WriteString(c, raw); err != nil {
				t.Fatal(err)
			}
			var seen bytes.Buffer
			doortest.ReadReply(t, bufio.NewReader(io.TeeReader(c, &seen)))
			compareGolden(t, name,
				regexp.MustCompile(`Date: [^\r]*`).ReplaceAll(seen.Bytes(), []byte("Date: (now)")))
		})
	}
}

func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	text := strings.ReplaceAll(string(got), "\r\n", "\n")
	file := filepath.Join("testdata", name+".golden")
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

// TestHTTPQueries checks the question that reaches the gate for each request target.
func TestHTTPQueries(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", mitigation.MaxKey)
	query := func(op gate.Op, rule, key string, cost uint32) gate.Ask {
		return gate.Ask{Op: op, Rule: []byte(rule), Key: []byte(key), Cost: cost}
	}
	for target, want := range map[string]gate.Ask{
		"/v1/check?rule=login&key=a":       query(gate.Check, "login", "a", 1),
		"/v1/peek?key=a&rule=login&cost=7": query(gate.Peek, "login", "a", 7),
		"/v1/count?rule=login&key=a&cost=1000000": query(gate.Count,
			"login", "a", 1_000_000),
		"/v1/check?rule=per%2dip&key=a%20b+c%00%FF": query(gate.Check, "per-ip",
			"a b c\x00\xff", 1),
		"/v1/check?&rule=login&&key=a=b;c&x=%zz&y": query(gate.Check, "login", "a=b;c", 1),
		"/v1/check?rule=login&key=2001:db8::1&status=403": query(gate.Check,
			"login", "2001:db8::1", 1),
		"/v1/check?rule=login&key=" + long:   query(gate.Check, "login", long, 1),
		"http://h/v1/check?rule=login&key=a": query(gate.Check, "login", "a", 1),
	} {
		for _, method := range []string{"GET", "POST"} {
			j := newFakeDecider()
			r := openDoor(t, j, testLimits()).send(t,
				method+" "+target+" HTTP/1.1\r\nHost: h\r\n\r\n")
			if r.StatusCode/100 != 2 {
				t.Errorf("%s %s: status %d: %s", method, target, r.StatusCode, r.Text)
			}
			if diff := cmp.Diff([]gate.Ask{want}, j.queries()); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", method, target, diff)
			}
		}
	}
}

// TestHTTPBodies checks the questions that reach the gate for each body.
func TestHTTPBodies(t *testing.T) {
	t.Parallel()
	j := newFakeDecider()
	d := openDoor(t, j, testLimits())
	large := strings.TrimSuffix(strings.Repeat(`{"rule":"per-ip","key":"k"} ,`, mostChecks), ",")
	for _, body := range []string{
		` { "key" : "\u00e9\ud83d\ude00\"\n" , "cost":12,"rule":"login"} `,
		`{"checks":[{"rule":"login","key":"a"},{"rule":"per-ip","key":"b","cost":2}]}`,
		`{"checks":[` + large + `]}`,
	} {
		if r := d.post(t, "/v1/peek", body); r.StatusCode != http.StatusOK {
			t.Errorf("status %d: %s", r.StatusCode, r.Text)
		}
	}
	got := j.queries()
	want := []gate.Ask{
		{Op: gate.Peek, Rule: []byte("login"), Key: []byte("é😀\"\n"), Cost: 12},
		{Op: gate.Peek, Rule: []byte("login"), Key: []byte("a"), Cost: 1},
		{Op: gate.Peek, Rule: []byte("per-ip"), Key: []byte("b"), Cost: 2},
	}
	if diff := cmp.Diff(want, got[:len(want)]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(got) != len(want)+mostChecks {
		t.Errorf("%d queries, want %d", len(got), len(want)+mostChecks)
	}
}

// TestHTTPChunked checks that a body of unannounced length is read, and the connection goes on
// after it.
func TestHTTPChunked(t *testing.T) {
	t.Parallel()
	j := newFakeDecider()
	c := openDoor(t, j, testLimits()).dial(t)
	br := bufio.NewReader(c)
	for range 2 {
		fmt.Fprint(c, "POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Type: Application/JSON; "+
			"charset=utf-8\r\n"+
			"Transfer-Encoding: chunked\r\n\r\n10\r\n{\"rule\":\"login\",\r\nb\r\n\"key\":\"a\"  "+
			"\r\n1\r\n}\r\n0\r\n\r\n")
		if r := doortest.ReadReply(t, br); r.StatusCode != http.StatusOK || r.Close {
			t.Fatalf("status %d, close %t: %s", r.StatusCode, r.Close, r.Text)
		}
	}
	if n := len(j.queries()); n != 2 {
		t.Errorf("%d queries, want 2", n)
	}
}
