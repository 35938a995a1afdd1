package http

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"maps"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// The contract's content type of bodies, and the most checks in one body.
const (
	jsonType   = "application/json"
	mostChecks = 1000
)

// fakeDecider decides by the name of the key and remembers every query it was given.
type fakeDecider struct {
	rules map[string]*mitigation.Rule

	mu    sync.Mutex
	asked []gate.Ask // with copies of their slices
	gate  chan struct{}
}

func newFakeDecider() *fakeDecider {
	rules := map[string]*mitigation.Rule{}
	for _, r := range []mitigation.Rule{
		{
			Name: "login", Limit: 5, Window: time.Minute, Action: mitigation.Block,
			BlockFor: 10 * time.Minute,
		},
		{Name: "per-ip", Limit: 100, Window: 10 * time.Second},
		{Name: "odd_window.v2", Limit: 1_000_000_000, Window: 1500 * time.Millisecond},
	} {
		rules[r.Name] = &r
	}
	return &fakeDecider{rules: rules}
}

func (*fakeDecider) Now() window.Instant { return 1 }

func (j *fakeDecider) Known(name []byte) bool      { return j.rules[string(name)] != nil }
func (j *fakeDecider) RuleNames() iter.Seq[string] { return maps.Keys(j.rules) }

func (j *fakeDecider) Rule(name []byte) *mitigation.Rule { return j.rules[string(name)] }

func (j *fakeDecider) Decide(
	_ uint64, _ window.Instant, _ uint64, q gate.Ask,
) (gate.Decision, error) {
	r := j.rules[string(q.Rule)]
	if r == nil {
		return gate.Decision{}, gate.ErrUnknownRule
	}
	if j.gate != nil {
		<-j.gate
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	q.Rule, q.Key = bytes.Clone(q.Rule), bytes.Clone(q.Key)
	j.asked = append(j.asked, q)
	d := fakeAnswer(q)
	d.Rule = r
	return d, nil
}

func (j *fakeDecider) DecideAll(
	conn uint64, now window.Instant, _ func() uint64, checks []gate.Ask,
	answer func(d *gate.Decision),
) error {
	for _, a := range checks {
		d, err := j.Decide(conn, now, 0, a)
		if err != nil {
			return err
		}
		answer(&d)
	}
	return nil
}

func fakeAnswer(q gate.Ask) gate.Decision {
	if q.Op == gate.Count {
		return gate.Decision{}
	}
	switch string(q.Key) {
	case "limited":
		return gate.Decision{
			Deny: true, Why: mitigation.ByLimit, Reset: 7 * time.Second,
			Retry: 9 * time.Second,
		}
	case "blocked":
		return gate.Decision{
			Deny: true, Why: mitigation.ByBlock, View: mitigation.PoP,
			Reset: 30 * time.Second, Retry: 600 * time.Second,
		}
	case "shed":
		return gate.Decision{
			Deny: true, Why: mitigation.ByShed, View: mitigation.Global,
			Ratio: mitigation.RatioFor(100, 17), Remaining: 3,
		}
	case "shadowed":
		return gate.Decision{Shadow: true, Reset: 60 * time.Second}
	}
	return gate.Decision{Remaining: 4, Reset: 60 * time.Second}
}

// queries returns the questions so far.
func (j *fakeDecider) queries() []gate.Ask {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]gate.Ask(nil), j.asked...)
}

// testLimits exceed doortest.Patience, so that no limit acts in a test that does not set it.
func testLimits() limits {
	const never = 2 * doortest.Patience
	return limits{
		read: never, write: never, idle: never, drain: never, conns: maxHTTPConns,
		bytes: maxHTTPBytes,
	}
}

// serving is a door under test.
type serving struct {
	*Door
	addr net.Addr
	stop func() error // ends Serve and returns its error; may be called again
}

// openDoor serves j on a loopback port until the test ends.
func openDoor(t testing.TB, j decider, limits limits) *serving {
	t.Helper()
	return serveDoor(t, newDoor(j, limits), listen(t))
}

// listen opens a loopback port.
func listen(t testing.TB) net.Listener {
	t.Helper()
	ln, err := door.Listen(t.Context(), config.Address{Host: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

func serveDoor(t testing.TB, h *Door, ln net.Listener) *serving {
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
	return &serving{Door: h, addr: ln.Addr(), stop: stop}
}

// dial connects to d, with a deadline for everything that follows.
func (d *serving) dial(t testing.TB) net.Conn {
	t.Helper()
	return doortest.Dial(t, d.addr)
}

// send sends raw bytes on a connection of its own and returns the first response.
func (d *serving) send(t testing.TB, raw string) doortest.Reply {
	t.Helper()
	return doortest.Exchange(t, d.dial(t), raw)
}

// get asks for a target without a body.
func (d *serving) get(t testing.TB, target string) doortest.Reply {
	t.Helper()
	return d.send(t, "GET "+target+" HTTP/1.1\r\nHost: h\r\n\r\n")
}

// post sends a JSON body.
func (d *serving) post(t testing.TB, target, body string) doortest.Reply {
	t.Helper()
	return d.send(t, post(target, jsonType, body))
}

func post(target, contentType, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: h\r\nContent-Type: %s\r\nContent-Length: "+
		"%d\r\n\r\n%s",
		target, contentType, len(body), body)
}
