package ring

import "errors"

// KeyBytes is the length of a counter's name in memcached.
const KeyBytes = 35

// Key is the name of a counter: "hg:" and the 32 hexadecimal digits of a digest. See Digester.
type Key [KeyBytes]byte

// Op is an addition to a counter, or with Delta 0 a read. The caller writes the first fields; Do
// writes Total, Err and Sent.
type Op struct {
	Key    Key
	Server int    // number of the server holding Key, from Placement.Pick
	Delta  uint64 // to add; 0 only reads, and never creates
	// seconds a counter lives from the creation on; additions do not prolong the life; at most
	// MaxTTL
	TTL uint32

	Total uint64 // the counter after the addition; 0 for a read of one that does not exist
	Err   error  // nil, or why Total means nothing
	Sent  bool   // with Err: the delta may have been counted all the same
}

// MaxTTL is the longest life of a counter, in seconds. memcached reads a longer TTL as a date.
const MaxTTL = 30 * 24 * 3600

// ErrDown is the error of an Op not sent because the server failed of late: the breaker is open.
var ErrDown = errors.New("ring: server is down")
