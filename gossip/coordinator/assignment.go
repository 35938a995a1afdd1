package coordinator

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Member is a node that takes part in the control loop. Names are unique, shorter than 256 bytes.
type Member struct{ Name, PoP string }

// shards is the number of shards of keys: enough to spread load evenly over owners, few enough to
// recompute at every change of members.
const shards = 256

// Assignment says which member owns, stands by for and reports each shard, for one set of members.
// It is immutable and may be shared.
//
//	score(member, shard) = xxhash(secret, shard, xxhash(member name))
//	owner     the member with the best score
//	standby   the best member of another PoP, or the second best if there is one PoP
//	reporter  the best member of a PoP; its deputy is the second best
//
// Nobody is elected. Members that disagree for a moment do no harm, because reports are state.
type Assignment struct {
	// secret is the hash of the cluster's secret.
	secret  uint64
	members []Member
	place   map[string]int
	owners  [shards][2]int32             // owner and standby, -1: nobody
	byPoP   map[string]*[shards][2]int32 // by PoP: reporter and deputy
	sizes   map[string]int               // by PoP: members
}

// NewAssignment computes the assignment of members, in any order. Nodes with the same secret and
// the same members get the same one.
func NewAssignment(secret []byte, members []Member) *Assignment {
	s := &Assignment{
		secret: xxhash.Sum64(secret), members: slices.Clone(members),
		place: make(map[string]int, len(members)), byPoP: make(map[string]*[shards][2]int32),
	}
	slices.SortFunc(s.members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	s.members = slices.CompactFunc(s.members, func(a, b Member) bool { return a.Name == b.Name })
	names := make([]uint64, len(s.members))
	s.sizes = make(map[string]int)
	for n, m := range s.members {
		s.sizes[m.PoP]++
		s.place[m.Name] = n
		names[n] = xxhash.Sum64String(m.Name)
		if s.byPoP[m.PoP] == nil {
			s.byPoP[m.PoP] = new([shards][2]int32)
		}
	}
	for shard := range shards {
		s.assign(shard, names)
	}
	return s
}

// assign computes owner, standby and reporters of one shard; names are the members' hashes.
func (s *Assignment) assign(shard int, names []uint64) {
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
		standby = best(owner, -1) // there is only one PoP
	}
	s.owners[shard] = [2]int32{owner, standby}
	for _, pair := range s.byPoP {
		pair[shard] = [2]int32{-1, -1}
	}
	for _, n := range order {
		pair := &s.byPoP[s.members[n].PoP][shard]
		switch {
		case pair[0] < 0 || scores[n] > scores[pair[0]]:
			pair[0], pair[1] = n, pair[0]
		case pair[1] < 0 || scores[n] > scores[pair[1]]:
			pair[1] = n
		}
	}
}

// shard returns the shard of a key, 0..255. Nothing is won by a collision, so a fast hash will do.
func (s *Assignment) shard(k id) int {
	d := xxhash.NewWithSeed(s.secret)
	_, _ = d.WriteString(k.rule) // never fails
	_, _ = d.Write([]byte{0})
	_, _ = d.WriteString(k.key)
	return int(d.Sum64() % shards)
}

// name returns the name of member number at, "" for -1.
func (s *Assignment) name(at int32) string {
	if at < 0 {
		return ""
	}
	return s.members[at].Name
}

// Owners returns who owns the key and who stands by; "" where there is nobody.
func (s *Assignment) Owners(rule, key string) (owner, standby string) {
	at := s.owners[s.shard(id{rule, key})]
	return s.name(at[0]), s.name(at[1])
}

// reporters returns who reports the shard for pop, and who would next.
func (s *Assignment) reporters(pop string, shard int) (first, next string) {
	pair := s.byPoP[pop]
	if pair == nil {
		return "", ""
	}
	return s.name(pair[shard][0]), s.name(pair[shard][1])
}

// PoP returns the PoP of the member called name, and false for a stranger.
func (s *Assignment) PoP(name string) (pop string, ok bool) {
	at, ok := s.place[name]
	if !ok {
		return "", false
	}
	return s.members[at].PoP, true
}

// PoPs returns the number of PoPs, at least 1.
func (s *Assignment) PoPs() int { return max(1, len(s.byPoP)) }

// Neighbours returns the number of members in pop, at least 1.
func (s *Assignment) Neighbours(pop string) int { return max(1, s.sizes[pop]) }

// Members returns the number of members.
func (s *Assignment) Members() int { return len(s.members) }
