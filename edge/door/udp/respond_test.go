package udp

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/wire"
)

// doorOf returns a door to g without sockets.
func doorOf(g *gate.Gate, public bool) *Door {
	return &Door{
		gate: g, room: ask.New(g, 1<<20), public: public,
		stats: new([gate.Lanes]readerStats),
	}
}

// reader0 returns the answers of reader 0 of u, and ends its batch.
func reader0(u *Door) (answer func(packet, reply []byte) []byte, end func()) {
	g := u.gate
	now := g.Now()
	decisions := g.Lane(0).Batch(now, rand.Uint64)
	k := u.newAsker()
	k.now = now
	return func(packet, reply []byte) []byte {
		return u.respond(&u.stats[0], &decisions, &k, packet,
			reply)
	}, decisions.End
}

// respond answers packet as reader 0 of u does.
func respond(u *Door, packet, reply []byte) []byte {
	answer, end := reader0(u)
	defer end()
	return answer(packet, reply)
}

// TestOffLoopbackNeverAmplifies: there the answer is never longer than the question, whatever it
// is.
func TestOffLoopbackNeverAmplifies(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Shed)
	u := doorOf(g, true)
	for _, s := range []struct{ request, want string }{
		{"check shed 203.0.113.7\n", "allow remaining=2\n"},
		{"check shed 203.0.113.7 pad=123456\n", "allow remaining=1 reset=10\n"},
		{"check shed k\n", "allow\n"},
		{"ping\n", "pong\n"},
		{"ping", "pong"}, // no line feed to pay for one
		{"ping\nping", "pong\npong"},
		{"x", ""},
		{"", ""},
		{"x\nping\n", ""},
		{strings.Repeat("y", 9000), "error too-long\n"},
	} {
		got := string(respond(u, []byte(s.request), nil))
		if got != s.want {
			t.Errorf("%.40q: %q, want %q", s.request, got, s.want)
		}
	}
	if u.Stats().Unanswered == 0 {
		t.Error("what was not sent is not counted")
	}
}

func FuzzRespond(f *testing.F) {
	for _, seed := range []string{
		"ping", "check shed k\npeek shed k id=1\n", "\n\n\n",
		"check shed %00 cost=9", strings.Repeat("check shed k\n", 65),
	} {
		f.Add([]byte(seed))
	}
	g := gatetest.New(f, 1<<20, gatetest.Shed)
	f.Fuzz(func(t *testing.T, packet []byte) {
		public, private := doorOf(g, true), doorOf(g, false)
		if reply := respond(public, bytes.Clone(packet), nil); len(reply) > len(packet) {
			t.Fatalf("%d bytes of answer to %d", len(reply), len(packet))
		}
		reply := respond(private, bytes.Clone(packet), nil)
		lines := countLines(packet)
		if len(packet) > wire.MaxDatagram || lines > wire.MaxLines {
			lines = 1
		}
		if got := bytes.Count(reply, []byte{'\n'}); got != lines || len(reply) > replyBytes {
			t.Fatalf("%d answers in %d bytes to %d lines", got, len(reply), lines)
		}
	})
}

// TestNodesDoNotAnswerEachOther: an answer sent as a question must not go back and forth for ever.
func TestNodesDoNotAnswerEachOther(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Shed)
	u := doorOf(g, true)
	for _, start := range []string{"error bad-request\n", "allow remaining=2 reset=10 " +
		"view=node\n", "pong\n", "error too-long", strings.Repeat("x", 300)} {
		packet := []byte(start)
		for hops := 0; len(packet) > 0; hops++ {
			if hops == 4 {
				t.Errorf("%.30q is still being answered: %q", start, packet)
				break
			}
			packet = respond(u, bytes.Clone(packet), nil)
		}
	}
}

