package main

import (
	"encoding/hex"
	"testing"
)

func TestTwinsCollideUnderXXH64(t *testing.T) {
	dice := newDice(1, 0)
	for range 10_000 {
		k, seed := draw16(dice), dice.Uint64()
		if other := twin(k); other == k || seeded(seed, k) != seeded(seed, other) {
			t.Fatalf("%x and %x do not collide under seed %d", k, other, seed)
		}
	}
}

// TestKnownPair holds a pair of keys that is known to collide under every seed to that.
func TestKnownPair(t *testing.T) {
	var a, b key16
	for _, k := range []struct {
		key *key16
		hex string
	}{{&a, "b2102e25ff517639dd2758b368b3b94e"}, {&b, "921d2fbdfc06ee18dd2758b3b9672c38"}} {
		if _, err := hex.Decode(k.key[:], []byte(k.hex)); err != nil {
			t.Fatal(err)
		}
	}
	if twin(a) != b {
		t.Errorf("the twin of %x is %x, want %x", a, twin(a), b)
	}
	dice := newDice(1, 0)
	for range 1000 {
		if seed := dice.Uint64(); seeded(seed, a) != seeded(seed, b) {
			t.Fatalf("%x and %x do not collide under seed %d", a, b, seed)
		}
	}
}

// TestTwinsDoNotMeetHere is the smaller brother of -mode twins.
func TestTwinsDoNotMeetHere(t *testing.T) {
	r, err := runTwins(options{n: 5000, memory: 16 * mib, seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if found := r.(*twins); !found.passed() {
		t.Errorf("%+v: twins that never asked read as if they had", *found)
	}
}
