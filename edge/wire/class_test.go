package wire

import (
	"math/rand/v2"
	"testing"
)

// Eight bytes at a time end where one at a time does.
func TestKeySpan(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	line := make([]byte, 40)
	for range 20_000 {
		for i := range line {
			line[i] = 'a'
		}
		for range 1 + rng.IntN(4) {
			line[rng.IntN(len(line))] = byte(rng.Uint32())
		}
		for _, end := range []int{40, 23, 9, 8, 7, 0} {
			for i := range min(end, 9) + 1 {
				if got, want := keySpan(line[:end], i), span(line[:end], i, inKey); got != want {
					t.Fatalf("%q from %d: got %d, want %d", line[:end], i, got, want)
				}
			}
		}
	}
}

// Every field has its name, and no other word is one.
func TestPlainFields(t *testing.T) {
	t.Parallel()
	names := []string{
		"method", "path", "host", "client", "peer", "country", "asn", "ja3", "ja4",
		"tls", "scheme", "tier",
	}
	for i, name := range names {
		if f, ok := plainField([]byte(name)); !ok || f != Field(i) {
			t.Errorf("%s: got %d, %v, want %d", name, f, ok, i)
		}
		for _, other := range []string{
			"", name[1:], name[:len(name)-1], name + "=", name + "x",
			name + "\x00", "=" + name, name + "longer",
		} {
			if f, ok := plainField([]byte(other)); ok && names[f] != other {
				t.Errorf("%q is taken for %s", other, names[f])
			}
		}
	}
}
