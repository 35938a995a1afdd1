package assignment_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/headgate-dev/headgate/gossip/coordinator/assignment"
)

// members returns so many members of each PoP a, b, ...
func members(sizes ...int) (list []assignment.Member) {
	for p, size := range sizes {
		for n := range size {
			list = append(list, assignment.Member{
				Name: fmt.Sprintf("%c%d", 'a'+p, n),
				PoP:  string(rune('a' + p)),
			})
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
			if !ok || two != (table.Members() > 1) || pair.First == pair.Second ||
				two && (first != second) != (len(sizes) > 1) {
				t.Fatalf("%v: shard %d has the owners %+v", sizes, shard, pair)
			}
			for p, size := range sizes {
				pop := string(rune('a' + p))
				reporters := table.Reporters(pop, shard)
				first, ok := table.PoP(reporters.First)
				second, two := table.PoP(reporters.Second)
				if !ok || first != pop || two != (size > 1) || two && second != pop ||
					reporters.First == reporters.Second {
					t.Fatalf("%v: shard %d has the reporters %+v in PoP %s", sizes,
						shard, reporters, pop)
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
		if one.ShardOwners(shard) != other.ShardOwners(shard) ||
			one.Reporters("b", shard) != other.Reporters("b", shard) {
			t.Fatalf("shard %d: owners %+v and %+v", shard, one.ShardOwners(shard),
				other.ShardOwners(shard))
		}
	}
	if one.Members() != other.Members() || one.PoPs() != 3 || one.Neighbours("c") != 4 ||
		!one.Has("a") || one.Has("d") {
		t.Errorf("%d and %d members, %d PoPs, %d neighbours", one.Members(), other.Members(),
			one.PoPs(), one.Neighbours("c"))
	}
}

// TestMembersMoveOnlyTheirShards: a member that leaves gives away the shards it owned and reported,
// to its own PoP, and no others. Each member owns about its part.
func TestMembersMoveOnlyTheirShards(t *testing.T) {
	list := members(4, 4, 4)
	before, after := assignment.New([]byte("secret"), list),
		assignment.New([]byte("secret"), list[1:])
	owned, moved := map[string]int{}, 0
	for shard := range assignment.Shards {
		was, is := before.ShardOwners(shard), after.ShardOwners(shard)
		owned[was.First]++
		if was != is {
			moved++
		}
		heir := before.Reporters("a", shard).Second
		if was.First != is.First && (was.First != "a0" || is.First != heir) ||
			was.Second != is.Second && (was.Second != "a0" || is.Second != heir) {
			t.Errorf("shard %d moved from %+v to %+v", shard, was, is)
		}
		for _, pop := range []string{"a", "b", "c"} {
			was, is := before.Reporters(pop, shard), after.Reporters(pop, shard)
			if was != is && was.First != "a0" && was.Second != "a0" ||
				was.First != is.First && was.First != "a0" {
				t.Errorf("shard %d in PoP %s moved from %+v to %+v", shard, pop, was, is)
			}
		}
	}
	if want := 2 * assignment.Shards / len(list); moved < want*8/10 || moved > want*12/10 {
		t.Errorf("%d shards moved, want about %d: a twelfth of all has a0 as its owner, a "+
			"twelfth as its standby", moved, want)
	}
	even(t, owned, assignment.Shards/len(list))
}

// even checks that every member owns about so many shards, within four standard deviations.
func even(t *testing.T, owned map[string]int, about int) {
	t.Helper()
	for name, n := range owned {
		if off := n - about; off*off > 16*about {
			t.Errorf("%s owns %d of %d shards, want about %d", name, n, assignment.Shards, about)
		}
	}
}

// TestPoPsMoveOnlyTheirShards: the shards of a PoP that is lost go on with their standby, and no
// others move. When it is back, all are where they were.
func TestPoPsMoveOnlyTheirShards(t *testing.T) {
	list := members(3, 3, 3, 3)
	before, after := assignment.New([]byte("secret"), list),
		assignment.New([]byte("secret"), list[3:])
	owners, standbys := 0, 0
	for shard := range assignment.Shards {
		was, is := before.ShardOwners(shard), after.ShardOwners(shard)
		first, _ := before.PoP(was.First)
		second, _ := before.PoP(was.Second)
		switch {
		case first == "a":
			if owners++; is.First != was.Second {
				t.Errorf("shard %d: owner and standby were %+v and are %+v", shard, was, is)
			}
		case second == "a":
			if standbys++; is.First != was.First || is.Second == was.Second {
				t.Errorf("shard %d: owner and standby were %+v and are %+v", shard, was, is)
			}
		case was != is:
			t.Errorf("shard %d, of two other PoPs, moved from %+v to %+v", shard, was, is)
		}
	}
	even(t, map[string]int{"a, as owner": owners, "a, as standby": standbys}, assignment.Shards/4)
}

// TestOwnersReport: the owner of a shard is the reporter of it in its own PoP.
func TestOwnersReport(t *testing.T) {
	table := assignment.New([]byte("secret"), members(3, 1, 5))
	for shard := range assignment.Shards {
		pair := table.ShardOwners(shard)
		for _, name := range []string{pair.First, pair.Second} {
			if pop, _ := table.PoP(name); table.Reporters(pop, shard).First != name {
				t.Fatalf("shard %d: %+v, reporters in %s %+v", shard, pair, pop,
					table.Reporters(pop, shard))
			}
		}
	}
}

// TestAssignmentGolden: what an assignment says of some shards, which no version may change
// unawares: nodes of two versions would send their reports to two owners.
func TestAssignmentGolden(t *testing.T) {
	table := assignment.New([]byte("secret"), members(3, 2, 4))
	var got strings.Builder
	for _, key := range []string{"203.0.113.7", "2001:db8::/64", "tenant-1", ""} {
		shard := table.Shard("per-ip", key)
		fmt.Fprintf(&got, "%s: shard %d, owners %v, reporters %v %v %v\n", key, shard,
			table.ShardOwners(shard),
			table.Reporters("a", shard), table.Reporters("b", shard), table.Reporters("c", shard))
	}
	const want = `203.0.113.7: shard 3413, owners {c2 b0}, reporters {a0 a2} {b0 b1} {c2 c3}
2001:db8::/64: shard 4091, owners {b0 a2}, reporters {a2 a0} {b0 b1} {c3 c1}
tenant-1: shard 2577, owners {c3 a1}, reporters {a1 a2} {b1 b0} {c3 c1}
: shard 3200, owners {b0 a0}, reporters {a0 a2} {b0 b1} {c2 c3}
`
	if got.String() != want {
		t.Errorf("%s", got.String())
	}
}

// TestSharedTable: nodes of one process may ask one table at the same time.
func TestSharedTable(t *testing.T) {
	table, alone := assignment.New([]byte("secret"), members(3, 2, 4)),
		assignment.New([]byte("secret"), members(3, 2, 4))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for shard := range 500 {
				if one, two := table.ShardOwners(shard), table.ShardOwners(shard); one != two {
					t.Errorf("shard %d has two owners", shard)
				}
			}
		})
	}
	all.Wait()
	for shard := range 500 {
		if table.ShardOwners(shard) != alone.ShardOwners(shard) {
			t.Fatalf("shard %d: %+v", shard, table.ShardOwners(shard))
		}
	}
}

// TestSecretsHashApart: another secret puts keys into other shards.
func TestSecretsHashApart(t *testing.T) {
	one, other, same := assignment.New([]byte("one"), members(2)),
		assignment.New([]byte("other"), members(2)), 0
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
