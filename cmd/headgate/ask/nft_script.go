package ask

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/mitigation"
)

// nftRules choose the blocks that go into the packet filter.
type nftRules struct {
	table, hook    string
	rules          []string // names; none: all
	never          []netip.Prefix
	most           int
	minTTL, maxTTL time.Duration
}

// wanted returns the addresses and networks to drop, each with the end of the last of its blocks,
// and how many of them there is no room for, or are never dropped. have are those dropped now.
func (x *nftRules) wanted(
	list []api.MitigationView, have map[netip.Prefix]time.Time, now time.Time,
) (all map[netip.Prefix]time.Time, over int, never []netip.Prefix) {
	all = map[netip.Prefix]time.Time{}
	for i := range list {
		m := &list[i]
		p, ok := networkOf(m.Key)
		if !ok || m.Action != mitigation.Block.String() ||
			m.Mode != mitigation.Enforce.String() ||
			len(x.rules) > 0 && !slices.Contains(x.rules, m.Rule) {
			continue
		}
		_, dropped := have[p]
		switch left := m.Expires.Sub(now); {
		case left <= 0, left < x.minTTL && !dropped:
		case slices.ContainsFunc(x.never, p.Overlaps):
			never = append(never, p)
		case m.Expires.After(all[p]):
			all[p] = m.Expires
		}
	}
	dropNested(all)
	return all, x.dropShortest(all), never
}

// dropNested takes the networks in wider networks out of all: intervals must not overlap.
func dropNested(all map[netip.Prefix]time.Time) {
	order := slices.SortedFunc(maps.Keys(all), func(a, b netip.Prefix) int {
		return cmp.Compare(a.Bits(), b.Bits())
	})
	for _, p := range order {
		for bits := p.Bits() - 1; bits >= 0 && !p.IsSingleIP(); bits-- {
			if wide, _ := p.Addr().Prefix(bits); !all[wide].IsZero() {
				delete(all, p)
				break
			}
		}
	}
}

// dropShortest takes those that end first out of all, and returns how many there are beyond most.
func (x *nftRules) dropShortest(all map[netip.Prefix]time.Time) (over int) {
	if over = len(all) - x.most; over <= 0 {
		return 0
	}
	order := slices.SortedFunc(maps.Keys(all), func(a, b netip.Prefix) int {
		return all[a].Compare(all[b])
	})
	for _, p := range order[:over] {
		delete(all, p)
	}
	return over
}

// networkOf returns the address or the network that a key is.
func networkOf(key string) (netip.Prefix, bool) {
	if a, err := netip.ParseAddr(key); err == nil && a.Zone() == "" {
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	p, err := netip.ParsePrefix(key)
	return p.Masked(), err == nil && p.Bits() > 0
}

// setOf returns the set of a network.
func setOf(p netip.Prefix) string {
	name := "net"
	if p.IsSingleIP() {
		name = "block"
	}
	if p.Addr().Is4() {
		return name + "4"
	}
	return name + "6"
}

// begin returns the commands that make the table, its sets and its chain.
func (x *nftRules) begin() string {
	var b strings.Builder
	fmt.Fprintf(&b, "add table inet %s\n", x.table)
	for _, set := range []string{"block4", "block6", "net4", "net6"} {
		kind, flags := "ipv4_addr", "timeout"
		if set[len(set)-1] == '6' {
			kind = "ipv6_addr"
		}
		if strings.HasPrefix(set, "net") {
			flags = "interval, timeout"
		}
		fmt.Fprintf(&b, "add set inet %s %s { type %s; flags %s; }\n", x.table, set, kind, flags)
		fmt.Fprintf(&b, "flush set inet %s %s\n", x.table, set)
	}
	if x.hook == "none" {
		return b.String()
	}
	fmt.Fprintf(&b, "add chain inet %s blocked { type filter hook %s priority -300; "+
		"policy accept; }\n", x.table, x.hook)
	fmt.Fprintf(&b, "flush chain inet %s blocked\n", x.table)
	for _, rule := range []string{
		"ip saddr @block4", "ip saddr @net4", "ip6 saddr @block6", "ip6 saddr @net6",
	} {
		fmt.Fprintf(&b, "add rule inet %s blocked %s counter drop\n", x.table, rule)
	}
	return b.String()
}

// unsure reports whether an element is to get another end while nft may be dropping it: to delete
// it could fail, and to add it could keep the old end.
func (x *nftRules) unsure(have, all map[netip.Prefix]time.Time, now time.Time) bool {
	for p, was := range have {
		if end, stays := all[p]; stays && !was.After(now.Add(time.Second)) && end.After(was) {
			return true
		}
	}
	return false
}

// change returns the commands that make the sets hold all, where these hold have. Elements whose
// time is over end by themselves, and a deletion of them would fail.
func (x *nftRules) change(have, all map[netip.Prefix]time.Time, now time.Time) string {
	gone, more := map[string][]string{}, map[string][]string{}
	name := func(p netip.Prefix) string {
		if p.IsSingleIP() {
			return p.Addr().String()
		}
		return p.String()
	}
	moved := func(a, b time.Time) bool { return a.Sub(b).Abs() > time.Second }
	for p, was := range have {
		if moved(all[p], was) && was.After(now.Add(time.Second)) {
			gone[setOf(p)] = append(gone[setOf(p)], name(p))
		}
	}
	for p, end := range all {
		if was, there := have[p]; !there || moved(end, was) {
			left := min((end.Sub(now) + time.Second - 1).Truncate(time.Second), x.maxTTL)
			more[setOf(p)] = append(more[setOf(p)],
				fmt.Sprintf("%s timeout %ds", name(p), left/time.Second))
		}
	}
	var b strings.Builder
	for _, do := range []struct {
		verb     string
		elements map[string][]string
	}{{"delete", gone}, {"add", more}} {
		for _, set := range slices.Sorted(maps.Keys(do.elements)) {
			slices.Sort(do.elements[set])
			fmt.Fprintf(&b, "%s element inet %s %s { %s }\n", do.verb, x.table, set,
				strings.Join(do.elements[set], ", "))
		}
	}
	return b.String()
}
