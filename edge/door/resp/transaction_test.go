package resp_test

import (
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/door/budget"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/door/resp"
)

// TestTransaction: commands behind MULTI are answered by EXEC, in their order, or none of them is.
func TestTransaction(t *testing.T) {
	t.Parallel()
	bytes := budget.New(1 << 20)
	n := openOptions(t, policies, resp.Options{Bytes: 1 << 20, Budget: bytes})
	const aborted = "EXECABORT Transaction discarded because of previous errors."
	n.wants(`
		EXEC → ERR EXEC without MULTI
		DISCARD → ERR DISCARD without MULTI
		MULTI → OK
		EXEC → []
		MULTI → OK
		HEADGATE.CHECK login k → QUEUED
		ECHO a → QUEUED
		MULTI → ERR MULTI calls can not be nested
		CL.THROTTLE k 2 1 60 → QUEUED
		SELECT 1 → QUEUED
	`)
	n.want("EXEC", "[[verdict allow rule login remaining 1 reset 60 view node]"+
		" a [0 3 2 -1 60] ERR DB index is out of range]")
	n.wants(`
		MULTI → OK
		HEADGATE.CHECK login k → QUEUED
		GET a → ERR unknown command 'GET'
		EXEC → EXECABORT Transaction discarded because of previous errors.
		MULTI → OK
		PING → QUEUED
		PING a b → ERR wrong number of arguments
		EXEC → EXECABORT Transaction discarded because of previous errors.
		MULTI → OK
		HEADGATE.CHECK login k → QUEUED
		DISCARD → OK
		MULTI → OK
		HEADGATE.CHECK login k → QUEUED
		RESET → RESET
		EXEC → ERR EXEC without MULTI
		HEADGATE.CHECK login k → [verdict allow rule login remaining 0 reset 60 view node]
		MULTI → OK
	`)
	for range 64 {
		n.want("PING", "QUEUED")
	}
	const full = "ERR no room for more commands behind MULTI"
	n.want("PING", full)
	n.want("EXEC", aborted)
	n.want("MULTI", "OK")
	n.want("ECHO "+strings.Repeat("x", 15<<10), "QUEUED")
	n.want("ECHO "+strings.Repeat("x", 2<<10), full)
	doortest.WaitFor(t, func() bool { return bytes.Used() == 16<<10 })
	n.want("QUIT", "OK")
	doortest.WaitFor(t, func() bool { return bytes.Used() == 0 })
	if s := n.door.Stats(); s.Requests != 28+64+6 {
		t.Errorf("%+v", s)
	}
}
