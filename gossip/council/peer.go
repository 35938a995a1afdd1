package council

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/window"
)

// peer is another member as it is met.
type peer struct {
	sessions []session
	heard    window.Instant
	asked    window.Instant // the first question since it was heard, 0: none
}

// session is one start of a member. A member uses another number towards everybody, so that nobody who holds the cluster's
// key can speak in a session of somebody else: it can begin one in another's name, but silences nobody by that.
type session struct {
	id       uint64
	sequence uint64 // the greatest that came
	heard    window.Instant
}

const (
	mostSessions = 4 // of one member that are remembered, the ones heard last
	// replayed and tooOld are how far behind the newest packet of a session another may come, in packets and in time.
	replayed = 4096
	tooOld   = 60 * time.Second
	// suspicious is how long an owner may leave questions unanswered until its standby is believed alone.
	suspicious = 1500 * time.Millisecond
)

// sessionFor returns the number of this node's session towards a member.
func (c *Council) sessionFor(to string) uint64 {
	mac := hmac.New(sha256.New, c.secret[:])
	_, _ = mac.Write([]byte(to)) // never fails
	return binary.LittleEndian.Uint64(mac.Sum(nil))
}

// peer returns what is known of the member called name.
func (c *Council) peer(name string) *peer {
	p := c.peers[name]
	if p == nil {
		p = &peer{}
		c.peers[name] = p
	}
	return p
}

// trusts reports whether name, asked something, answers of late.
func (c *Council) trusts(now window.Instant, name string, within time.Duration) bool {
	p := c.peers[name]
	return name != "" && (name == c.o.Name || p == nil || p.asked == 0 || now.Sub(p.asked) <= within)
}

// awaits reports whether name has been asked something that it has not answered.
func (c *Council) awaits(name string) bool {
	p := c.peers[name]
	return p != nil && p.asked != 0
}

// ask notes that an answer is expected of name.
func (c *Council) ask(now window.Instant, name string) {
	if p := c.peer(name); p.asked == 0 {
		p.asked = now
	}
}

// newer notes that h came, and reports whether it may be believed to be no repetition of something long past.
func (c *Council) newer(now window.Instant, h header) bool {
	p := c.peer(h.sender)
	at := slices.IndexFunc(p.sessions, func(s session) bool { return s.id == h.session })
	if at < 0 {
		at = p.begin(h.session)
	}
	s := &p.sessions[at]
	if h.sequence+replayed < s.sequence {
		return false
	}
	s.sequence, s.heard = max(s.sequence, h.sequence), now
	p.heard, p.asked = now, 0
	return true
}

// begin makes room for a session and returns its place.
func (p *peer) begin(id uint64) int {
	if len(p.sessions) < mostSessions {
		p.sessions = append(p.sessions, session{id: id})
		return len(p.sessions) - 1
	}
	at := 0
	for n := range p.sessions {
		if p.sessions[n].heard < p.sessions[at].heard {
			at = n
		}
	}
	p.sessions[at] = session{id: id}
	return at
}

// before reports whether h was sent before what came as at of the same session.
func (h header) before(at header) bool { return h.session == at.session && h.sequence < at.sequence }