// TestUnanswerableLinesDoNotHideOthers: a line that cannot be answered off loopback counts all the
// same.
func TestUnanswerableLinesDoNotHideOthers(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Shed)
	u := doorOf(g, true)
	for range 3 {
		if got := respond(u, []byte("\ncount shed k\n"), nil); len(got) != 0 {
			t.Errorf("%q", got)
		}
	}
	if got := gatetest.Decide(g, g.Now(), gate.Check, "shed", "k", 1); !got.Deny {
		t.Errorf("three were counted: %+v", got)
	}
}

// TestStatsKeepToTheirLines: two readers do not write to one cache line.
func TestStatsKeepToTheirLines(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(readerStats{}); size%128 != 0 {
		t.Errorf("%d bytes", size)
	}
	u := Start(t, gatetest.New(t, 1<<20, gatetest.Shed), "127.0.0.1:0", 1)
	if at := uintptr(unsafe.Pointer(u.stats)); at%128 != 0 { //nolint:gosec // only looked at
		t.Errorf("they begin %d bytes into a line", at%128)
	}
}

const askPolicies = `
rules: []
policies:
  - {name: scanners, match: {path: "/.env"}, deny: 403}
  - {name: login, match: {path: /login}, count_when: {path: /login, method: POST, status: 401}, limit: 2, window: 1m}
  - {name: group, match: {path: "/v2/**"}, limit: 10, window: 1m}
  - {name: route, match: {path: /v2/x}, limit: 3, window: 1m}
  - {name: wide, match: {path: "/v3/**"}, limit: 1000000000, window: 1m}
  - {name: own, match: {path: /v3/x}, limit: 1000000000, window: 1m}
  - {name: quiet, match: {path: "/quiet"}, limit: 1, window: 1m, on_deny: {status: 503, announce: false, body: later}}
  - {name: trap, match: {path: "/trap"}, limit: 1, window: 1m, on_deny: {deceive: true}}
`

