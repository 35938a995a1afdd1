package spop_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/door/budget"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/door/stream"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

const policies = `
sets: {office: {cidr: [192.0.2.0/24]}}
rules: [{name: login, limit: 2, window: 1m}]
policies:
  - {name: ours, match: {client: "@office"}, skip: all}
  - {name: scanners, match: {path: "/.env"}, deny: 403}
  - name: failures
    match: {path: ["/login", "/token"]}
    count_when: {path: "/login", method: POST, status: 401}
    limit: 2
    window: 1m
  - {name: api, match: {path: "/v2/**", header.x-plan: gold}, limit: 10, window: 1m}
  - {name: route, match: {path: "/v2/export", host: api.example.com}, limit: 1, window: 1m}
  - {name: quiet, match: {path: "/quiet"}, limit: 1, window: 1m, on_deny: {status: 503, announce: false, body: later}}
  - {name: trap, match: {path: "/trap"}, limit: 1, window: 1m, on_deny: {deceive: true}}
`

var visitor = netip.MustParseAddr("203.0.113.9")

// TestHello: the answer names the version, the smaller size of frames, and pipelining; each fault
// has the protocol's number, and ends that connection only.
func TestHello(t *testing.T) {
	t.Parallel()
	a := open(t, policies)
	for _, tt := range []struct{ name, send, want string }{
		{"HAProxy 2.6", helloOf26, "hello 0/0 version=2.0 max-frame-size=16380 " +
			"capabilities=pipelining"},
		{
			"small frames", frameOf(hello, fin, 0, 0, kvs("supported-versions", "1.0, 2.0",
				"max-frame-size", uint32(256), "capabilities", "")),
			"hello 0/0 version=2.0 max-frame-size=256 capabilities=pipelining",
		},
		{"large frames", frameOf(hello, fin, 0, 0, kvs("supported-versions", "2", "max-frame-size",
			uint32(1<<30), "capabilities", "")), "hello 0/0 version=2.0 max-frame-size=16380 " +
			"capabilities=pipelining"},
		{"no version", frameOf(hello, fin, 0, 0, kvs("max-frame-size", uint32(16380),
			"capabilities", "")), "disconnect 0/0 status-code=5 message=supported-versions is " +
			"missing"},
		{
			"no size", frameOf(hello, fin, 0, 0, kvs("supported-versions", "2.0", "capabilities",
				"")),
			"disconnect 0/0 status-code=6 message=max-frame-size is missing",
		},
		{
			"no capabilities", frameOf(hello, fin, 0, 0, kvs("supported-versions", "2.0",
				"max-frame-size", uint32(16380))),
			"disconnect 0/0 status-code=7 message=capabilities is missing",
		},
		{
			"another version", frameOf(hello, fin, 0, 0, kvs("supported-versions", "3.0",
				"max-frame-size", uint32(16380), "capabilities", "")),
			"disconnect 0/0 status-code=8 message=the version is not 2.0",
		},
		{
			"tiny frames", frameOf(hello, fin, 0, 0, kvs("supported-versions", "2.0",
				"max-frame-size",
				uint32(255), "capabilities", "")),
			"disconnect 0/0 status-code=9 message=max-frame-size is too small",
		},
		{"NOTIFY first", frameOf(notify, fin, 1, 1, ""), "disconnect 0/0 status-code=4 " +
			"message=the frame is malformed"},
		{"not SPOP", "GET / HTTP/1.1\r\n\r\n", "disconnect 0/0 status-code=3 message=the frame " +
			"is too big"},
		{"a value of no type", frameOf(hello, fin, 0, 0, str("x")+"\x0f"), "disconnect 0/0 " +
			"status-code=4 message=the frame is malformed"},
		{"ids of a stream", frameOf(hello, fin, 1, 1, ""), "disconnect 0/0 status-code=4 " +
			"message=the frame is malformed"},
		{"farewell", frameOf(disconnect, fin, 0, 0, kvs("status-code", uint32(0), "message",
			"normal")), "disconnect 0/0 status-code=0 message=the agent stops"},
	} {
		a.Conn = doortest.Dial(t, a.addr)
		a.send(tt.send)
		if got := a.receive(); got != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.name, got, tt.want)
		}
		if strings.HasPrefix(tt.want, "disconnect") {
			a.want("closed")
		}
	}
	if got := a.door.Stats().Broken; got != 9 {
		t.Errorf("%d connections ended for a fault, want 9", got)
	}
}

