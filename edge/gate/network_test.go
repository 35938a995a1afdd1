package gate_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/gate/networks"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/override"
	"github.com/headgate-dev/headgate/window"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// verdicts returns whether a check of each key is blocked, allowed by hand (past any limit) or left
// to its count.
func verdicts(t *testing.T, g *gate.Gate, now window.Instant, keys string) (all []string) {
	t.Helper()
	for _, key := range strings.Fields(keys) {
		is := g.Effect(now, "block", []byte(strings.ReplaceAll(key, "|", "\x1f")))
		word := "count"
		if is.Live() {
			word = is.Action.String()
		}
		if d := gatetest.Decide(g, now, gate.Peek, "block", strings.ReplaceAll(key, "|", "\x1f"),
			1); d.Deny != (word == "block") {
			t.Errorf("%s: the effect is %s, the decision %+v", key, word, d)
		}
		all = append(all, word)
	}
	return all
}

// TestNetworksByHand: a flag of a network holds for every key in it; the smallest network decides,
// and a key's own flag before it.
func TestNetworksByHand(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Block, gatetest.Shed)
	now := g.Now()
	const keys = "203.0.113.7 203.0.113.7:443 203.0.113.128 203.0.114.1 2001:db8:1::/64 " +
		"2001:db8::1 2001:DB8:0::1 /203.0.113.7 203.0.113.7|/login a|203.0.113.7 203.0.113.0/25 " +
		"203.0.112.0/23"
	check := func(name, want string) {
		t.Helper()
		if got := strings.Join(verdicts(t, g, now, keys), " "); got != want {
			t.Errorf("%s:\n%s, want\n%s", name, got, want)
		}
	}
	check("nothing is set", strings.TrimSpace(strings.Repeat("count ", 12)))
	set := func(key string, action mitigation.Action) {
		t.Helper()
		if _, err := g.Override(now, byHand("block", key, action)); err != nil {
			t.Fatal(err)
		}
	}
	set("203.0.113.9/24", mitigation.Block)
	set("2001:DB8::/32", mitigation.Block)
	check("two networks", "block block block count block block block count block block block count")
	set("203.0.113.0/26", mitigation.Allow)
	check("a smaller one allows",
		"allow allow block count block block block count allow allow block count")
	set("203.0.113.7", mitigation.Block)
	check("an address in it", "block allow block count block block block count allow allow block "+
		"count")
	if is, ok := g.Lift(now, "block", []byte("203.0.113.7/26"), "ann"); !ok ||
		string(is.Was.Key) != "203.0.113.0/26" {
		t.Errorf("lift: %+v %v", is, ok)
	}
	check("it is lifted", "block block block count block block block count block block block count")
	if n := g.NetworkStats(); n.Held != 2 || n.Dropped != 0 {
		t.Errorf("%+v", n)
	}
	for _, key := range []string{"203.0.113.0/24", "2001:db8::/32"} {
		if _, ok := g.Lift(now, "block", []byte(key), "ann"); !ok {
			t.Errorf("lift of %s", key)
		}
	}
	check("and all others", "block"+strings.Repeat(" count", 11))
}

// TestNetworksEnd: a network's flag ends by itself, comes with a reload, and another rule knows
// nothing of it.
func TestNetworksEnd(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Block, gatetest.Shed)
	now := g.Now()
	h := byHand("block", "10.0.0.0/8", mitigation.Block)
	h.TTL = time.Minute
	if _, err := g.Override(now, h); err != nil {
		t.Fatal(err)
	}
	if d := gatetest.Decide(g, now, gate.Check, "shed", "10.1.2.3", 1); d.Deny {
		t.Errorf("another rule: %+v", d)
	}
	changed := gatetest.Block
	changed.Window *= 2 // keys have other indices now
	g.SetRules([]mitigation.Rule{changed, gatetest.Shed})
	if d := gatetest.Decide(g, now, gate.Check, "block", "10.1.2.3", 1); !d.Deny ||
		d.Why != mitigation.ByBlock {
		t.Errorf("after a reload: %+v", d)
	}
	if is, ok := g.Inspect(now, 1, "block", []byte("10.1.2.3"), nil); !ok || is.Flag == nil ||
		string(is.Flag.Key) != "10.0.0.0/8" ||
		string(g.Holder(now, "block", []byte("10.1.2.3"))) != "10.0.0.0/8" {
		t.Errorf("inspect: %+v", is.Flag)
	}
	over := now.Add(time.Minute + time.Second)
	if d := gatetest.Decide(g, over, gate.Check, "block", "10.1.2.3", 1); d.Deny {
		t.Errorf("when it is over: %+v", d)
	}
	for n := range 40 {
		g.Turn(n, over, time.Now())
	}
	if s := g.NetworkStats(); s.Held != 0 {
		t.Errorf("the tree still holds %+v", s)
	}
}