// askDoor returns a door with policies.
func askDoor(t testing.TB, public bool) *Door {
	t.Helper()
	c, err := config.Parse("headgate.yaml", []byte(askPolicies))
	if err != nil {
		t.Fatal(err)
	}
	e, err := config.LoadPolicies(&c, [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	u := doorOf(gatetest.New(t, 4<<20, c.AllRules()...), public)
	u.room.Set(e, c.AllRules(), time.Minute)
	return u
}

func TestAskLines(t *testing.T) {
	u := askDoor(t, false)
	for _, c := range []struct{ request, want string }{
		{"ask path=/\nping\nask path=/.env id=7\n", "allow why=none\npong\nid=7 deny why=policy " +
			"status=403\n"},
		{"ask path=/v2/x client=203.0.113.7\n", "allow rule=route remaining=2 reset=60 " +
			"view=node\n"},
		{
			"ask path=/v2/x client=203.0.113.7\nask path=/v2/x client=203.0.113.7\nask " +
				"path=/v2/x client=203.0.113.7",
			"allow rule=route remaining=1 reset=60 view=node\nallow rule=route remaining=0 " +
				"reset=60 view=node\ndeny why=limit retry=60 rule=route view=node remaining=0\n",
		},
		{"ask path=/v2/y client=203.0.113.7\n", "allow rule=group remaining=6 reset=60 " +
			"view=node\n"},
		{"ask path=/ cut=header.referer cut=x\nask path=/ cut=path\n", "allow why=none\ndeny " +
			"why=unfit status=414\n"},
		{"ask path=/" + strings.Repeat("a", 4096) + "\n", "deny why=unfit status=414\n"},
		{"ask path=/.env host=" + strings.Repeat("a", 4097) + " header.a=" + strings.Repeat("a",
			3000) + "\n", "deny why=policy status=403\n"},
		{"ask path=/" + strings.Repeat(" header.a=", 500) + "\n", "allow why=none\n"},
		{"ask path=x method=%01 host=%00@[ asn=x tier= header.x=%01\n", "allow why=none\n"},
		{"ask path=/ colour=red id=1\nask\n", "id=1 error unknown-field\nerror bad-request\n"},
		{"report path=/login method=POST client=203.0.113.7 status=401\nreport path=/login " +
			"method=POST client=203.0.113.7 status=401 id=x\n", "id=x ok\n"},
		{
			"ask path=/login client=203.0.113.7\n",
			"deny why=limit retry=60 rule=login view=node remaining=0\n",
		},
		{"report ticket=00000000000000af status=200 id=x\n<190>Nov 22 07:28:50 nginx: report " +
			"ticket=00000000000000af status=200\n", "id=x ok late=1\n"},
		{"report ticket=- status=200\n", ""},
		{"ask path=/quiet\nask path=/quiet id=1\n", "allow\nid=1 deny why=limit status=503\n"},
		{
			"ask path=/trap\nask path=/trap\nask path=/trap deceive=ok\n",
			"allow rule=trap remaining=0 reset=60 view=node\ndeny why=limit retry=60 rule=trap " +
				"view=node remaining=0\nallow deceive=1\n",
		},
	} {
		if got := string(respond(u, []byte(c.request), nil)); !doortest.SameButRetry(got, c.want) {
			t.Errorf("%q: %q, want %q", c.request, got, c.want)
		}
	}
	got := string(respond(u, []byte("ask path=/login client=203.0.113.8 method=POST\n"), nil))
	ticket, ok := strings.CutPrefix(got, "allow ticket=")
	if !ok || !strings.HasSuffix(got, " rule=login remaining=1 reset=0 view=node\n") {
		t.Fatalf("%q", got)
	}
	respond(u, []byte("<190>Nov 22 07:28:50 nginx: report ticket="+ticket[:16]+" status=401 "+
		"ms=0.012"), nil)
	if got := string(respond(u, []byte("ask path=/login client=203.0.113.8\n"),
		nil)); !strings.Contains(got, "remaining=1") {
		t.Errorf("after the log's report: %q", got)
	}
	if s := u.room.Stats(u.gate.Now()); s.Late != 2 {
		t.Errorf("%+v", s)
	}
}

func FuzzRespondToAsks(f *testing.F) {
	for _, seed := range []string{"ask path=/login", "report path=/login status=401 id=1\nask " +
		"path=/v2/x header.a=b", "<1>Nov 22 07:28:50 h: report ticket=- status=0"} {
		f.Add([]byte(seed))
	}
	public, private := askDoor(f, true), askDoor(f, false)
	f.Fuzz(func(t *testing.T, packet []byte) {
		if reply := respond(public, bytes.Clone(packet), nil); len(reply) > len(packet) {
			t.Errorf("%q is answered with more: %q", packet, reply)
		}
		respond(private, bytes.Clone(packet), nil)
	})
}

func TestAskLinesAllocateNothing(t *testing.T) {
	answer, _ := reader0(askDoor(t, false))
	packet, line := make([]byte, 0, 200), "ask method=GET path=/v2/x host=a.example "+
		"client=203.0.113.7\n"
	reply := make([]byte, 0, 500)
	if n := testing.AllocsPerRun(100, func() {
		packet = append(packet[:0], line...)
		answer(packet, reply)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkAskLines answers a packet of 20 lines with two questions each, one of which denies.
func BenchmarkAskLines(b *testing.B) { benchmarkAskLines(b, "/v2/x") }

// BenchmarkAskLinesAllowed is BenchmarkAskLines where both questions allow.
func BenchmarkAskLinesAllowed(b *testing.B) { benchmarkAskLines(b, "/v3/x") }

func benchmarkAskLines(b *testing.B, path string) {
	answer, _ := reader0(askDoor(b, false))
	lines := strings.Repeat("ask method=GET path="+path+" host=a.example client=203.0.113.7\n", 20)
	packet, reply := make([]byte, 0, 2000), make([]byte, 0, 5000)
	b.ReportAllocs()
	for b.Loop() {
		packet = append(packet[:0], lines...)
		answer(packet, reply)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/20, "ns/request")
}
