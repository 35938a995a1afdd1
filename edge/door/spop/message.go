package spop

import (
	"bytes"
	"errors"
	"strconv"
	"time"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door/lines"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/edge/wire"
)

// message is a parsed message of a NOTIFY. Its slices lie in the connection's buffer, or in its
// scratch.
type message struct {
	kind      messageKind
	rule, key []byte // of a plain check
	plain     bool   // rule or key is given
	given     uint16 // the request's fields, a bit each
	cost      uint32 // 0: none is given
	// of cost, behind the point
	millionths uint32
	lease      uint64 // of a release; 0: the key's oldest
	ticket     uint64
	ended      bool // the report or the release names a ticket, even if it is "-"
	status     int
	took       time.Duration // of a report
	// An argument and not a property of the connection: the same HAProxy may guard sites that can
	// wait and others that cannot.
	waits    bool      // the sender can wait before it lets the request pass
	deceives bool      // the sender can pretend a denied request passed
	code     wire.Code // the fault; NoError without
	bad      []byte    // the first argument at fault, as a word of a line; nil: none
	scratch  []byte    // text of numbers and addresses
}

// messageKind is the purpose of a message.
type messageKind uint8

// The kinds of messages.
const (
	unknown  messageKind = iota
	asks                 // may this request pass?
	reports              // the response of a request, or that it never came
	releases             // the request is over: its leases are free
)

// kindOf returns the kind of the message called name.
func kindOf(name []byte) messageKind {
	switch string(name) {
	case "ask":
		return asks
	case "report":
		return reports
	case "release":
		return releases
	}
	return unknown
}

// begin empties m for the next message, which is called name.
func (m *message) begin(name []byte) {
	*m = message{
		kind: kindOf(name), code: wire.NoError, scratch: m.scratch[:0], took: ask.NoTime,
	}
}

// fail notes the first fault of the message.
// The first, since those behind it may follow from it.
func (m *message) fail(code wire.Code) {
	if m.code == wire.NoError {
		m.code = code
	}
}

// blame notes an argument after which there is a fault. All headers of a request are not shown.
func (m *message) blame(name []byte, v value) {
	if m.code == wire.NoError || m.bad != nil {
		return
	}
	if m.bad = append(bytes.Clone(name), '='); string(name) != "hdrs" {
		m.bad = append(m.bad, m.text(v)...)
	}
}

// failBy notes the fault of an error of the gate, and reports whether there is any.
func (m *message) failBy(err error) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, gate.ErrUnknownRule):
		m.fail(wire.UnknownRule)
	default:
		m.fail(wire.BadRequest)
	}
	return true
}

// text returns v as text: numbers in digits, addresses as they are written, nothing as nothing.
// Configurations give fetches of any type, such as int(1) or src: all of them are texts to a rule's
// key.
func (m *message) text(v value) []byte {
	at := len(m.scratch)
	switch v.kind {
	case text, binaryText:
		return v.text
	case ipv4, ipv6:
		m.scratch = v.addr.AppendTo(m.scratch)
	case boolean, uint32s, uint64s:
		m.scratch = strconv.AppendUint(m.scratch, v.number, 10)
	case int32s, int64s:
		// two's complement, by the protocol
		m.scratch = strconv.AppendInt(m.scratch, int64(v.number), 10)
	case null:
	}
	// The capacity ends with the text, so nothing appended to it reaches into the next.
	return m.scratch[at:len(m.scratch):len(m.scratch)]
}

// take reads an argument into m, or by f into the request. src is the connection's address, host
// may have a port SetHost takes off, url is path and query, hdrs is req.hdrs_bin. All others have
// the names of the line protocol.
func (m *message) take(name []byte, v value, f *request.Reader) {
	switch string(name) {
	case "rule":
		m.rule, m.plain = m.text(v), true
	case "key":
		m.key, m.plain = m.text(v), true
	case "cost":
		m.takeCost(v)
	case "src":
		if v.addr.IsValid() {
			f.Peer(v.addr)
			return
		}
		m.set(f, wire.Pair{Field: wire.FieldPeer, Value: m.text(v)})
	case "host":
		m.set(f, wire.Pair{Field: wire.FieldHost, Value: m.text(v)})
	case "url":
		m.set(f, wire.Pair{Field: wire.FieldPath, Value: m.text(v)})
	case "hdrs":
		m.takeHeaders(v.text, f)
	case "delay":
		m.waits = string(m.text(v)) == "ok"
	case "deceive":
		m.deceives = string(m.text(v)) == "ok"
	case "ticket", "status", "ms", "s":
		if m.kind == asks {
			m.fail(wire.UnknownField)
			return
		}
		m.takeResponse(name, v)
	case "lease":
		m.takeLease(v)
	default:
		p, ok := wire.FieldOf(name, m.kind == reports)
		if !ok {
			m.fail(wire.UnknownField)
			return
		}
		p.Value = m.text(v)
		m.set(f, p)
	}
}

