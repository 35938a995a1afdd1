package assignment

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
)

// choices remembers two members for each shard, by their places. The zero value remembers nothing.
// Concurrent calls may compute a choice twice, with a result.
type choices struct {
	known atomic.Pointer[[Shards]atomic.Uint64]
}

// A choice is remembered as both places plus 1, in 32 bits each: 0 is unknown, and a list has far
// fewer than 2^32-1 members.
const placeBits = 32

// at returns the members of shard, -1 for none, and whether known.
func (c *choices) at(shard int) (first, second int, known bool) {
	all := c.known.Load()
	if all == nil {
		return -1, -1, false
	}
	is := all[shard].Load()
	return int(is>>placeBits) - 1, int(is&(1<<placeBits-1)) - 1, is != 0
}

// set remembers the members of shard, -1 for none.
func (c *choices) set(shard, first, second int) {
	all := c.known.Load()
	if all == nil {
		c.known.CompareAndSwap(nil, new([Shards]atomic.Uint64))
		all = c.known.Load()
	}
	all[shard].Store(uint64(first+1)<<placeBits | uint64(second+1)) // places are at least -1
}

// twoBest returns the places of the two best scores for shard. Of equal scores the first is better.
func twoBest(secret uint64, shard int, hashes []uint64) (first, second int) {
	var buf [24]byte
	binary.LittleEndian.PutUint64(buf[:], secret)
	binary.LittleEndian.PutUint64(buf[8:], uint64(shard)) // below Shards
	first, second = -1, -1
	var best, next uint64
	for n, hash := range hashes {
		binary.LittleEndian.PutUint64(buf[16:], hash)
		switch score := xxhash.Sum64(buf[:]); {
		case first < 0 || score > best:
			second, next = first, best
			first, best = n, score
		case second < 0 || score > next:
			second, next = n, score
		}
	}
	return first, second
}
