package ring

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// lies are texts that a server may send instead of an answer.
var lies = map[string]string{
	"an empty line":       "\n",
	"an empty line, CR":   "\r\n",
	"an empty complaint":  "CLIENT_ERROR \n",
	"a complaint":         "CLIENT_ERROR \x1b[31m\x00 out of cheese\r\n",
	"a server error":      "SERVER_ERROR Connection refused\r\n",
	"ERROR":               "ERROR\r\n",
	"1 GiB":               "VALUE k 0 1073741824\r\n",
	"1 GiB of meta":       "VA 1073741824 O0\r\n",
	"an endless line":     strings.Repeat("9", 1<<20),
	"many lines":          strings.Repeat("1\r\n", 1<<17),
	"below zero":          "-1\r\n",
	"below zero in meta":  "VA 2 O0\r\n-1\r\n",
	"2^64":                "18446744073709551616\r\n",
	"2^64 in meta":        "VA 20 O0\r\n18446744073709551616\r\n",
	"a digit to be lost":  "15\n",
	"random":              "\x8f\xf3\x01\xff\x00\x7f\r\n\x99",
	"stored":              "STORED\r\n",
	"found":               "HD O0\r\n",
	"another's number":    "VA 1 O9\r\n7\r\n",
	"no number":           "VA 1\r\n7\r\n",
	"a length too long":   "VA 2 O0\r\n7\r\n",
	"missing but created": "NF O0\r\n",
	"nothing":             "",
	"half a number":       "12",
	"half an answer":      "VA 2 O0\r\n1",
	"two answers":         "777\r\n777\r\n",
	"two answers in meta": "VA 3 O0\r\n777\r\nVA 3 O0\r\n777\r\n",
}

// TestLies lets a server tell each lie, in either protocol, to a ring that keeps asking.
func TestLies(t *testing.T) {
	for name, lie := range lies {
		for protocol, classic := range map[string]bool{"meta": false, "classic": true} {
			t.Run(name+"/"+protocol, func(t *testing.T) {
				f := &fake{classic: classic, lie: func(string) (string, bool) { return lie, true }}
				r := openRing(t, Config{Servers: []Server{f.listen(t)}, Timeout: unhurried})
				var before, between runtime.MemStats
				runtime.ReadMemStats(&before)
				for range failuresToOpen {
					ops := adds(3, 1, 1)
					r.Do(t.Context(), ops)
					for i, op := range ops[1:] {
						if op.Err == nil {
							t.Errorf("op %d was answered: %d", i+1, op.Total)
						}
					}
				}
				runtime.ReadMemStats(&between)
				if grown := between.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
					t.Errorf("it cost %d bytes", grown)
				}
				s := r.Stats()[0]
				if s.Up || s.Opened != 1 || s.LastError == "" || len(s.LastError) > lastErrorBytes {
					t.Errorf("%+v", s)
				}
				if strings.ContainsFunc(s.LastError,
					func(c rune) bool { return c < ' ' || c > '~' }) {
					t.Errorf("unprintable: %q", s.LastError)
				}
			})
		}
	}
}

// TestSurplusAnswersAreNobodyElses has a server answer one command twice, which is right for the
// first of two counters and must not be taken for the second.
func TestSurplusAnswersAreNobodyElses(t *testing.T) {
	first := string(textKey(0))
	for protocol, classic := range map[string]bool{"meta": false, "classic": true} {
		t.Run(protocol, func(t *testing.T) {
			f := &fake{classic: classic}
			f.lie = func(command string) (string, bool) {
				honest := f.reply(strings.Fields(command), nil)
				if strings.Contains(command, first) {
					return honest + honest, false
				}
				return honest, false
			}
			f.counters = map[string]uint64{first: 776, string(textKey(1)): 1}
			r := openRing(t, Config{Servers: []Server{f.listen(t)}, Timeout: unhurried})
			r.Do(t.Context(), []Op{{Key: keyOf(0), Delta: 1, TTL: 60}})
			if s := r.Stats()[0]; !strings.Contains(s.LastError, "more than was asked") {
				t.Errorf("it went unnoticed: %+v", s)
			}
			for range 20 {
				for _, i := range []int{0, 1} { // one by one: on the same connection, if it is kept
					ops := []Op{{Key: keyOf(i), Delta: 1, TTL: 60}}
					r.Do(t.Context(), ops)
					if i == 1 && ops[0].Err == nil && ops[0].Total > 700 {
						t.Fatalf("the other counter's total: %d", ops[0].Total)
					}
				}
				both := adds(2, 1, 1)
				r.Do(t.Context(), both)
				if both[1].Err == nil && both[1].Total > 700 {
					t.Fatalf("the other counter's total: %d", both[1].Total)
				}
			}
		})
	}
}