// TestNetworksOfOthers: a network that another node's operator set holds here, and so does its
// lift.
func TestNetworksOfOthers(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Block)
	now := g.Now()
	at := g.Wall(now).UnixMilli()
	o := override.Override{
		Rule: "block", Key: []byte("10.0.0.0/8"), Verb: override.Block, Issued: at,
		Until: at + 60_000, Keep: at + 60_000, Node: "other", Who: "ann",
	}
	if !g.MergeOverride(override.Append(nil, &o)) {
		t.Fatal("it is no news")
	}
	if d := gatetest.Decide(g, now, gate.Check, "block", "10.1.2.3", 1); !d.Deny {
		t.Errorf("blocked elsewhere: %+v", d)
	}
	o.Verb, o.Issued, o.Until = override.Lift, at+1, at+1
	if !g.MergeOverride(override.Append(nil, &o)) {
		t.Fatal("the lift is no news")
	}
	if d := gatetest.Decide(g, now, gate.Check, "block", "10.1.2.3", 1); d.Deny {
		t.Errorf("lifted elsewhere: %+v", d)
	}
}

// TestNetworksAreBounded: past the bound a network is refused, and what gossip brings is counted.
func TestNetworksAreBounded(t *testing.T) {
	edgetest.Alone(t)
	g := gatetest.New(t, 128<<20, gatetest.Block)
	now := g.Now()
	for n := range networks.Most {
		if _, err := g.Override(now,
			byHand("block", fmt.Sprintf("10.%d.%d.0/24", n>>8, n&255),
				mitigation.Block)); err != nil {
			t.Fatalf("network %d: %v", n, err)
		}
	}
	if _, err := g.Override(now, byHand("block", "192.0.2.0/24", mitigation.Block)); err == nil {
		t.Error("one more was taken")
	}
	if d := gatetest.Decide(g, now, gate.Check, "block", "10.3.255.1", 1); !d.Deny {
		t.Errorf("the last one: %+v", d)
	}
}

// TestNetworksAllocateNothing: a decision under flags of networks allocates nothing, whatever its
// key is.
func TestNetworksAllocateNothing(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Block)
	now := g.Now()
	if _, err := g.Override(now, byHand("block", "2001:db8::/32", mitigation.Block)); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"2001:db8::1", "203.0.113.7", "~0123456789abcdef0123456789abcdef",
		"a\x1fb\x1fc", "10.0.0.0/99",
	} {
		ask, d := gate.Ask{Rule: []byte("block"), Key: []byte(key), Cost: 1}, new(gate.Decision)
		if n := testing.AllocsPerRun(100,
			func() { _ = g.Lane(0).DecideTo(d, now, rand.Uint64(), &ask) }); n != 0 {
			t.Errorf("%q: %v allocations", key, n)
		}
	}
}

// FuzzNetworkKeys: no key breaks the look-up, and a key that is the network's own text is in it.
func FuzzNetworkKeys(f *testing.F) {
	for _, key := range []string{
		"203.0.113.7", "10.0.0.0/8", "[2001:db8::1]:80",
		"2001:db8::1%eth0", "::ffff:10.0.0.1/104", "/", "\x1f", "1.2.3.4/", "1.2.3.4/999",
	} {
		f.Add(key)
	}
	g := gatetest.New(f, 1<<20, gatetest.Block)
	now := g.Now()
	if _, err := g.Override(now, byHand("block", "0.0.0.0/1", mitigation.Block)); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if key == "" || len(key) > mitigation.MaxKey {
			return
		}
		gatetest.Decide(g, now, gate.Peek, "block", key, 1)
		if _, err := g.Override(now, byHand("block", key, mitigation.Allow)); err != nil {
			t.Fatal(err)
		}
		if _, ok := g.Lift(now, "block", []byte(key), "ann"); !ok {
			t.Errorf("%q was set and cannot be lifted", key)
		}
	})
}
