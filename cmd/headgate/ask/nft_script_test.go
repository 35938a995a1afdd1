package ask

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
)

// TestNftScript: which blocks become elements, and the commands that turn the sets into others.
func TestNftScript(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	block := func(rule, key string, left time.Duration) api.MitigationView {
		return api.MitigationView{
			Rule: rule, Key: key, Action: "block", Mode: "enforce", Expires: now.Add(left),
		}
	}
	shed, shadow := block("r", "192.0.2.1", time.Hour), block("r", "192.0.2.2", time.Hour)
	shed.Action, shadow.Mode = "shed", "shadow"
	x := nftRules{
		table: "t", hook: "prerouting", rules: []string{"r"}, most: 6, minTTL: 10 * time.Second,
		maxTTL: time.Hour, never: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")},
	}
	all, over, never := x.wanted([]api.MitigationView{
		shed, shadow, block("other", "192.0.2.3", time.Hour),
		block("r", "192.0.2.4", 9*time.Second),
		block("r", "10.1.2.3", time.Hour), block("r", "10.0.0.0/8", time.Hour),
		block("r", "0.0.0.0/0", time.Hour), block("r", "fe80::1%eth0", time.Hour),
		block("r", "k-3", time.Hour), block("r", "1.2.3.4 } ; flush ruleset", time.Hour),
		block("r", "192.0.2.5", 90*time.Millisecond+time.Minute),
		block("r", "192.0.2.5", time.Minute), block("r", "::ffff:192.0.2.6", 2*time.Hour),
		block("r", "198.51.100.0/24", time.Hour), block("r", "198.51.100.128/25", 2*time.Hour),
		block("r", "198.51.100.1", time.Hour), block("r", "2001:db8::1/64", time.Hour),
		block("r", "2001:db8::9", time.Hour), block("r", "192.0.2.7", 20*time.Second),
	}, nil, now)
	if over != 1 || fmt.Sprint(never) != "[10.1.2.3/32 10.0.0.0/8]" {
		t.Errorf("%d over, never %v", over, never)
	}
	script := x.change(nil, all, now)
	if want := "add element inet t block4 { 192.0.2.5 timeout 61s, 192.0.2.6 timeout 3600s, " +
		`198.51.100.1 timeout 3600s }
add element inet t block6 { 2001:db8::9 timeout 3600s }
add element inet t net4 { 198.51.100.0/24 timeout 3600s }
add element inet t net6 { 2001:db8::/64 timeout 3600s }
`; script != want {
		t.Errorf("got\n%swant\n%s", script, want)
	}
	later := now.Add(59 * time.Second)
	next, _, _ := x.wanted([]api.MitigationView{
		block("r", "192.0.2.5", 61*time.Second), block("r", "198.51.100.0/24", 2*time.Hour),
	}, all, later)
	if want := `delete element inet t block4 { 192.0.2.6, 198.51.100.1 }
delete element inet t block6 { 2001:db8::9 }
delete element inet t net4 { 198.51.100.0/24 }
delete element inet t net6 { 2001:db8::/64 }
add element inet t net4 { 198.51.100.0/24 timeout 3600s }
`; x.change(all, next, later) != want || x.unsure(all, next, later) {
		t.Errorf("got\n%s", x.change(all, next, later))
	}
	longer, _, _ := x.wanted([]api.MitigationView{block("r", "192.0.2.5", time.Hour)}, all, later)
	if !x.unsure(all, longer, now.Add(time.Minute)) {
		t.Error("an element that may be gone is changed")
	}
	if x.hook = "none"; strings.Contains(x.begin(), "chain") {
		t.Error(x.begin())
	}
}
