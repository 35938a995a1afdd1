package packet

import (
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
)

const (
	// Version is the first byte of every packet.
	Version = 1
	// MaxSize is the longest packet, bytes. With memberlist's framing and encryption still within
	// an Ethernet frame.
	MaxSize = 1350
)

// Ranges of parsed values. A record beyond bounds is malformed.
const (
	// MaxRate is the largest rate, cost per second.
	MaxRate = 1e15
	// MaxCount is the largest count of a period, cost.
	MaxCount = 1 << 53
	// MaxSpan is the longest duration.
	MaxSpan = mitigation.MaxBlockFor
	// MaxTTL is the longest TTL of a report; a longer list is cut.
	MaxTTL = 60 * time.Second
)

// Kind is the type of a record, 1..Kinds-1.
type Kind uint8

// The kinds, by sender and receiver.
const (
	// Ask is a report of a node to the PoP's reporter.
	Ask Kind = 1 + iota
	// Report is a report of a PoP's reporter to owner and standby.
	Report
	// View is the answer of owner or standby to a reporter.
	View
	// Advice is the answer of a reporter to a node of the PoP: a view.
	Advice
	// Unused was the kind of hints, which no version sends any more.
	Unused
	// Counts is a batch of package counts, of which this package knows only the length.
	Counts
	// Kinds is the number of kinds, of which 0 is unused.
	Kinds
)

// ID names a key: rule, 1..64 bytes, and bytes, 1..256.
type ID struct{ Rule, Key string }

// Header begins a packet.
//
//	written by  the sending coordinator, for each packet
//	read by     package peers, which refuses strangers, replays and wrong clocks
type Header struct {
	// Sender is the name of the sending member, 1..255 bytes.
	Sender string
	// Session is the number of the sender's session with this receiver, drawn at the start.
	Session uint64
	// Sequence is the number of the packet, growing within a session.
	Sequence uint64
	// Issued is the sender's wall clock at the start of the packet, Unix milliseconds.
	Issued int64
}

// Before reports whether h was sent before other, in the same session.
func (h Header) Before(other Header) bool {
	return h.Session == other.Session && h.Sequence < other.Sequence
}

// Record is a record of any kind. Only a kind's sender writes a field, and the fields of other
// kinds are zero:
//
//	kind    written by          read by             holds
//	Ask     a node              its PoP's reporter  Report, Done, Alone
//	Report  a PoP's reporter    owner, standby      Report, Alone
//	View    owner, standby      the reporter        View, From (PoP), Alone
//	Advice  a PoP's reporter    a node of the PoP   View, From (PoP)
type Record struct {
	Kind Kind
	ID   ID
	// Nonce is drawn at random by the sender of a report for each key, and repeated in the answers:
	// only asked members know the nonce.
	Nonce uint32
	// Alone says an origin of the PoP's nodes counting alone.
	Alone bool
	// Done says the end of the key at the node.
	Done bool

	// Report is the demand an Ask or a Report carries.
	Report control.Report
	// View is the answer of a View or an Advice.
	View control.GlobalView
	// From is the PoP of the owner in a View and an Advice: 0..255 bytes.
	From string
}
