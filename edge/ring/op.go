package ring

import "errors"

// KeyBytes is the length of a counter's name in memcached.
const KeyBytes = 35

// Key is the name of one counter: "hg:" and the 32 hexadecimal digits of a digest. See Digester.
type Key [KeyBytes]byte

// Op is one addition to a counter, or with Delta 0 one look at it.
type Op struct {
	Key    Key
	Server int    // where Key lives: Placement.Pick
	Delta  uint64 // to add; 0 only reads, and never creates
	TTL    uint32 // seconds a counter lives from its creation on; additions do not prolong it; at most MaxTTL

	Total uint64 // answered: the counter with Delta; 0 for a look at one that does not exist
	Err   error  // answered: nil, or why Total means nothing
	Sent  bool   // answered: with Err, whether the delta may have been counted all the same
}

// MaxTTL is the longest life of a counter, in seconds: memcached takes longer ones for dates.
const MaxTTL = 30 * 24 * 3600

// ErrDown is the error of an Op that was not sent because its server did not answer of late.
var ErrDown = errors.New("ring: server is down")
