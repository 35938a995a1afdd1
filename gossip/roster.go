package gossip

import (
	"cmp"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// Bounds of the roster: members, remembered dead, and how long both kinds of former members are
// kept.
const (
	maxMembers = 4096
	maxDead    = 1024
	// rememberDead is the time for which a dead member is joined again, after a long partition.
	rememberDead = 24 * time.Hour
	rememberLeft = 10 * time.Minute
)

// State is this node's belief about a member.
type State uint8

// The states. A member merely suspected is still alive.
const (
	Alive State = iota
	// Dead is a silent member.
	Dead
	// Left is a member with an announced leave. A node which missed the leave (1 of 250) says Dead.
	Left
)

// String returns the state as a lower-case word.
func (s State) String() string {
	switch s {
	case Alive:
		return "alive"
	case Dead:
		return "dead"
	case Left:
		return "left"
	default:
		return "unknown"
	}
}

// Member is a node of the cluster, in this node's knowledge.
type Member struct {
	Name  string
	Meta         // its own metadata
	Addr  string // "ip:port"
	State State
	Since time.Time // the time since when it is in State here
}

// entry is a Member with a parsed address.
type entry struct {
	Member
	at netip.AddrPort
}

// roster is this node's own table of members. memberlist's table hands out pointers to changing
// memory under the reader. The roster is updated under memberlist's lock, so nothing here calls
// memberlist.
type roster struct {
	mu      sync.Mutex // protects members
	members map[string]*entry
	changed chan struct{} // holds a token after a change
}

// newRoster returns an empty roster.
func newRoster() *roster {
	return &roster{members: make(map[string]*entry), changed: make(chan struct{}, 1)}
}

// put stores a member's state and description, and returns the error of the metadata.
func (r *roster) put(node *memberlist.Node, state State, now time.Time) error {
	meta, err := parseMeta(node.Meta)
	ip, _ := netip.AddrFromSlice(node.Addr)
	at := netip.AddrPortFrom(ip.Unmap(), node.Port)
	r.mu.Lock()
	defer r.mu.Unlock()
	if state == Dead && meta.Leaving {
		state = Left
	}
	m := &entry{
		Member{Name: node.Name, Meta: meta, Addr: at.String(), State: state, Since: now},
		at,
	}
	if old := r.members[node.Name]; old != nil && old.State == state {
		m.Since = old.Since
	}
	r.members[node.Name] = m
	r.forget(now)
	r.signal()
	return err
}

// forget drops former members too old or too many. The caller holds mu.
func (r *roster) forget(now time.Time) {
	var dead []*entry
	for name, m := range r.members {
		switch age := now.Sub(m.Since); {
		case m.State == Dead && age > rememberDead, m.State == Left && age > rememberLeft:
			delete(r.members, name)
		case m.State != Alive:
			dead = append(dead, m)
		}
	}
	if len(dead) <= maxDead {
		return
	}
	slices.SortFunc(dead, func(a, b *entry) int { return a.Since.Compare(b.Since) })
	for _, m := range dead[:len(dead)-maxDead] {
		delete(r.members, m.Name)
	}
}

// signal marks the roster changed.
func (r *roster) signal() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// list returns the members sorted by name.
func (r *roster) list() []Member {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Member, 0, len(r.members))
	for _, m := range r.members {
		list = append(list, m.Member)
	}
	slices.SortFunc(list, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// find returns a member's address.
func (r *roster) find(name string) (netip.AddrPort, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.members[name]
	if m == nil {
		return netip.AddrPort{}, false
	}
	return m.at, true
}

// knows reports whether the name is a member, and whether there is room for another.
func (r *roster) knows(name string) (known, room bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.members[name] != nil, len(r.members) < maxMembers+maxDead
}

// alive counts the living members, this node included.
func (r *roster) alive() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, m := range r.members {
		if m.State == Alive {
			n++
		}
	}
	return n
}

// addresses returns the addresses of the living and of the dead; gone members are in neither.
func (r *roster) addresses() (living map[netip.AddrPort]bool, dead []netip.AddrPort) {
	r.mu.Lock()
	defer r.mu.Unlock()
	living = make(map[netip.AddrPort]bool, len(r.members))
	for _, m := range r.members {
		switch m.State {
		case Alive:
			living[m.at] = true
		case Dead:
			dead = append(dead, m.at)
		}
	}
	return living, dead
}

// pops counts the members by PoP and state.
func (r *roster) pops() []PoPStats {
	byName := make(map[string]*PoPStats)
	for _, m := range r.list() {
		p := byName[m.PoP]
		if p == nil {
			p = &PoPStats{PoP: m.PoP}
			byName[m.PoP] = p
		}
		switch m.State {
		case Alive:
			p.Alive++
		case Dead:
			p.Dead++
		case Left:
			p.Left++
		}
	}
	list := make([]PoPStats, 0, len(byName))
	for _, p := range byName {
		list = append(list, *p)
	}
	slices.SortFunc(list, func(a, b PoPStats) int { return cmp.Compare(a.PoP, b.PoP) })
	return list
}
