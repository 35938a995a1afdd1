package sets_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/headgate-dev/headgate/edge/policy/sets"
)

// anyNet returns a network of a few that overlap, nest and touch.
func anyNet(rng *rand.Rand) netip.Prefix {
	var a netip.Addr
	var bits int
	if rng.IntN(2) == 0 {
		a = netip.AddrFrom4([4]byte{
			[]byte{0, 10, 192, 255}[rng.IntN(4)], byte(rng.IntN(2) * 255),
			byte(rng.IntN(4)), byte(rng.IntN(256)),
		})
		bits = rng.IntN(33)
	} else {
		octets := [16]byte{0x20, 0x01, 0x0d, 0xb8}
		if rng.IntN(4) == 0 {
			octets = [16]byte{
				0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
				0xff, 0xff, 0xff, 0xff, 0xff,
			}
		}
		octets[7], octets[8], octets[15] = byte(rng.IntN(4)),
			byte(rng.IntN(2)*255), byte(rng.IntN(256))
		a = netip.AddrFrom16(octets)
		bits = rng.IntN(129)
	}
	return netip.PrefixFrom(a, bits).Masked()
}

// The zones hold the addresses that the networks hold, those at their edges too.
func TestZones(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var nets []netip.Prefix
		for range 1 + rng.IntN(20) {
			nets = append(nets, anyNet(rng))
		}
		z := sets.OfNets(nets)
		for _, net := range nets {
			for _, a := range []netip.Addr{
				net.Addr(), net.Addr().Prev(), anyNet(rng).Addr(),
				lastOf(net), lastOf(net).Next(),
			} {
				if !a.IsValid() {
					continue
				}
				want := slices.ContainsFunc(nets,
					func(p netip.Prefix) bool { return p.Contains(a) })
				if z.HasAddress(a) != want {
					t.Fatalf("%v in %v: got %v", a, nets, !want)
				}
			}
		}
	}
}

func lastOf(p netip.Prefix) netip.Addr {
	octets := p.Addr().AsSlice()
	for bit := p.Bits(); bit < len(octets)*8; bit++ {
		octets[bit/8] |= 0x80 >> (bit % 8)
	}
	a, _ := netip.AddrFromSlice(octets)
	return a
}

func TestWords(t *testing.T) {
	var entries []sets.Entry
	for i := range 5000 {
		entries = append(entries, sets.Entry{
			Value: fmt.Sprintf("key-%d", i),
			Word:  []string{"free", "gold"}[i%2],
		})
	}
	entries = append(entries, sets.Entry{Value: "curl/*", Word: "bot"},
		sets.Entry{Value: "curl/8*", Word: "new"}, sets.Entry{Value: "*", Word: "any"})
	w := sets.OfValues(entries)
	word := func(value string) string { return w.Words()[w.Find([]byte(value))] }
	for value, want := range map[string]string{
		"key-0": "free", "key-4999": "gold", "key-5000": "any", "curl/7": "bot", "curl/8.1": "new",
		"curl/8": "new", "curl": "any", "": "any",
	} {
		if got := word(value); got != want {
			t.Errorf("%q: got %s, want %s", value, got, want)
		}
	}
	if empty := sets.OfValues(nil); empty.Find([]byte("a")) >= 0 {
		t.Error("an empty set holds a value")
	}
}