// TestIdleConnectionsAreSuspected has a server close connections while nobody asks: that fails no
// round.
func TestIdleConnectionsAreSuspected(t *testing.T) {
	for protocol, classic := range map[string]bool{"meta": false, "classic": true} {
		t.Run(protocol, func(t *testing.T) {
			f := &fake{classic: classic}
			f.lie = func(command string) (string,
				bool,
			) {
				return f.reply(strings.Fields(command), nil), true
			}
			f.counters = map[string]uint64{string(textKey(0)): 0}
			r := openRing(t, Config{Servers: []Server{f.listen(t)}, Timeout: unhurried})
			for i := range uint64(5) {
				ops := adds(1, 1, 1)
				r.Do(t.Context(), ops)
				wantTotals(t, ops, i+1)
				awaitUnready(t, r.servers[0])
			}
		})
	}
}

// awaitUnready returns when the server's connections are found unfit. The ring is idle: its
// goroutine does not look at them.
func awaitUnready(t *testing.T, s *server) {
	t.Helper()
	for range 1_000_000 {
		if !s.link.ready() {
			return
		}
		runtime.Gosched()
	}
	t.Error("the connection is still thought well")
}

// TestHangingUpAtTheProbeIsClassic has a server close the connection at a meta command, as
// twemproxy does.
func TestHangingUpAtTheProbeIsClassic(t *testing.T) {
	f := &fake{classic: true, hangUp: true}
	r := openRing(t, Config{Servers: []Server{f.listen(t)}, Timeout: unhurried})
	for i := range uint64(3) {
		ops := adds(20, 1, 1)
		r.Do(t.Context(), ops)
		wantTotals(t, ops, i+1)
	}
	if s := r.Stats()[0]; s.Protocol != "classic" || !s.Up {
		t.Errorf("%+v", s)
	}
}

// TestANewConnectionIsProbedAnew has a server learn meta commands while it is away.
func TestANewConnectionIsProbedAnew(t *testing.T) {
	f := &fake{classic: true}
	f.lie = func(command string) (string,
		bool,
	) {
		return f.reply(strings.Fields(command), nil), true
	}
	f.counters = map[string]uint64{string(textKey(0)): 0}
	r := openRing(t, Config{Servers: []Server{f.listen(t)}, Timeout: unhurried})
	r.Do(t.Context(), adds(1, 1, 1))
	if got := r.Stats()[0].Protocol; got != "classic" {
		t.Fatalf("spoke %s", got)
	}
	awaitUnready(t, r.servers[0])
	f.mu.Lock()
	f.classic = false
	f.mu.Unlock()
	ops := adds(1, 1, 1)
	r.Do(t.Context(), ops)
	wantTotals(t, ops, 2)
	if got := r.Stats()[0].Protocol; got != "meta" {
		t.Errorf("spoke %s", got)
	}
}

func TestLastErrorIsPrintable(t *testing.T) {
	if got, want := printable("\x1b[31mred\n\xff~"), "?[31mred??~"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := printable(strings.Repeat("é", 2*lastErrorBytes)); len(got) > lastErrorBytes {
		t.Errorf("%d bytes", len(got))
	}
}

func TestKinds(t *testing.T) {
	kinds := Kind(len(ServerStats{}.Errors))
	for k := range kinds {
		if k.String() == "" || k.String() == "unknown" {
			t.Errorf("kind %d has no name", k)
		}
	}
	if kinds.String() != "unknown" {
		t.Errorf("one too many is %s", kinds)
	}
	if got := kindOf(errors.New("something else")); got != KindConnection {
		t.Error(got)
	}
}
