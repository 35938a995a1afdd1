package council

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Member is a node that takes part.
type Member struct{ Name, PoP string }

// shards is how many shards keys fall into: enough that owners carry alike, few enough to work out at every change.
const shards = 256

// Seats says who owns, stands by and reports each shard among one set of members. It is immutable and may be shared.
type Seats struct {
	secret  uint64
	members []Member
	place   map[string]int
	owners  [shards][2]int32             // owner and standby, -1: nobody
	desks   map[string]*[shards][2]int32 // by PoP: reporter and deputy
	sizes   map[string]int               // by PoP: members
}

// NewSeats works out the seats of members, whose order does not matter. Nodes with the same secret and members agree.
func NewSeats(secret []byte, members []Member) *Seats {
	s := &Seats{
		secret: xxhash.Sum64(secret), members: slices.Clone(members),
		place: make(map[string]int, len(members)), desks: make(map[string]*[shards][2]int32),
	}
	slices.SortFunc(s.members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	s.members = slices.CompactFunc(s.members, func(a, b Member) bool { return a.Name == b.Name })
	names := make([]uint64, len(s.members))
	s.sizes = make(map[string]int)
	for n, m := range s.members {
		s.sizes[m.PoP]++
		s.place[m.Name] = n
		names[n] = xxhash.Sum64String(m.Name)
		if s.desks[m.PoP] == nil {
			s.desks[m.PoP] = new([shards][2]int32)
		}
	}
	for shard := range shards {
		s.seat(shard, names)
	}
	return s
}

// seat works out who sits for shard.
func (s *Seats) seat(shard int, names []uint64) {
	order := make([]int32, len(names))
	scores := make([]uint64, len(names))
	var buf [24]byte
	for n, name := range names {
		order[n] = int32(n) // far fewer than 2^31 members
		binary.LittleEndian.PutUint64(buf[:], s.secret)
		binary.LittleEndian.PutUint64(buf[8:], uint64(shard)) // below 256
		binary.LittleEndian.PutUint64(buf[16:], name)
		scores[n] = xxhash.Sum64(buf[:])
	}
	best := func(not, notIn int32) int32 {
		at := int32(-1)
		for _, n := range order {
			if n == not || notIn >= 0 && s.members[n].PoP == s.members[notIn].PoP {
				continue
			}
			if at < 0 || scores[n] > scores[at] {
				at = n
			}
		}
		return at
	}
	owner := best(-1, -1)
	standby := best(owner, owner)
	if standby < 0 {
		standby = best(owner, -1) // there is but one PoP
	}
	s.owners[shard] = [2]int32{owner, standby}
	for _, desk := range s.desks {
		desk[shard] = [2]int32{-1, -1}
	}
	for _, n := range order {
		desk := &s.desks[s.members[n].PoP][shard]
		switch {
		case desk[0] < 0 || scores[n] > scores[desk[0]]:
			desk[0], desk[1] = n, desk[0]
		case desk[1] < 0 || scores[n] > scores[desk[1]]:
			desk[1] = n
		}
	}
}

// shard returns the shard of a key: all nodes agree, and nothing is won by a collision.
func (s *Seats) shard(k id) int {
	d := xxhash.NewWithSeed(s.secret)
	_, _ = d.WriteString(k.rule) // never fails
	_, _ = d.Write([]byte{0})
	_, _ = d.WriteString(k.key)
	return int(d.Sum64() % shards)
}

// name returns who sits at a place, "" for nobody.
func (s *Seats) name(at int32) string {
	if at < 0 {
		return ""
	}
	return s.members[at].Name
}

// Owners returns who owns the key and who stands by; "" where there is nobody.
func (s *Seats) Owners(rule, key string) (owner, standby string) {
	at := s.owners[s.shard(id{rule, key})]
	return s.name(at[0]), s.name(at[1])
}

// reporters returns who reports the shard for pop, and who would next.
func (s *Seats) reporters(pop string, shard int) (first, next string) {
	desk := s.desks[pop]
	if desk == nil {
		return "", ""
	}
	return s.name(desk[shard][0]), s.name(desk[shard][1])
}

// PoP returns which PoP the member called name is in.
func (s *Seats) PoP(name string) (pop string, ok bool) {
	at, ok := s.place[name]
	if !ok {
		return "", false
	}
	return s.members[at].PoP, true
}

// PoPs returns how many PoPs there are, at least 1.
func (s *Seats) PoPs() int { return max(1, len(s.desks)) }

// Neighbours returns how many members pop has, at least 1.
func (s *Seats) Neighbours(pop string) int { return max(1, s.sizes[pop]) }

// Members returns how many members there are.
func (s *Seats) Members() int { return len(s.members) }
