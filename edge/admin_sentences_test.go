package edge

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestAdminSentences checks what is said of every way a key can stand on one node.
func TestAdminSentences(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, tt := range liftCases {
		synctest.Test(t, func(t *testing.T) {
			a := newTestAdmin(t, AdminOptions{Local: true})
			if tt.before != nil {
				tt.before(a)
			}
			time.Sleep(1500 * time.Millisecond)
			v := askFor[ExplainView](t, a, "/v1/explain?"+url.Values{"rule": {tt.rule}, "key": {tt.key}}.Encode())
			fmt.Fprintf(&all, "%s:\n", tt.name)
			for _, sentence := range v.Sentences {
				fmt.Fprintf(&all, "  %s\n", sentence)
			}
		})
	}
	compareGolden(t, "../admin/sentences", []byte(all.String()))
}

// TestSentencesAfar checks what is said where others count too.
func TestSentencesAfar(t *testing.T) {
	t.Parallel()
	age := 0.1
	second, minute := time.Second, time.Minute
	gossip := mitigation.Flag{Source: mitigation.Gossip, Origin: "lhr", Ratio: mitigation.MaxRatio / 100 * 81}
	ring := mitigation.Flag{Source: mitigation.Ring, Ratio: mitigation.MaxRatio / 200}
	block := mitigation.Flag{Action: mitigation.Block, Source: mitigation.Gossip, Origin: "lhr"}
	worldwide := ExplainView{World: &KeyWorldView{AgeSeconds: &age, OfferedRate: 5000, LimitRate: 950.4, Owner: "cdg-1"}}
	var all strings.Builder
	for _, tt := range []struct {
		name   string
		flag   *mitigation.Flag
		lost   bool
		mode   mitigation.FailureMode
		status wire.Status
		why    wire.Why
		v      ExplainView
	}{
		{"shed over all PoPs", &gossip, false, mitigation.FailLocal, wire.Deny, wire.WhyShed, worldwide},
		{"shed over all PoPs, drawn in", &gossip, false, mitigation.FailLocal, wire.Allow, wire.NoWhy, worldwide},
		{"shed, nothing heard", &gossip, false, mitigation.FailLocal, wire.Deny, wire.WhyShed, ExplainView{}},
		{"shed over the PoP", &ring, false, mitigation.FailLocal, wire.Deny, wire.WhyShed, ExplainView{Ring: &KeyRingView{AgeSeconds: &age, OfferedRate: 10.05}}},
		{"shed over the PoP, and full", &ring, false, mitigation.FailLocal, wire.Deny, wire.WhyLimit, ExplainView{View: "pop", Suspect: true, Offered: 250}},
		{"blocked by another PoP", &block, false, mitigation.FailLocal, wire.Deny, wire.WhyBlock, worldwide},
		{"limited by the PoP's counts", nil, false, mitigation.FailLocal, wire.Deny, wire.WhyLimit, ExplainView{View: "pop", Suspect: true, Offered: 250}},
		{"lost, local", nil, true, mitigation.FailLocal, wire.Allow, wire.NoWhy, ExplainView{View: "node", Suspect: true, Offered: 10}},
		{"lost, allow", nil, true, mitigation.FailAllow, wire.Allow, wire.NoWhy, ExplainView{View: "node"}},
		{"lost, deny", nil, true, mitigation.FailDeny, wire.Deny, wire.WhyLimit, ExplainView{View: "node"}},
	} {
		c := lifting{
			rule: &rule{Rule: mitigation.Rule{Name: "r", Limit: 100, Window: 10 * second, FailureMode: tt.mode}, world: tt.v.World != nil},
			key:  []byte("k"), now: 1 << 60, lost: tt.lost, afar: tt.v.World != nil, world: tt.v.World,
		}
		c.answer.Status, c.answer.Why, c.answer.Remaining = tt.status, tt.why, 90
		c.count.Fits, c.count.Used = tt.why != wire.WhyLimit || tt.lost, 10
		if tt.flag != nil {
			f := *tt.flag
			f.Since, f.Until = c.now.Add(-2*second), c.now.Add(minute)
			c.flag, tt.v.Flag = &f, &MitigationView{Expires: time.Date(2026, 3, 1, 12, 1, 0, 0, time.UTC)}
		}
		fmt.Fprintf(&all, "%s:\n", tt.name)
		for _, sentence := range c.sentences(&tt.v) {
			fmt.Fprintf(&all, "  %s\n", sentence)
		}
	}
	compareGolden(t, "../admin/sentences_afar", []byte(all.String()))
}
