package assignment_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/headgate-dev/headgate/gossip/coordinator/assignment"
)

// members returns so many members of each PoP a, b, ...
func members(sizes ...int) (list []assignment.Member) {
	for p, size := range sizes {
		for n := range size {
			list = append(list, assignment.Member{Name: fmt.Sprintf("%c%d", 'a'+p, n), PoP: string(rune('a' + p))})
		}
	}
	return list
}

// TestOwnersAreOfTwoPoPs: owner and standby are two members, of two PoPs if there are two, and the
// reporters of a PoP are two of its members.
func TestOwnersAreOfTwoPoPs(t *testing.T) {
	for _, sizes := range [][]int{{1}, {3}, {1, 1}, {2, 5, 1}} {
		table := assignment.New([]byte("secret"), members(sizes...))
		for shard := range assignment.Shards {
			pair := table.ShardOwners(shard)
			first, ok := table.PoP(pair.First)
			second, two := table.PoP(pair.Second)
			if !ok || two != (table.Members() > 1) || pair.First == pair.Second || two && (first != second) != (len(sizes) > 1) {
				t.Fatalf("%v: shard %d has the owners %+v", sizes, shard, pair)
			}
			for p, size := range sizes {
				pop := string(rune('a' + p))
				reporters := table.Reporters(pop, shard)
				first, ok := table.PoP(reporters.First)
				second, two := table.PoP(reporters.Second)
				if !ok || first != pop || two != (size > 1) || two && second != pop || reporters.First == reporters.Second {
					t.Fatalf("%v: shard %d has the reporters %+v in PoP %s", sizes, shard, reporters, pop)
				}
			}
		}
		if pair := table.Reporters("nowhere", 0); pair != (assignment.Pair{}) {
			t.Errorf("a PoP without members has the reporters %+v", pair)
		}
	}
}

// TestOrderOfMembersDoesNotMatter: nodes that know the same members agree on every shard.
func TestOrderOfMembersDoesNotMatter(t *testing.T) {
	list := members(3, 2, 4)
	one := assignment.New([]byte("secret"), list)
	slices.Reverse(list)
	other := assignment.New([]byte("secret"), append(list, list[0]))
	for shard := range assignment.Shards {
		if one.ShardOwners(shard) != other.ShardOwners(shard) || one.Reporters("b", shard) != other.Reporters("b", shard) {
			t.Fatalf("shard %d: owners %+v and %+v", shard, one.ShardOwners(shard), other.ShardOwners(shard))
		}
	}
	if one.Members() != other.Members() || one.PoPs() != 3 || one.Neighbours("c") != 4 || !one.Has("a") || one.Has("d") {
		t.Errorf("%d and %d members, %d PoPs, %d neighbours", one.Members(), other.Members(), one.PoPs(), one.Neighbours("c"))
	}
}

// TestMembersMoveOnlyTheirShards: a member that leaves gives away the shards it owned, and no
// others. Each member owns about its part.
func TestMembersMoveOnlyTheirShards(t *testing.T) {
	list := members(4, 4)
	before, after := assignment.New([]byte("secret"), list), assignment.New([]byte("secret"), list[1:])
	owned := map[string]int{}
	for shard := range assignment.Shards {
		was, is := before.ShardOwners(shard).First, after.ShardOwners(shard).First
		if owned[was]++; was != is && was != "a0" {
			t.Errorf("shard %d moved from %s to %s", shard, was, is)
		}
	}
	for name, n := range owned {
		if n < 16 || n > 64 {
			t.Errorf("%s owns %d of 256 shards, want about 32", name, n)
		}
	}
}

// TestSecretsHashApart: another secret puts keys into other shards.
func TestSecretsHashApart(t *testing.T) {
	one, other, same := assignment.New([]byte("one"), members(2)), assignment.New([]byte("other"), members(2)), 0
	for k := range 1000 {
		if one.Shard("r", fmt.Sprint(k)) == other.Shard("r", fmt.Sprint(k)) {
			same++
		}
	}
	if same > 20 || one.SameSecret(other) || !one.SameSecret(assignment.New([]byte("one"), nil)) {
		t.Errorf("%d of 1000 keys are in the same shard under another secret", same)
	}
	if one.Shard("r", "k") == one.Shard("rk", "") && one.Shard("r", "l") == one.Shard("rl", "") {
		t.Error("rule and key run into each other")
	}
}
