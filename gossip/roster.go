package gossip

import (
	"cmp"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// The bounds of the roster: how many members there may be, how many dead ones are remembered, and for how long.
const (
	maxMembers   = 4096
	maxDead      = 1024
	rememberDead = 24 * time.Hour // for joining them again after a long partition
	rememberLeft = 10 * time.Minute
)

// State is what this node believes of a member.
type State uint8

// The states of a member. One that is merely suspected is still alive.
const (
	Alive State = iota
	Dead        // did not answer
	Left        // said good-bye; a node that missed it (1 of 250) takes it for Dead
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

// Member is a node of the cluster as this node knows it.
type Member struct {
	Name  string
	Meta         // what it says of itself
	Addr  string // "ip:port"
	State State
	Since time.Time // when this node first saw it in this State
}

// seat is a Member with its address ready for use.
type seat struct {
	Member
	at netip.AddrPort
}

// roster is this node's own table of members. memberlist has one too, but hands out pointers into it that change under
// the reader. It is told of changes while memberlist holds its lock: so nothing here ever calls memberlist.
type roster struct {
	mu      sync.Mutex // protects members
	members map[string]*seat
	changed chan struct{} // holds one token while somebody should look
}

func newRoster() *roster {
	return &roster{members: make(map[string]*seat), changed: make(chan struct{}, 1)}
}

// put records that a member is in the given state, as node describes it, and returns what of its metadata was wrong.
func (r *roster) put(node *memberlist.Node, state State, now time.Time) error {
	meta, err := parseMeta(node.Meta)
	ip, _ := netip.AddrFromSlice(node.Addr)
	at := netip.AddrPortFrom(ip.Unmap(), node.Port)
	r.mu.Lock()
	defer r.mu.Unlock()
	if state == Dead && meta.leaving {
		state = Left
	}
	m := &seat{Member{Name: node.Name, Meta: meta, Addr: at.String(), State: state, Since: now}, at}
	if old := r.members[node.Name]; old != nil && old.State == state {
		m.Since = old.Since
	}
	r.members[node.Name] = m
	r.forget(now)
	r.signal()
	return err
}

// forget drops the dead that are too old or too many. The caller holds mu.
func (r *roster) forget(now time.Time) {
	var dead []*seat
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
	slices.SortFunc(dead, func(a, b *seat) int { return a.Since.Compare(b.Since) })
	for _, m := range dead[:len(dead)-maxDead] {
		delete(r.members, m.Name)
	}
}

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

// find returns where a member is reached.
func (r *roster) find(name string) (netip.AddrPort, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.members[name]
	if m == nil {
		return netip.AddrPort{}, false
	}
	return m.at, true
}

// knows tells whether the name is taken, and room whether another fits.
func (r *roster) knows(name string) (known, room bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.members[name] != nil, len(r.members) < maxMembers+maxDead
}

// alive counts the living, this node among them.
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

// addresses returns where the living and where the dead are; who left is in neither.
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