// TestHealthCheck: HAProxy's check of its agents gets a HELLO, and the connection is closed.
func TestHealthCheck(t *testing.T) {
	t.Parallel()
	a := open(t, policies)
	a.send(frameOf(hello, fin, 0, 0, kvs("supported-versions", "2.0", "max-frame-size",
		uint32(16380), "capabilities", "", "healthcheck", true)))
	a.want("hello 0/0 version=2.0 max-frame-size=16380 capabilities=pipelining")
	a.want("closed")
}

// TestAskOfACrowd: a block that would deny too many clients sheds, which its reason says.
func TestAskOfACrowd(t *testing.T) {
	t.Parallel()
	a := open(t, `policies: [{name: partner, match: {}, key: host, limit: 1, window: 1m, action: block, block_for: 10m, max_blast: 20}]`)
	gatetest.Crowd(t, a.gate, "partner", "h.example")
	a.greet()
	a.send(frameOf(notify, fin, 7, 300, message("ask", "path", "/", "host", "h.example", "src",
		visitor)))
	if got := a.receive(); !strings.HasPrefix(got, "ack 7/300 deny=true status=429 rule=partner "+
		"why=shed retry_after=") || strings.Contains(got, "blast") {
		t.Error(got)
	}
}

// TestAsk: policies decide by the arguments; each answer has the variables that hold.
func TestAsk(t *testing.T) {
	t.Parallel()
	a := open(t, policies)
	a.greet()
	headers := []byte(str("host") + str("ignored") + str("X-Plan") + str("gold") + "\x00\x00")
	for _, tt := range []struct {
		name  string
		pairs []any
		want  string
	}{
		{"no policy", []any{"method", "GET", "path", "/", "src", visitor}, "deny=false why=none"},
		{
			"an office",
			[]any{"path", "/.env", "src", netip.MustParseAddr("192.0.2.8")},
			"deny=false why=skip",
		},
		{"a scanner", []any{"url", "http://h/.env?x", "src", visitor}, "deny=true status=403 " +
			"why=policy"},
		{
			"headers as they are",
			[]any{"path", "/v2/a", "src", visitor, "hdrs", headers},
			`deny=false rule=api ratelimit_policy="api";q=10;w=60 ratelimit="api";r=9;t=60`,
		},
		{
			"two rules, one header by itself",
			[]any{
				"path", "/v2/export", "host", "API.example.com:443", "src", visitor,
				"header.x-plan", "gold",
			},
			`deny=false rule=route ratelimit_policy="route";q=1;w=60, "api";q=10;w=60 ratelimit="route";r=0;t=60, "api";r=8;t=60`,
		},
		{
			"the narrow one is full",
			[]any{
				"path", "/v2/export", "host", "api.example.com", "src", visitor, "header.x-plan",
				"gold",
			},
			`deny=true status=429 rule=route why=limit retry_after=60 ratelimit_policy="route";q=1;w=60, "api";q=10;w=60 ratelimit="route";r=0;t=60, "api";r=8;t=60`,
		},
		{"empty arguments are absent", []any{
			"path", "/", "host", nil, "country", "", "src",
			visitor,
		}, "deny=false why=none"},
		{
			"a host that is none",
			[]any{"path", "/", "host", "a b", "src", visitor},
			"deny=false why=none",
		},
		{"no path", []any{"method", "GET", "src", visitor}, "error=bad-request"},
		{
			"a target without one",
			[]any{"method", "GET", "path", nil, "src", visitor},
			"deny=false why=none",
		},
		{"a field that is not known", []any{"path", "/", "colour", "red"}, "error=unknown-field"},
		{"a field of reports", []any{"path", "/", "status", 200}, "error=unknown-field"},
		{"a path that is too long", []any{"path", "/" + strings.Repeat("x", 8192)}, "deny=true " +
			"status=414 why=unfit"},
		{"a path and another", []any{"path", "/", "url", "/.env"}, "error=bad-request"},
		{"a number that is none", []any{"path", "/", "asn", "x"}, "deny=false why=none"},
		{"headers cut short", []any{"path", "/", "hdrs", []byte("\x05ab")}, "error=bad-request"},
	} {
		a.send(frameOf(notify, fin, 7, 300, message("ask", tt.pairs...)))
		if got := a.receive(); !doortest.SameButRetry(got, "ack 7/300 "+tt.want) {
			t.Errorf("%s:\n%s\nwant ack 7/300 %s", tt.name, got, tt.want)
		}
	}
	if s := a.door.Stats(); s.Requests != 16 || s.Malformed != 5 || s.TooLong != 0 || s.Open != 1 {
		t.Errorf("%+v", s)
	}
}