// set sets a field of the request. An argument without a value is a field that is absent; without a
// path the target is empty.
// HAProxy sends an argument whose fetch found nothing as null, and its fetches of a path find none
// in "*".
func (m *message) set(f *request.Reader, p wire.Pair) {
	if len(p.Value) == 0 && p.Field != wire.FieldPath {
		return
	}
	if p.Field < wire.FieldHeader && m.given>>p.Field&1 == 1 {
		m.fail(wire.BadRequest) // nobody can know which of two paths was meant
	}
	m.given |= 1 << p.Field
	m.fail(lines.Read(f, &p))
}

// takeCost reads the cost of a check.
func (m *message) takeCost(v value) {
	var ok bool
	if m.cost, m.millionths, ok = wire.ParseCost(m.text(v)); !ok {
		m.fail(wire.BadRequest)
	}
}

// takeLease reads the number of the released lease.
func (m *message) takeLease(v value) {
	if m.kind != releases {
		m.fail(wire.UnknownField)
		return
	}
	if t := m.text(v); len(t) > 0 {
		n, ok := wire.ParseTicket(t)
		if m.lease = n; !ok {
			m.fail(wire.BadRequest)
		}
	}
}

// takeResponse reads an argument that only reports and releases have. A status of 0, or none, means
// that the response never came.
func (m *message) takeResponse(name []byte, v value) {
	t := m.text(v)
	switch string(name) {
	case "ticket":
		m.ended = true
		if len(t) == 0 || string(t) == "-" {
			return
		}
		n, ok := wire.ParseTicket(t)
		if m.ticket = n; !ok {
			m.fail(wire.BadRequest)
		}
	case "status":
		n, err := strconv.Atoi(string(t))
		if len(t) > 0 && (err != nil || n > 999 || n > 0 && n < 100) {
			m.fail(wire.BadRequest)
			return
		}
		m.status = max(n, 0)
	case "ms", "s":
		if len(t) == 0 || string(t) == "-" {
			return
		}
		first := m.took == ask.NoTime
		took, ok := wire.ParseTook(name, t)
		if m.took = took; !ok || !first {
			m.fail(wire.BadRequest)
		}
	}
}

// takeHeaders reads all headers of a request as HAProxy's req.hdrs_bin has them: names and values,
// each with its length, until both are empty.
// It must be fetched with a trailing pair of empty texts, as req.hdrs_bin ends; without it the end
// of the bytes ends it.
func (m *message) takeHeaders(b []byte, f *request.Reader) {
	for len(b) > 0 {
		name, rest, ok := takeText(b)
		if !ok {
			m.fail(wire.BadRequest)
			return
		}
		content, rest, ok := takeText(rest)
		if !ok {
			m.fail(wire.BadRequest)
			return
		}
		if b = rest; len(name) == 0 {
			return
		}
		f.Header(name, content)
	}
}

// complete notes the fault of a message, all of whose arguments are right.
// A check has both rule and key; an ask has a path; a report or a release has a ticket, or a path
// to be counted again by; a release without either would release nothing.
func (m *message) complete() {
	switch {
	case m.plain && (len(m.rule) == 0 || len(m.key) == 0), m.kind == reports && m.plain,
		!m.plain && !m.ended && (m.given>>wire.FieldPath&1 == 0 || m.kind == releases):
		m.fail(wire.BadRequest)
	case m.plain && (len(m.key) > wire.MaxKey):
		m.fail(wire.TooLong)
	}
}
