package explain

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestSentencesOfOthersCounts checks the sentences where other nodes count too.
func TestSentencesOfOthersCounts(t *testing.T) {
	t.Parallel()
	age := 0.1
	second, minute := time.Second, time.Minute
	gossip := mitigation.Flag{
		Source: mitigation.Gossip, Origin: "lhr",
		Ratio: mitigation.MaxRatio / 100 * 81,
	}
	ring := mitigation.Flag{Source: mitigation.Ring, Ratio: mitigation.MaxRatio / 200}
	block := mitigation.Flag{Action: mitigation.Block, Source: mitigation.Gossip, Origin: "lhr"}
	worldwide := api.ExplainView{Global: &api.KeyGlobalView{
		AgeSeconds: &age, OfferedRate: 5000,
		LimitRate: 950.4, Owner: "cdg-1",
	}}
	var all strings.Builder
	for _, tt := range []struct {
		name string
		flag *mitigation.Flag
		lost bool
		mode mitigation.FailureMode
		deny bool
		why  mitigation.Why
		v    api.ExplainView
	}{
		{
			"shed over all PoPs", &gossip, false, mitigation.FailLocal, true, mitigation.ByShed,
			worldwide,
		},
		{
			"shed over all PoPs, drawn in", &gossip, false, mitigation.FailLocal, false,
			mitigation.Unrefused, worldwide,
		},
		{
			"shed, nothing heard", &gossip, false, mitigation.FailLocal, true, mitigation.ByShed,
			api.ExplainView{},
		},
		{
			"shed over the PoP", &ring, false, mitigation.FailLocal, true, mitigation.ByShed,
			api.ExplainView{Ring: &api.KeyRingView{AgeSeconds: &age, OfferedRate: 10.05}},
		},
		{
			"shed over the PoP, and full", &ring, false, mitigation.FailLocal, true,
			mitigation.ByLimit,
			api.ExplainView{View: "pop", Suspect: true, Offered: 250},
		},
		{
			"blocked by another PoP", &block, false, mitigation.FailLocal, true, mitigation.ByBlock,
			worldwide,
		},
		{
			"limited by the PoP's counts", nil, false, mitigation.FailLocal, true,
			mitigation.ByLimit,
			api.ExplainView{View: "pop", Suspect: true, Offered: 250},
		},
		{
			"lost, local", nil, true, mitigation.FailLocal, false, mitigation.Unrefused,
			api.ExplainView{View: "node", Suspect: true, Offered: 10},
		},
		{
			"lost, allow", nil, true, mitigation.FailAllow, false, mitigation.Unrefused,
			api.ExplainView{View: "node"},
		},
		{
			"lost, deny", nil, true, mitigation.FailDeny, true, mitigation.ByLimit,
			api.ExplainView{View: "node"},
		},
	} {
		c := explanation{
			Inspection: gate.Inspection{
				Rule: mitigation.Rule{
					Name: "r", Limit: 100, Window: 10 * second,
					FailureMode: tt.mode,
				},
				Global: tt.v.Global != nil, ViewLost: tt.lost, Remote: tt.v.Global != nil,
			},
			key: []byte("k"), now: 1 << 60, global: tt.v.Global,
		}
		d := &c.Decision
		d.Deny, d.Why, d.Remaining = tt.deny, tt.why, 90
		c.Count.Fits, c.Count.Used = tt.why != mitigation.ByLimit || tt.lost, 10
		if tt.flag != nil {
			f := *tt.flag
			f.Since, f.Until = c.now.Add(-2*second), c.now.Add(minute)
			c.Flag, tt.v.Flag = &f, &api.MitigationView{Expires: time.Date(2026, 3, 1, 12, 1, 0, 0,
				time.UTC)}
		}
		fmt.Fprintf(&all, "%s:\n", tt.name)
		for _, sentence := range c.sentences(&tt.v) {
			fmt.Fprintf(&all, "  %s\n", sentence)
		}
	}
	CompareGolden(t, "sentences_afar", []byte(all.String()))
}
