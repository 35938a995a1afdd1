// Package assignment says which member of a cluster does which part for a key: owner, standby, and
// reporters for each PoP. A pure function of the members' names and PoPs and of a secret, so nodes
// knowing the same members agree without a message.
//
//	rule, key ─► Shard, 0..4095 ─┬► Owners     owner and standby, of two PoPs if there are two
//	                             └► Reporters  of one PoP: the reporter and its deputy
//
// A shard is assigned in two steps, each by the best score of a keyed hash (rendezvous hashing), so
// a member or a PoP coming or going moves only the shards won or held:
//
//	score(name, shard) = xxhash(secret, shard, xxhash(name))
//	PoPs       the two PoPs with the best scores
//	reporters  the two members of a PoP with the best scores: the reporter and its deputy
//	owner      the reporter in the shard's first PoP
//	standby    the reporter in its second PoP, or the deputy if there is one PoP
//
// Nothing is computed before a question: a change of members costs each node a hash per member, and
// then a hash per PoP and per member of a PoP for each shard with keys.
//
// There is no election. Members in disagreement for a moment do no harm, because reports are state:
// a key with two owners has two answers for as long, and a reporter takes the lesser.
//
// Given up: weights. A small node owns as many keys as a large node of the same PoP, and all nodes
// of a small PoP together as many as the nodes of a large PoP. The secret only keeps clients from
// choosing keys of a single owner, without protection against members.
package assignment

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Member is a node taking part in the control loop. Names are unique, shorter than 256 bytes.
type Member struct{ Name, PoP string }

// Shards is the number of shards of keys: a few for each of a thousand owners, so load is even.
const Shards = 4096

// Pair is a first and a second choice among members, by name; "" is no member.
type Pair struct{ First, Second string }

// Table is the assignment for a set of members. A Table may be shared, and methods be called
// concurrently: only computed answers are remembered.
type Table struct {
	// secret is the hash of the cluster's secret.
	secret  uint64
	members []Member // sorted by name
	place   map[string]int
	// pops are the PoPs with members, sorted by name, and popHashes the hashes of the names.
	pops      []*pop
	popHashes []uint64
	byPoP     map[string]*pop
	// owners remembers the owner and standby of each shard.
	owners choices
}

// pop is a PoP with members.
type pop struct {
	name string
	// members are places in the table's members, and hashes the hashes of the names.
	members []int
	hashes  []uint64
	// reporters remembers the reporter and deputy of each shard.
	reporters choices
}

// New computes the table of members, in any order. Nodes with the same secret and the same members
// get the same table.
func New(secret []byte, members []Member) *Table {
	s := &Table{
		secret: xxhash.Sum64(secret), members: slices.Clone(members),
		place: make(map[string]int, len(members)), byPoP: make(map[string]*pop),
	}
	slices.SortFunc(s.members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	s.members = slices.CompactFunc(s.members, func(a, b Member) bool { return a.Name == b.Name })
	for n, m := range s.members {
		s.place[m.Name] = n
		p := s.byPoP[m.PoP]
		if p == nil {
			p = &pop{name: m.PoP}
			s.byPoP[m.PoP] = p
		}
		p.members, p.hashes = append(p.members, n), append(p.hashes, xxhash.Sum64String(m.Name))
	}
	for _, name := range slices.Sorted(maps.Keys(s.byPoP)) {
		s.pops, s.popHashes = append(s.pops, s.byPoP[name]),
			append(s.popHashes, xxhash.Sum64String(name))
	}
	return s
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

// pair returns the names of members by their places; "" for -1.
func (s *Table) pair(first, second int) (pair Pair) {
	if first >= 0 {
		pair.First = s.members[first].Name
	}
	if second >= 0 {
		pair.Second = s.members[second].Name
	}
	return pair
}

// best returns the places of the two members of p with the best scores for shard; -1: none.
func (p *pop) best(secret uint64, shard int) (first, second int) {
	first, second = twoBest(secret, shard, p.hashes)
	if second >= 0 {
		second = p.members[second]
	}
	return p.members[first], second // a PoP has a member
}

// owning returns the places of the owner and standby of a shard; -1: none.
func (s *Table) owning(shard int) (owner, standby int) {
	first, second := twoBest(s.secret, shard, s.popHashes)
	if first < 0 {
		return -1, -1
	}
	owner, standby = s.pops[first].best(s.secret, shard)
	if second >= 0 {
		standby, _ = s.pops[second].best(s.secret, shard)
	}
	return owner, standby
}

// ShardOwners returns the owner and standby of a shard.
func (s *Table) ShardOwners(shard int) Pair {
	first, second, known := s.owners.at(shard)
	if !known {
		first, second = s.owning(shard)
		s.owners.set(shard, first, second)
	}
	return s.pair(first, second)
}

// Owners returns the owner and standby of a key; "" where there is no member.
func (s *Table) Owners(rule, key string) (owner, standby string) {
	pair := s.ShardOwners(s.Shard(rule, key))
	return pair.First, pair.Second
}

// Reporters returns the reporter and deputy of a shard in pop; empty names for a PoP without
// members.
func (s *Table) Reporters(pop string, shard int) Pair {
	p := s.byPoP[pop]
	if p == nil {
		return Pair{}
	}
	first, second, known := p.reporters.at(shard)
	if !known {
		first, second = p.best(s.secret, shard)
		p.reporters.set(shard, first, second)
	}
	return s.pair(first, second)
}

// Names yields the PoPs with members, in random order.
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
func (s *Table) Neighbours(pop string) int {
	if p := s.byPoP[pop]; p != nil {
		return len(p.members)
	}
	return 1
}

// Members returns the number of members.
func (s *Table) Members() int { return len(s.members) }
