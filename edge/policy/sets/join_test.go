package sets_test

import (
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/policy/sets"
)

// What sets say together is what each of them says, and a set of sets holds what they hold.
func TestJoin(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var list []*sets.Set
		var all sets.Ranges
		for range 1 + rng.IntN(5) {
			var nets []netip.Prefix
			for range rng.IntN(6) {
				nets = append(nets, anyNet(rng))
			}
			list = append(list, sets.OfNets(nets))
			all.AddSet(list[len(list)-1])
		}
		joined, one := sets.Join(list, bits), all.Set()
		for range 40 {
			net := anyNet(rng)
			for _, a := range []netip.Addr{
				net.Addr(), net.Addr().Prev(), lastOf(net),
				lastOf(net).Next(),
			} {
				if !a.IsValid() {
					continue
				}
				active := make([]bool, len(list))
				for i, s := range list {
					active[i] = s.HasAddress(a)
				}
				if got := joined.Find(a); got != bits(active) || one.HasAddress(a) != (got != 0) {
					t.Fatalf("%v is in %v: got %b, %v", a, active, got, one.HasAddress(a))
				}
			}
		}
	}
}

// bits is a number with a bit for each set.
func bits(active []bool) (n uint16) {
	for i, is := range active {
		if is {
			n |= 1 << i
		}
	}
	return n
}

// A file is read to its end within its bounds, and its sum is of its content.
func TestReadLines(t *testing.T) {
	read := func(text string, limit int64) (sum sets.Sum, lines int, err error) {
		return sets.ReadLines(strings.NewReader(text), limit,
			func([]byte, int) bool { return true })
	}
	a, lines, err := read("a\nb", 3)
	if err != nil || lines != 2 {
		t.Errorf("%d lines, %v", lines, err)
	}
	if b, _, _ := read("a\nc", 3); a == b {
		t.Error("two contents have one sum")
	}
	if _, _, err := read("a\nbc", 3); err == nil || err.Error() != "larger than 3 bytes" {
		t.Errorf("got %v", err)
	}
	if _, _, err := read("a\n#"+strings.Repeat("-", 70_000), 1<<20); err == nil ||
		err.Error() != "line 2 is longer than 65536 bytes" {
		t.Errorf("got %v", err)
	}
}
