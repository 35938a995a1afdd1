package main

import (
	"math/rand/v2"
	"strconv"
)

// stream draws keys by a law, the same ones for the same seed. It is not safe for concurrent use.
type stream struct{ draw func() uint64 }

// newStream returns the draw options ask for: always one key, uniform, or Zipf with key 0 the
// heaviest.
// Zipf has a few heavy clients and a long tail; uniform over many keys is a flood of forged
// addresses; one key is a single client.
func newStream(o options) stream {
	r := rand.New(rand.NewPCG(o.seed, o.seed)) //nolint:gosec // repeatable on purpose
	switch o.dist {
	case "uniform":
		return stream{func() uint64 { return r.Uint64N(o.keys) }}
	case "zipf":
		return stream{rand.NewZipf(r, o.skew, 1, o.keys-1).Uint64}
	default:
		return stream{func() uint64 { return 0 }}
	}
}

// maxKeyText is the length of the longest key appendKey writes.
const maxKeyText = len("255.255.255.255")

// appendKey appends the n-th key as an IPv4 address, 7 to 15 bytes. An odd factor spreads
// neighbours over all addresses and keeps them different.
// Addresses rather than key1, key2: their lengths and bytes are what the server hashes in use.
func appendKey(dst []byte, n uint64) []byte {
	// Knuth's multiplicative constant; any odd number keeps 32-bit keys different.
	const spread = 2654435761
	a := uint32(n) * spread
	for shift := 24; shift > 0; shift -= 8 {
		dst = strconv.AppendUint(dst, uint64(a>>shift&0xff), 10)
		dst = append(dst, '.')
	}
	return strconv.AppendUint(dst, uint64(a&0xff), 10)
}
