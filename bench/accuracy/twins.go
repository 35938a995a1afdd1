package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"

	"github.com/cespare/xxhash/v2"
)

// XXH64's primes, and their inverses modulo 2^64.
const (
	// From the specification of XXH64.
	prime1 uint64 = 11400714785074694791
	prime2 uint64 = 14029467366897019727
)

// key16 is a key as long as an IPv6 address or a UUID.
type key16 [16]byte

// twin returns another key with the same XXH64 under every seed. An 8-byte round there is f(x) =
// rotl(x·P2, 31)·P1 and holds no seed: flipping bit 36 of the first word's f becomes bit 63 of the
// state, and flipping bit 63 of the second word's f cancels it.
// It shows why a hash without a secret decides nothing here: whoever knows the function makes two
// keys that share a count, and has somebody else limited.
func twin(k key16) (t key16) {
	w1, w2 := binary.LittleEndian.Uint64(k[:8]), binary.LittleEndian.Uint64(k[8:])
	binary.LittleEndian.PutUint64(t[:8], unround(round(w1)^1<<36))
	binary.LittleEndian.PutUint64(t[8:], unround(round(w2)^1<<63))
	return t
}

func round(x uint64) uint64 { return bits.RotateLeft64(x*prime2, 31) * prime1 }

func unround(y uint64) uint64 { return bits.RotateLeft64(y*inverse(prime1), -31) * inverse(prime2) }

// inverse returns the inverse of an odd number modulo 2^64, by Newton's steps: each doubles the
// bits.
func inverse(odd uint64) uint64 {
	x := odd
	for range 5 {
		x *= 2 - odd*x
	}
	return x
}

const (
	// twinAsks is how often each first twin asks: enough to see, far from the limit.
	twinAsks  = 8
	twinLimit = 100
)

// twins is the result of the mode.
type twins struct {
	Memory     int64  `json:"memory"`
	Seed       uint64 `json:"seed"`
	Pairs      int64  `json:"pairs"`
	Collide    int64  `json:"collide_under_xxh64"` // under a fresh seed each
	TwinSum    int64  `json:"twin_sum"`            // counts of the twins that never asked
	TwinMax    int64  `json:"twin_max"`
	ControlSum int64  `json:"control_sum"` // the same of keys that are nobody's twin
	ControlMax int64  `json:"control_max"`
}

// If the two met here, the twin that never asked would be taken to have asked.
// The control is a random key that never asked: its count in the sketch is noise, which twins may
// have too.
func runTwins(o options) (result, error) {
	n, err := newNode(o.memory, twinLimit, trafficStart)
	if err != nil {
		return nil, err
	}
	t := &twins{Memory: o.memory, Seed: o.seed, Pairs: o.n}
	dice := newDice(o.seed, 5)
	pairs := make([]key16, o.n)
	now := trafficStart
	for i := range pairs {
		pairs[i] = draw16(dice)
		other := twin(pairs[i])
		seed := dice.Uint64()
		if other != pairs[i] && seeded(seed, pairs[i]) == seeded(seed, other) {
			t.Collide++
		}
		for range twinAsks {
			n.refuses(now, dice.Uint64(), pairs[i][:])
		}
	}
	for i := range pairs {
		other, control := twin(pairs[i]), draw16(dice)
		raised, noise := n.offered(now, other[:]), n.offered(now, control[:])
		t.TwinSum, t.TwinMax = t.TwinSum+raised, max(t.TwinMax, raised)
		t.ControlSum, t.ControlMax = t.ControlSum+noise, max(t.ControlMax, noise)
	}
	return t, nil
}

func draw16(dice *rand.Rand) (k key16) {
	binary.LittleEndian.PutUint64(k[:8], dice.Uint64())
	binary.LittleEndian.PutUint64(k[8:], dice.Uint64())
	return k
}

func seeded(seed uint64, k key16) uint64 {
	d := xxhash.NewWithSeed(seed)
	_, _ = d.Write(k[:]) // never fails
	return d.Sum64()
}

// noiseAllowed is how far the twins' sum may lie above that of keys that are nobody's twin: by
// chance both are the same, and one asked-for twin in a thousand would already show.
func (t *twins) noiseAllowed() int64 { return t.ControlSum + t.ControlSum/10 + t.Pairs*twinAsks/1000 }

func (t *twins) passed() bool { return t.Collide == t.Pairs && t.TwinSum <= t.noiseAllowed() }

func (t *twins) print(w io.Writer) {
	fmt.Fprintf(w, "twins, seed %d: %d pairs, each first asks %d times; memory %d MiB\n", t.Seed,
		t.Pairs, twinAsks, t.Memory/mib)
	fmt.Fprintf(w, "XXH64       %d pairs share all 64 bits under a random seed\n", t.Collide)
	fmt.Fprintf(w, "headgate    twins are taken to have asked %d times in all (most %d), keys that are nobody's twin %d (most %d)\n",
		t.TwinSum, t.TwinMax, t.ControlSum, t.ControlMax)
	fmt.Fprintf(w, "%s  every pair collides under XXH64\n", verdict(t.Collide == t.Pairs))
	fmt.Fprintf(w, "%s  no pair meets here beyond chance\n", verdict(t.TwinSum <= t.noiseAllowed()))
}
