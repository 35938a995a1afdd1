package networks_test

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/headgate-dev/headgate/edge/gate/networks"
)

func table(prefixes ...string) *networks.Table[string] {
	var all []networks.Entry[string]
	for _, p := range prefixes {
		all = append(all, networks.Entry[string]{Prefix: netip.MustParsePrefix(p), Value: p})
	}
	return networks.NewTable(all)
}

// found returns the networks of t that hold p, the smallest first.
func found(t *networks.Table[string], p string) (all []string) {
	t.Find(netip.MustParsePrefix(p), func(v *string) bool { all = append(all, *v); return false })
	return all
}

func TestFind(t *testing.T) {
	nets := table("10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24", "10.2.0.0/16", "10.1.2.3/32",
		"2001:db8::/32", "2001:db8:1::/48", "0.0.0.0/0", "10.1.0.0/16")
	if n := nets.Len(); n != 8 {
		t.Errorf("%d networks, want 8: equal ones are one", n)
	}
	for p, want := range map[string][]string{
		"10.1.2.3/32": {
			"10.1.2.3/32", "10.1.2.0/24", "10.1.0.0/16",
			"10.0.0.0/8", "0.0.0.0/0",
		},
		"10.1.2.4/32":         {"10.1.2.0/24", "10.1.0.0/16", "10.0.0.0/8", "0.0.0.0/0"},
		"10.1.2.0/23":         {"10.1.0.0/16", "10.0.0.0/8", "0.0.0.0/0"},
		"10.3.0.1/32":         {"10.0.0.0/8", "0.0.0.0/0"},
		"9.255.255.255/32":    {"0.0.0.0/0"},
		"2001:db8:1:2::/64":   {"2001:db8:1::/48", "2001:db8::/32"},
		"2001:db8:2::1/128":   {"2001:db8::/32"},
		"2001:db9::1/128":     nil,
		"::ffff:10.1.2.3/128": nil, // callers unmap
	} {
		if got := found(nets, p); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", p, got, want)
		}
	}
	if got := found(table(), "10.0.0.1/32"); got != nil {
		t.Errorf("an empty table: %q", got)
	}
	if stopped := nets.Find(netip.MustParsePrefix("10.1.2.3/32"),
		func(v *string) bool { return *v == "10.1.0.0/16" }); !stopped {
		t.Error("a use that is satisfied is not reported")
	}
}

// TestFindIsALinearLook: random networks of few addresses, nested and equal, are found as a look at
// all of them finds them.
func TestFindIsALinearLook(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	random := func() netip.Prefix {
		if rnd.IntN(2) == 0 {
			return netip.PrefixFrom(netip.AddrFrom4([4]byte{
				byte(rnd.IntN(2)),
				byte(rnd.IntN(4)) << 6, 0, byte(rnd.IntN(3)),
			}), rnd.IntN(33)).Masked()
		}
		return netip.PrefixFrom(netip.AddrFrom16([16]byte{
			0x20, 1, byte(rnd.IntN(4)) << 6,
			15: byte(rnd.IntN(3)),
		}), rnd.IntN(129)).Masked()
	}
	for range 300 {
		var all []networks.Entry[string]
		for range rnd.IntN(40) {
			p := random()
			all = append(all, networks.Entry[string]{Prefix: p, Value: p.String()})
		}
		nets := networks.NewTable(all)
		for range 40 {
			p := random()
			var want []netip.Prefix
			for _, e := range all {
				if e.Prefix.Bits() <= p.Bits() && e.Prefix.Contains(p.Addr()) &&
					!slices.Contains(want, e.Prefix) {
					want = append(want, e.Prefix)
				}
			}
			slices.SortFunc(want, func(a, b netip.Prefix) int { return b.Bits() - a.Bits() })
			got := found(nets, p.String())
			if len(got) != len(want) {
				t.Fatalf("%v in %v: %q, want %v", p, all, got, want)
			}
			for i := range got {
				if got[i] != want[i].String() {
					t.Fatalf("%v in %v: %q, want %v", p, all, got, want)
				}
			}
		}
	}
}

func BenchmarkFind(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var all []networks.Entry[string]
	for range 4096 {
		all = append(all,
			networks.Entry[string]{Prefix: netip.PrefixFrom(
				netip.AddrFrom4([4]byte{
					byte(rnd.Uint32()), byte(rnd.Uint32()),
					byte(rnd.Uint32()),
				}), 8+rnd.IntN(17)).Masked()})
	}
	nets, p := networks.NewTable(all), netip.MustParsePrefix("10.1.2.3/32")
	b.ReportAllocs()
	for b.Loop() {
		nets.Find(p, func(*string) bool { return false })
	}
}
