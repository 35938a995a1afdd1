// Package assignment says which member of a cluster does which part for a key: who owns it, who
// stands by, and who reports it for a PoP. It is a pure function of the members' names and PoPs and
// of a secret, so nodes that know the same members agree without a message.
//
//	rule, key ─► Shard, 0..255 ─┬► Owners     owner and standby, of two PoPs if there are two
//	                            └► Reporters  of one PoP: the reporter and its deputy
//
// A member's score for a shard is a keyed hash (rendezvous hashing), so a member that comes or goes
// moves only the shards that it wins or held:
//
//	score(member, shard) = xxhash(secret, shard, xxhash(member name))
//	owner     the member with the best score
//	standby   the best member of another PoP, or the second best if there is one PoP
//	reporter  the best member of a PoP; its deputy is the second best
//
// There is no election. Members that disagree for a moment do no harm, because reports are state: a key
// with two owners has two answers for as long, and a reporter takes the lesser.
//
// What it gives up: weights. A small node owns as many keys as a large one. The secret only keeps
// clients from choosing keys of one owner; it is no protection against members.
package assignment

import (
	"encoding/binary"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Member is a node that takes part in the control loop. Names are unique, shorter than 256 bytes.
type Member struct{ Name, PoP string }

// Shards is the number of shards of keys: enough to spread load evenly over owners, few enough to
// recompute at every change of members.
const Shards = 256

// Pair is a first and a second choice among members, by name; "" is no member.
type Pair struct{ First, Second string }

// Table is the assignment for one set of members. It is immutable and may be shared.
type Table struct {
	// secret is the hash of the cluster's secret.
	secret  uint64
	members []Member
	place   map[string]int
	owners  [Shards][2]int32             // owner and standby, -1: no member
	byPoP   map[string]*[Shards][2]int32 // by PoP: reporter and deputy
	sizes   map[string]int               // by PoP: members
}

// New computes the table of members, in any order. Nodes with the same secret and
// the same members get the same one.
func New(secret []byte, members []Member) *Table {
	s := &Table{
		secret: xxhash.Sum64(secret), members: slices.Clone(members),
		place: make(map[string]int, len(members)), byPoP: make(map[string]*[Shards][2]int32),
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
			s.byPoP[m.PoP] = new([Shards][2]int32)
		}
	}
	for shard := range Shards {
		s.assign(shard, names)
	}
	return s
}

// assign computes owner, standby and reporters of one shard; names are the members' hashes.
func (s *Table) assign(shard int, names []uint64) {
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

// Shard returns the shard of a key, 0..Shards-1. A collision gains an attacker nothing, so a fast
// hash will do.
func (s *Table) Shard(rule, key string) int {
	d := xxhash.NewWithSeed(s.secret)
	_, _ = d.WriteString(rule) // never fails
	_, _ = d.Write([]byte{0})
	_, _ = d.WriteString(key)
	return int(d.Sum64() % Shards)
}

// name returns the name of member number at, "" for -1.
func (s *Table) name(at int32) string {
	if at < 0 {
		return ""
	}
	return s.members[at].Name
}

// ShardOwners returns the owner of a shard and its standby.
func (s *Table) ShardOwners(shard int) Pair {
	at := s.owners[shard]
	return Pair{s.name(at[0]), s.name(at[1])}
}

// Owners returns the owner of a key and its standby; "" where there is no member.
func (s *Table) Owners(rule, key string) (owner, standby string) {
	pair := s.ShardOwners(s.Shard(rule, key))
	return pair.First, pair.Second
}

// Reporters returns the reporter of a shard in pop and its deputy; empty names for a PoP without
// members.
func (s *Table) Reporters(pop string, shard int) Pair {
	pair := s.byPoP[pop]
	if pair == nil {
		return Pair{}
	}
	return Pair{s.name(pair[shard][0]), s.name(pair[shard][1])}
}

// Names yields the PoPs that have members, in random order.
func (s *Table) Names() iter.Seq[string] { return maps.Keys(s.byPoP) }

// Has reports whether pop has members.
func (s *Table) Has(pop string) bool { return s.byPoP[pop] != nil }

// SameSecret reports whether both tables hash keys to shards alike.
func (s *Table) SameSecret(other *Table) bool { return s.secret == other.secret }

// PoP returns the PoP of the member called name, and false for a stranger.
func (s *Table) PoP(name string) (pop string, ok bool) {
	at, ok := s.place[name]
	if !ok {
		return "", false
	}
	return s.members[at].PoP, true
}

// PoPs returns the number of PoPs, at least 1.
func (s *Table) PoPs() int { return max(1, len(s.byPoP)) }

// Neighbours returns the number of members in pop, at least 1.
func (s *Table) Neighbours(pop string) int { return max(1, s.sizes[pop]) }

// Members returns the number of members.
func (s *Table) Members() int { return len(s.members) }
