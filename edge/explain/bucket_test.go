package explain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/explain"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestABucketIsExplained in its own terms: what is left, when one is back, when it is full.
func TestABucketIsExplained(t *testing.T) {
	g := gatetest.New(t, 1<<20, mitigation.Rule{
		Name: "api", Limit: 7, Window: time.Minute,
		Kind: mitigation.Bucket, Burst: 4,
	})
	now := g.Now()
	for n, want := range [][]string{
		{"allowed now", "No request", "There is room for 4 more", "one every 8.57s"},
		{
			"its bucket of 4 at once and 7 in 1m holds 3 of 4 and is full again in 9s",
			"There is room for 3 more",
		},
		{"holds 2 of 4"},
		{"holds 1 of 4"},
		{
			"denied now", "holds 0 of 4 and is full again in 35s",
			"There is room again in 9s, when a token is back",
		},
	} {
		v, ok := explain.Key(explain.Sources{Gate: g}, now, 0,
			explain.About{Rule: "api", Key: []byte("k")})
		text := strings.Join(v.Sentences, " ")
		for _, part := range want {
			if !ok || !strings.Contains(text, part) {
				t.Errorf("after %d: %q lacks %q", n, text, part)
			}
		}
		if b := v.Bucket; b == nil || b.Burst != 4 || int(b.Left) != 4-n ||
			b.Fill < float64(4-n)/4-0.01 || (b.FullAt == nil) != (n == 0) {
			t.Errorf("after %d: %+v", n, b)
		}
		gatetest.Decide(g, now, gate.Check, "api", "k", 1)
	}
}