// TestOnDeny: a quiet policy names no rule and no numbers, and who can pretend is told to.
func TestOnDeny(t *testing.T) {
	t.Parallel()
	a := open(t, policies)
	a.greet()
	for _, tt := range []struct {
		pairs []any
		want  string
	}{
		{[]any{"path", "/quiet", "src", visitor}, "deny=false"},
		{[]any{"path", "/quiet", "src", visitor}, "deny=true status=503 why=limit"},
		{
			[]any{"path", "/trap", "src", visitor},
			`deny=false rule=trap ratelimit_policy="trap";q=1;w=60 ratelimit="trap";r=0;t=60`,
		},
		{[]any{"path", "/trap", "src", visitor, "deceive", "ok"}, "deny=false deceive=true"},
	} {
		a.send(frameOf(notify, fin, 1, 1, message("ask", tt.pairs...)))
		a.want("ack 1/1 " + tt.want)
	}
}

// TestCheck: a rule and a key are asked as in a line; addresses are keys as they are written.
func TestCheck(t *testing.T) {
	t.Parallel()
	a := open(t, policies)
	a.greet()
	for i, tt := range []struct {
		pairs []any
		want  string
	}{
		{
			[]any{"rule", "login", "key", visitor},
			`deny=false rule=login ratelimit_policy="login";q=2;w=60 ratelimit="login";r=1;t=60`,
		},
		{
			[]any{"rule", "login", "key", "203.0.113.9"},
			`deny=false rule=login ratelimit_policy="login";q=2;w=60 ratelimit="login";r=0;t=60`,
		},
		{
			[]any{"rule", "login", "key", []byte("203.0.113.9"), "cost", 1},
			`deny=true status=429 rule=login why=limit retry_after=60 ratelimit_policy="login";q=2;w=60 ratelimit="login";r=0;t=60`,
		},
		{
			[]any{"rule", "login", "key", "other", "cost", uint64(2)},
			`deny=false rule=login ratelimit_policy="login";q=2;w=60 ratelimit="login";r=0;t=60`,
		},
		{[]any{"rule", "logout", "key", "k"}, "error=unknown-rule"},
		{[]any{"rule", "login"}, "error=bad-request"},
		{[]any{"rule", "login", "key", ""}, "error=bad-request"},
		{[]any{"rule", "login", "key", strings.Repeat("k", 257)}, "error=too-long"},
		{[]any{"rule", "login", "key", "k", "cost", 0}, "error=bad-request"},
		{[]any{"rule", "login", "key", "k", "cost", int64(-1)}, "error=bad-request"},
	} {
		a.send(frameOf(notify, fin, 1, uint64(i), message("ask", tt.pairs...)))
		if got, want := a.receive(), fmt.Sprintf("ack 1/%d %s", i, tt.want); got != want {
			t.Errorf("%v:\n%s\nwant %s", tt.pairs, got, want)
		}
	}
}

