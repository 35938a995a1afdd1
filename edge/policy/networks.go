package policy

import (
	"net/netip"
	"slices"

	"github.com/headgate-dev/headgate/edge/policy/sets"
)

// networks answers which conditions hold for a client's address. Addresses are divided into ranges
// in which the same conditions hold, so a binary search answers for all of them.
type networks struct {
	zones *sets.Zones
	named bool     // zones are those of a set of the configuration
	sets  []bitset // by the number of a zone
}

// maxNetworkSets bounds the different sets of conditions holding in some network. Lists that
// overlap in every way would make 2^lists of them; beyond this each condition tests its own list.
const maxNetworkSets = 4096

// group is the networks a condition wants the client in, and all conditions that do.
type group struct {
	Nets  *sets.Set
	Named bool // Nets is a set of the configuration, whose memory is counted there
	Conds bitset
}

// newNetworks makes the table of groups; anyClient are the conditions that look at no address. It
// reports false where more than maxNetworkSets different sets of conditions would come of it.
// Ranges in which the same groups are active share a set, found by a text with a byte a group.
func newNetworks(groups []*group, anyClient bitset) (*networks, bool) {
	n := &networks{sets: []bitset{anyClient}}
	// A single group: its own zones, where 1 belongs to who is in it, are the table.
	if len(groups) == 1 {
		n.add(groups, []bool{true})
		n.zones, n.named = groups[0].Nets.Zones(), groups[0].Named
		return n, true
	}
	list := make([]*sets.Set, len(groups))
	for i, g := range groups {
		list[i] = g.Nets
	}
	numbers, full := map[string]uint16{}, false
	spelt := make([]byte, len(groups))
	n.zones = sets.Join(list, func(active []bool) uint16 {
		holds := false
		for i, is := range active {
			spelt[i] = 0
			if is {
				spelt[i], holds = 1, true
			}
		}
		// After the bound is met nothing is added: the caller throws the table away.
		if !holds || full {
			return 0
		}
		number, ok := numbers[string(spelt)]
		if !ok {
			full = len(n.sets) == maxNetworkSets
			number = n.add(groups, active)
			numbers[string(spelt)] = number
		}
		return number
	})
	return n, !full
}

// add adds the set of conditions that hold where the active groups do, and returns its number.
func (n *networks) add(groups []*group, active []bool) uint16 {
	set := slices.Clone(n.sets[0])
	for i, is := range active {
		if is {
			set.or(groups[i].Conds)
		}
	}
	n.sets = append(n.sets, set)
	return uint16(len(n.sets) - 1) // at most maxNetworkSets
}

// Find returns the conditions holding for a, the zero Addr too. A client without an address is in
// no network.
func (n *networks) Find(a netip.Addr) bitset {
	if !a.IsValid() {
		return n.sets[0]
	}
	return n.sets[n.zones.Find(a)]
}

// Bytes returns the memory the ranges take beside the sets of the configuration.
func (n *networks) Bytes() int64 {
	if n.named {
		return 0
	}
	return n.zones.Bytes()
}
