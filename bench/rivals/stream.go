package rivals

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// Size of the wide stream. The draws are many times the cache, so that fetching a key costs what it
// costs a server.
const (
	wideKeys  = 1_000_000
	wideDraws = 1 << 22
	wideSkew  = 1.01
	seed      = 1
)

// Stream is an endless row of keys, the same one every time; its keys repeat after len.
type Stream struct {
	Name string
	Keys []string
}

// Hot returns the stream of one key.
func Hot() Stream { return Stream{"hot", []string{"203.0.113.7"}} }

// Zipf returns the stream of a million keys drawn by a Zipf law of exponent 1.01. Their bytes lie
// in memory in another order than they are drawn in, as those of real requests do.
func Zipf() Stream {
	r := rand.New(rand.NewPCG(seed, seed))
	keys := Distinct(wideKeys)
	r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	law := rand.NewZipf(r, wideSkew, 1, wideKeys-1)
	s := Stream{"zipf", make([]string, wideDraws)}
	for i := range s.Keys {
		s.Keys[i] = keys[law.Uint64()]
	}
	return s
}

// Distinct returns n different keys, IPv4 addresses of 7 to 15 bytes.
func Distinct(n int) []string {
	const spread = 2654435761 // odd: neighbours fall far apart and none fall together
	keys := make([]string, n)
	for i := range keys {
		a := uint32(i) * spread
		keys[i] = strings.Join([]string{octet(a >> 24), octet(a >> 16), octet(a >> 8), octet(a)},
			".")
	}
	return keys
}

func octet(v uint32) string { return strconv.Itoa(int(v & 0xff)) }