// TestReport: failures are counted by the ticket, or by the request with its response; then every
// way in is denied.
func TestReport(t *testing.T) {
	t.Parallel()
	a := open(t, policies)
	a.greet()
	login := func() (ticket string) {
		a.send(frameOf(notify, fin, 1, 1, message("ask", "method", "POST", "path", "/login", "src",
			visitor)))
		_, ticket, _ = strings.Cut(a.receive(), "ticket=")
		return ticket
	}
	first := login()
	if len(first) != 16 {
		t.Fatalf("ticket %q", first)
	}
	for _, report := range [][]any{
		{"ticket", first, "status", 401, "ms", 12},
		{"ticket", first, "status", 401}, // used
		{"ticket", "-", "status", 401},   // there was none
		{"ticket", login(), "status", 200},
		{"method", "POST", "path", "/login", "src", visitor, "status", uint32(401)},
	} {
		a.send(frameOf(notify, fin, 1, 2, message("report", report...)))
		a.want("ack 1/2")
	}
	a.send(frameOf(notify, fin, 1, 3, message("ask", "path", "/token", "src", visitor)))
	if got := a.receive(); !strings.Contains(got, "deny=true status=429 rule=failures why=limit") {
		t.Error(got)
	}
	a.send(frameOf(notify, fin, 1, 4, message("report", "ticket", "zz", "status", 401)))
	a.want("ack 1/4 error=bad-request")
}

// TestPipelining: frames of one write are answered in order, unknown messages and types of frames
// by nothing, and a frame that comes in two parts is one.
func TestPipelining(t *testing.T) {
	t.Parallel()
	a := open(t, policies)
	a.greet()
	one := frameOf(notify, fin, 2, 1, message("ask", "path", "/.env", "src", visitor)+
		message("later", "x", 1)+message("ask", "path", "/", "src", visitor))
	a.send(frameOf(77, fin, 0, 0, "anything"), one,
		frameOf(notify, fin, 3, 1<<40, message("later")), one[:20])
	a.want("ack 2/1 deny=true status=403 why=policy deny=false why=none")
	a.want(fmt.Sprintf("ack 3/%d", 1<<40))
	a.send(one[20:])
	a.want("ack 2/1 deny=true status=403 why=policy deny=false why=none")
}

// TestBroken: a frame that is not of the grammar ends the connection with the fault's number.
func TestBroken(t *testing.T) {
	t.Parallel()
	a, began := open(t, policies), time.Now()
	for _, tt := range []struct {
		name, send string
		status     int
	}{
		{"too big", "\x00\x00\x40\x00", 3},
		{"too many messages", frameOf(notify, fin, 1, 1, strings.Repeat(message("later"), 65)), 3},
		{"too short", "\x00\x00\x00\x02\x03\x00", 4},
		{"a second HELLO", helloOf26, 4},
		{"a fragment", frameOf(notify, 0, 1, 1, message("ask")), 10},
		{"the rest of a fragment", frameOf(0, fin, 1, 1, ""), 10},
		{"a name that is cut", frameOf(notify, fin, 1, 1, "\x09ask"), 4},
		{"no number of arguments", frameOf(notify, fin, 1, 1, str("ask")), 4},
		{"fewer arguments", frameOf(notify, fin, 1, 1, str("ask")+"\x02"+kvs("path", "/")), 4},
		{"a value of no type", frameOf(notify, fin, 1, 1, str("ask")+"\x01"+str("path")+"\x0b"), 4},
		{"a number without end", frameOf(notify, fin, 1, 1, str("ask")+"\x01"+str("status")+"\x03"+
			strings.Repeat("\xff", 12)), 4},
	} {
		began = time.Now()
		a.Conn = doortest.Dial(t, a.addr)
		a.greet()
		a.send(tt.send)
		if got, want := a.receive(), fmt.Sprintf("disconnect 0/0 status-code=%d ",
			tt.status); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", tt.name, got, want)
		}
		a.want("closed")
	}
	doortest.WaitFor(t, func() bool { return a.door.Stats().Open == 1 })
	if kept := time.Since(began); kept < stream.FaultPause {
		t.Errorf("a connection at fault kept its place for %v", kept)
	}
}

