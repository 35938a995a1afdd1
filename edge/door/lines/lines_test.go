package lines_test

import (
	"testing"

	"github.com/headgate-dev/headgate/edge/door/lines"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestWords: what the gate says is answered in the words of docs/protocol.md.
func TestWords(t *testing.T) {
	t.Parallel()
	for why, want := range map[mitigation.Why]string{
		mitigation.Unrefused: "", mitigation.ByBlock: "block", mitigation.ByShed: "shed",
		mitigation.ByLimit: "limit", mitigation.ByReserve: "reserve",
	} {
		if got := lines.Whys[why].String(); got != want {
			t.Errorf("reason %d is %q, want %q", why, got, want)
		}
	}
	for view, want := range map[mitigation.Scope]string{
		mitigation.Node: "node",
		mitigation.PoP:  "pop", mitigation.Global: "global",
	} {
		if got := lines.Views[view].String(); got != want {
			t.Errorf("view %d is %q, want %q", view, got, want)
		}
	}
	if lines.Ops[wire.Check] != gate.Check || lines.Ops[wire.Peek] != gate.Peek ||
		lines.Ops[wire.Count] != gate.Count {
		t.Errorf("%v", lines.Ops)
	}
}
