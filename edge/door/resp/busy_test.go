package resp_test

import (
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/door/budget"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/door/resp"
)

// A large command for which there is no memory for a second is refused, and its connection ends.
// Small commands need none, and what a command took is given back.
func TestBusy(t *testing.T) {
	t.Parallel()
	bytes := budget.New(20 << 10)
	n := openOptions(t, policies, resp.Options{Bytes: 1 << 20, Budget: bytes})
	large := command("ECHO", strings.Repeat("x", 12<<10))
	n.send(large[:10<<10])
	doortest.WaitFor(t, func() bool { return bytes.Used() == 12<<10 })
	first := *n
	n.connect()
	began := time.Now()
	n.send(large[:10<<10])
	second := *n
	n.connect()
	n.want("PING", "PONG")
	if got := second.receive(); got != "ERR busy" || time.Since(began) < time.Second {
		t.Errorf("%q after %v", got, time.Since(began))
	}
	if got := second.receive(); got != "closed" {
		t.Error(got)
	}
	first.send(large[10<<10:])
	if got := first.receive(); len(got) != 12<<10 {
		t.Errorf("%.20q, %d bytes", got, len(got))
	}
	first.send(large)
	if got := first.receive(); len(got) != 12<<10 {
		t.Errorf("%.20q, %d bytes", got, len(got))
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	doortest.WaitFor(t, func() bool { return bytes.Used() == 0 })
	if bytes.Refused() != 1 {
		t.Errorf("%d refused", bytes.Refused())
	}
}
