package ring

import (
	"crypto/md5" //nolint:gosec // ketama is made of it
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// TestLosingAServer checks, for up to 24 equal servers of any names, that the loss of one moves its
// own keys only, and that it held its share of them.
func TestLosingAServer(t *testing.T) {
	const keys = 4000
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(2, 24).Draw(r, "servers")
		servers := equalServers(rapid.StringMatching(`[a-z0-9.-]{0,12}`).Draw(r, "prefix"), n)
		gone := rapid.IntRange(0, n-1).Draw(r, "gone")
		salt := rapid.Uint32().Draw(r, "keys")

		moved, strays := lose(t, servers, gone, salt, keys)
		if strays != 0 {
			r.Errorf("%d keys of other servers moved", strays)
		}
		// six times the spread of n servers' 160 points, and of this many keys
		share := 1 / float64(n)
		slack := 6 * math.Sqrt(share*(1-share)*(1/float64(160*n+1)+1.0/keys))
		if got := float64(moved) / keys; math.Abs(got-share) > slack {
			r.Errorf("%.4f of the keys moved, want %.4f, give or take %.4f", got, share, slack)
		}
	})
}

// TestLosingAServerWherePointsChange bounds the cost of rounding to float32: with 25 equal
// servers each has 156 points, with 24 and 26 of them 160. The keys that change places between
// servers that stay are about one in 40.
func TestLosingAServerWherePointsChange(t *testing.T) {
	const keys = 20_000
	for _, n := range []int{25, 26} {
		moved, strays := lose(t, equalServers("h", n), 7, 1, keys)
		if strays < keys/60 || strays > keys/30 {
			t.Errorf("%d servers: %d of %d keys of other servers moved, want about one in 40", n,
				strays, keys)
		}
		if share := keys / n; moved < share*3/4 || moved > share*5/4 {
			t.Errorf("%d servers: %d of %d keys moved with theirs, want about %d",
				n, moved, keys, share)
		}
	}
}

// lose returns how many of the keys were on the server that goes, and how many of the others moved.
func lose(t *testing.T, servers []Server, gone int, salt uint32, keys int) (moved, strays int) {
	before, after := place(t, servers), place(t, slices.Delete(slices.Clone(servers), gone, gone+1))
	left := after.Servers()
	for i := range keys {
		key := strconv.AppendInt([]byte("k"), int64(salt)+int64(i), 10)
		was := before.Pick(key)
		switch now := left[after.Pick(key)]; {
		case was == gone:
			moved++
		case now != servers[was]:
			strays++
		}
	}
	return moved, strays
}

// FuzzPick holds Pick to its definition, looked up the slow way: of all points, the nearest one on
// from the key's value.
func FuzzPick(f *testing.F) {
	// k965 lies past the last point
	for _, key := range []string{
		"", "k0", "hg:0123456789abcdef0123456789abcdef", "\x00\xff",
		"k965",
	} {
		f.Add([]byte(key))
	}
	p := place(f, []Server{
		{Host: "192.0.2.1", Port: 11211, Weight: 3},
		{Host: "2001:db8::1", Port: 11212, Weight: 1},
		{Path: "/run/mc.sock", Weight: 2},
	})
	f.Fuzz(func(t *testing.T, key []byte) {
		sum := md5.Sum(key) //nolint:gosec // ketama is made of it
		value := binary.LittleEndian.Uint32(sum[:])
		nearest := slices.MinFunc(p.points, func(a, b uint64) int {
			return int(int64(uint32(a>>32)-value) - int64(uint32(b>>32)-value))
		})
		if got, want := p.Pick(key), int(uint32(nearest)); got != want {
			t.Errorf("%q is on server %d, want %d", key, got, want)
		}
	})
}
