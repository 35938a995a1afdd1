package peers

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/window"
)

// Table is a node's knowledge of the other members.
type Table struct {
	// self is this node's name.
	self string
	// secret keys the session numbers.
	secret [16]byte
	// ahead is the wall clock less the instant, nanoseconds.
	ahead int64
	// numbering is the wall clock less the clock by which periods are numbered.
	numbering time.Duration
	// offset is the wall clock less the median of the members' wall clocks.
	offset time.Duration
	peers  map[string]*peer
}

// New returns an empty table of the member called self. secret is drawn at its start: no other
// member can compute the session numbers following from it.
func New(self string, secret [16]byte) *Table {
	return &Table{self: self, secret: secret, peers: make(map[string]*peer)}
}

// peer is another member, from the packets it has sent.
type peer struct {
	sessions   []session
	receivedAt window.Instant
	// asked is the time of the first unanswered record sent to it; 0 for none.
	asked window.Instant
	// agreed is the last time its clock was found right; 0 for never.
	agreed window.Instant
	// refused is the last time something of it was refused for its time; 0 for never.
	refused window.Instant
	// off is the lead of its clock over this node's at that time.
	off time.Duration
	// sights are the latest of its clock, and those before.
	sights [2]sights
}

// session is a start of a member, towards a receiver. A member has another session number with each
// receiver. Whoever holds the cluster's key can start a session in another member's name, but
// cannot speak in an existing session, and so silences no member.
type session struct {
	id uint64
	// sequence is the largest sequence number received.
	sequence   uint64
	receivedAt window.Instant
}

const (
	// MaxSessions bounds the remembered sessions of a member: those with the latest packets stay.
	MaxSessions = 4
	// ReplayWindow is the largest lag of a packet's sequence number behind its session's newest.
	ReplayWindow = 4096
)

// Session returns the number of this node's session with the member called to.
func (t *Table) Session(to string) uint64 {
	mac := hmac.New(sha256.New, t.secret[:])
	_, _ = mac.Write([]byte(to)) // never fails
	return binary.LittleEndian.Uint64(mac.Sum(nil))
}

// peer returns the state of the member called name.
func (t *Table) peer(name string) *peer {
	p := t.peers[name]
	if p == nil {
		p = &peer{}
		t.peers[name] = p
	}
	return p
}

// Asked notes that an answer of the member called name is expected from now on. Any packet of it is
// an answer.
func (t *Table) Asked(now window.Instant, name string) {
	if p := t.peer(name); p.asked == 0 {
		p.asked = now
	}
}

// Awaits reports whether an answer of the member called name is expected.
func (t *Table) Awaits(name string) bool {
	p := t.peers[name]
	return p != nil && p.asked != 0
}

// Responsive reports whether the member called name, or this node itself, has had no question open
// for longer than within. It is false for "".
func (t *Table) Responsive(now window.Instant, name string, within time.Duration) bool {
	p := t.peers[name]
	return name != "" && (name == t.self || p == nil || p.asked == 0 || now.Sub(p.asked) <= within)
}

// Fresh notes the arrival of a packet with header h, and reports whether the packet is inside the
// replay window of its session, and whether the session begins with the packet: the sender started.
func (t *Table) Fresh(now window.Instant, h packet.Header) (fresh, begins bool) {
	p := t.peer(h.Sender)
	at := slices.IndexFunc(p.sessions, func(s session) bool { return s.id == h.Session })
	if begins = at < 0; begins {
		at = p.begin(h.Session)
	}
	s := &p.sessions[at]
	if h.Sequence+ReplayWindow < s.sequence {
		return false, begins
	}
	s.sequence, s.receivedAt = max(s.sequence, h.Sequence), now
	p.receivedAt, p.asked = now, 0
	return true, begins
}

// Forget drops the members for which isMember is false and that sent nothing within MaxSkew.
func (t *Table) Forget(now window.Instant, isMember func(name string) bool) {
	for name, p := range t.peers {
		if !isMember(name) && now.Sub(p.receivedAt) > MaxSkew {
			delete(t.peers, name)
		}
	}
}

// begin adds a session, in place of the session with the oldest packet, and returns its index.
func (p *peer) begin(id uint64) int {
	if len(p.sessions) < MaxSessions {
		p.sessions = append(p.sessions, session{id: id})
		return len(p.sessions) - 1
	}
	at := 0
	for n := range p.sessions {
		if p.sessions[n].receivedAt < p.sessions[at].receivedAt {
			at = n
		}
	}
	p.sessions[at] = session{id: id}
	return at
}
