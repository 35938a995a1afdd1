package coordinator

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/window"
)

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
}

// session is one start of a member, towards one receiver. A member has another session number with
// each receiver. Whoever holds the cluster's key can start a session in another member's name, but
// cannot speak in an existing one, and so silences nobody.
type session struct {
	id uint64
	// sequence is the largest sequence number received.
	sequence   uint64
	receivedAt window.Instant
}

const (
	// maxSessions bounds the remembered sessions of one member: those with the latest packets stay.
	maxSessions = 4
	// replayWindow is the largest lag of a packet's sequence number behind its session's newest.
	replayWindow = 4096
	// answerTimeout is the time after which an owner that does not answer loses its say to the
	// standby.
	answerTimeout = 1500 * time.Millisecond
)

// sessionFor returns the number of this node's session with a member.
func (c *Coordinator) sessionFor(to string) uint64 {
	mac := hmac.New(sha256.New, c.secret[:])
	_, _ = mac.Write([]byte(to)) // never fails
	return binary.LittleEndian.Uint64(mac.Sum(nil))
}

// peer returns the state of the member called name.
func (c *Coordinator) peer(name string) *peer {
	p := c.peers[name]
	if p == nil {
		p = &peer{}
		c.peers[name] = p
	}
	return p
}

// responsive reports whether name has no question open for longer than within.
func (c *Coordinator) responsive(now window.Instant, name string, within time.Duration) bool {
	p := c.peers[name]
	return name != "" && (name == c.o.Name || p == nil || p.asked == 0 || now.Sub(p.asked) <= within)
}

// awaits reports whether name owes an answer.
func (c *Coordinator) awaits(name string) bool {
	p := c.peers[name]
	return p != nil && p.asked != 0
}

// ask notes that an answer of name is expected.
func (c *Coordinator) ask(now window.Instant, name string) {
	if p := c.peer(name); p.asked == 0 {
		p.asked = now
	}
}

// newer notes the arrival of h, and reports whether it is inside the replay window.
func (c *Coordinator) newer(now window.Instant, h header) bool {
	p := c.peer(h.sender)
	at := slices.IndexFunc(p.sessions, func(s session) bool { return s.id == h.session })
	if at < 0 {
		at = p.begin(h.session)
	}
	s := &p.sessions[at]
	if h.sequence+replayWindow < s.sequence {
		return false
	}
	s.sequence, s.receivedAt = max(s.sequence, h.sequence), now
	p.receivedAt, p.asked = now, 0
	return true
}

// begin adds a session, in place of the one with the oldest packet, and returns its index.
func (p *peer) begin(id uint64) int {
	if len(p.sessions) < maxSessions {
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

// before reports whether h was sent before at, in the same session.
func (h header) before(at header) bool { return h.session == at.session && h.sequence < at.sequence }