// TestBusy: a large frame for which there is no memory ends its connection; a small one needs none,
// and what a large one took is given back.
func TestBusy(t *testing.T) {
	t.Parallel()
	a := open(t, policies)
	a.greet()
	large := frameOf(notify, fin, 1, 1, message("ask", "path", "/", "src", visitor, "header.x-a",
		strings.Repeat("x", 8<<10)))
	a.send(large[:6<<10])
	doortest.WaitFor(t, func() bool { return a.bytes.Used() > 0 })
	a.send(large[6<<10:])
	a.want("ack 1/1 deny=false why=none")
	doortest.WaitFor(t, func() bool { return a.bytes.Used() == 0 })
	if !a.bytes.Take(budget.Most) {
		t.Fatal("not all was given back")
	}
	a.send(frameOf(notify, fin, 1, 2, message("ask", "path", "/", "src", visitor)))
	a.want("ack 1/2 deny=false why=none")
	a.send(large[:6<<10])
	if got := a.receive(); !strings.HasPrefix(got, "disconnect 0/0 status-code=13 ") {
		t.Error(got)
	}
	a.want("closed")
	if got := a.bytes.Refused(); got != 1 {
		t.Errorf("%d refused", got)
	}
}

// TestSmallFrames: an ACK never exceeds what HAProxy takes; the answers without room are counted.
func TestSmallFrames(t *testing.T) {
	t.Parallel()
	a := open(t, policies)
	a.send(frameOf(hello, fin, 0, 0, kvs("supported-versions", "2.0", "max-frame-size", uint32(256),
		"capabilities", "")))
	a.receive()
	a.send(frameOf(notify, fin, 1, 1, strings.Repeat(message("ask", "rule", "login", "key", "k"),
		8)))
	if got := a.receive(); strings.Count(got, "deny=") != 2 {
		t.Error(got)
	}
	if got := a.door.Stats().Unanswered; got != 6 {
		t.Errorf("%d without an answer, want 6", got)
	}
	a.send(frameOf(notify, fin, 1, 1, strings.Repeat(message("ask", "rule", "login", "key", "k"),
		12)))
	if got := a.receive(); !strings.HasPrefix(got, "disconnect 0/0 status-code=3 ") {
		t.Error(got)
	}
}

// TestDenialInASmallFrame: what the headers say is left out before the verdict is, which would let
// the request pass.
func TestDenialInASmallFrame(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("n", 64)
	a := open(t, fmt.Sprintf("rules: []\npolicies: [{name: %s, match: {}, limit: 1, window: 1m}, "+
		"{name: %s, match: {}, limit: 2, window: 1m}]\n", name, name[1:]))
	a.send(frameOf(hello, fin, 0, 0, kvs("supported-versions", "2.0", "max-frame-size", uint32(256),
		"capabilities", "")))
	a.receive()
	for i, want := range []string{"ack 1/1 deny=false rule=" + name, "ack 1/1 deny=true " +
		"status=429 rule=" + name + " why=limit retry_after=6"} {
		a.send(frameOf(notify, fin, 1, 1, message("ask", "path", "/")))
		if got := a.receive(); !strings.HasPrefix(got, want) || strings.Contains(got, "ratelimit") {
			t.Errorf("%d: %s, want %s", i, got, want)
		}
	}
	if got := a.door.Stats().Unanswered; got != 0 {
		t.Errorf("%d are counted as unanswered", got)
	}
}

// TestStop: HAProxy learns that the agent stops, and a connection that never said HELLO is closed.
func TestStop(t *testing.T) {
	t.Parallel()
	a := open(t, policies)
	silent := a.Conn
	a.Conn = doortest.Dial(t, a.addr)
	a.greet()
	a.stop()
	a.want("disconnect 0/0 status-code=0 message=the agent stops")
	a.want("closed")
	a.Conn = silent
	a.want("closed")
}
