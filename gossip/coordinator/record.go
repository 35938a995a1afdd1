package coordinator

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// The wire format. A packet is a header and records; integers are little-endian or varints:
//
//	packet  = version  sender  session  sequence  issued  *record
//	record  = kind  length  body
//
// A reader skips unknown kinds, and bytes at the end of a body that it does not know: later
// versions append. Floats are 32-bit, durations whole milliseconds, texts a byte of length and
// their bytes.
const (
	// Version is the first byte of every packet and of every hint.
	Version = 1
	// MaxPacket is the longest packet, bytes. With memberlist's framing and encryption it still
	// fits into one Ethernet frame.
	MaxPacket = 1350
)

// kind is the type of a record.
type kind uint8

const (
	kindAsk    kind = 1 + iota // a node to its PoP's reporter: a report
	kindReport                 // a reporter to the owners
	kindView                   // an owner to a reporter
	kindAdvice                 // a reporter to a node of its PoP: a view
	kindHint                   // an owner to everybody
	kinds
)

// id names a key: its rule and its bytes.
type id struct{ rule, key string }

// Flags of a record.
const (
	flagAlone   = 1 << iota // the origin is a node that counts alone
	flagTotals              // counts by period follow
	flagBlocked             // how long the key is blocked follows
	flagDone                // the end of a key at this node
	flagShed
	flagRateOnly // of a report: it has no counts; of a view: RateOnly follows
)

// header begins a packet.
type header struct {
	sender   string
	session  uint64 // of the sender with this receiver
	sequence uint64 // of the packet, growing
	issued   int64  // the sender's wall clock, Unix milliseconds
}

// record is a record of any kind. A record of one role is written by its sender only:
//
//	kind    written by          read by             holds
//	ask     a node              its PoP's reporter  report, done, alone
//	report  a PoP's reporter    owner, standby      report, alone
//	view    owner, standby      the reporter        view, from (PoP)
//	advice  a PoP's reporter    a node of the PoP   view, from (PoP)
//	hint    the owner           all members         view, from (owner), until, seq
type record struct {
	kind kind
	id   id
	// nonce is drawn by the sender of a report and repeated in its answers: only those who were
	// asked know it.
	nonce uint32
	alone bool
	done  bool

	report control.Report     // ask, report
	view   control.GlobalView // view, advice, hint
	from   string             // view, advice: the owner's PoP; hint: the owner's name
	until  int64              // hint: Unix milliseconds
	seq    uint64             // hint: a greater one is newer
}

var errRecord = errors.New("coordinator: malformed record")

func appendHeader(b []byte, h header) []byte {
	b = append(b, Version)
	b = appendText(b, h.sender)
	b = binary.AppendUvarint(b, h.session)
	b = binary.AppendUvarint(b, h.sequence)
	return binary.AppendVarint(b, h.issued)
}

// appendRecord appends r with its kind and length. It overwrites scratch, and returns it grown.
func appendRecord(b []byte, r *record, scratch []byte) (out, used []byte) {
	body := appendBody(scratch[:0], r)
	b = append(b, byte(r.kind))
	b = binary.AppendUvarint(b, uint64(len(body)))
	return append(b, body...), body
}

func appendBody(b []byte, r *record) []byte {
	b = appendText(b, r.id.rule)
	b = append(b, byte(len(r.id.key)-1)) // 1..256
	b = append(b, r.id.key...)
	b = binary.LittleEndian.AppendUint32(b, r.nonce)
	switch r.kind {
	case kindAsk, kindReport:
		return appendReport(b, r)
	default:
		return appendView(b, r)
	}
}

func appendReport(b []byte, r *record) []byte {
	d := &r.report
	b = append(b, flagsOf(r, d.Totals.Period, d.Blocked, false, d.RateOnly))
	b = appendFloat(b, d.Rate)
	b = appendFloat(b, d.Admitted)
	b = appendSpan(b, d.Over)
	b = appendSpan(b, d.TTL)
	b = appendFloat(b, d.LastSum)
	if d.Blocked > 0 {
		b = appendSpan(b, d.Blocked)
	}
	return appendTotals(b, &d.Totals)
}

func appendView(b []byte, r *record) []byte {
	v := &r.view
	b = append(b, flagsOf(r, v.Others.Period, v.Blocked, v.Shed, v.RateOnly > 0))
	b = appendFloat(b, v.Sum)
	b = appendFloat(b, v.Limit)
	b = appendFloat(b, v.EchoRate)
	b = appendText(b, r.from)
	if v.Blocked > 0 {
		b = appendSpan(b, v.Blocked)
	}
	if v.RateOnly > 0 {
		b = appendFloat(b, v.RateOnly)
	}
	if r.kind == kindHint {
		b = binary.AppendVarint(b, r.until)
		return binary.AppendUvarint(b, r.seq)
	}
	return appendTotals(b, &v.Others)
}

func flagsOf(r *record, period uint32, blocked time.Duration, shed, rateOnly bool) (flags byte) {
	set := func(is bool, flag byte) {
		if is {
			flags |= flag
		}
	}
	set(r.alone, flagAlone)
	set(period != 0 && r.kind != kindHint, flagTotals)
	set(blocked > 0, flagBlocked)
	set(r.done, flagDone)
	set(shed, flagShed)
	set(rateOnly, flagRateOnly)
	return flags
}

// appendTotals appends the periods of t that are not empty, after a bit mask of them.
func appendTotals(b []byte, t *window.Totals) []byte {
	if t.Period == 0 {
		return b
	}
	b = binary.LittleEndian.AppendUint32(b, t.Period)
	mask := byte(0)
	for n := range t.By {
		if t.By[n] != (window.PeriodTotals{}) {
			mask |= 1 << n
		}
	}
	b = append(b, mask)
	for n := range t.By {
		if count := &t.By[n]; mask>>n&1 != 0 {
			b = binary.AppendUvarint(b, uint64(count.Offered))
			b = binary.AppendUvarint(b, uint64(count.Admitted))
			b = binary.AppendUvarint(b, uint64(count.Times))
		}
	}
	return b
}

func appendText(b []byte, s string) []byte { return append(append(b, byte(len(s))), s...) } // names are shorter than 256 bytes

func appendFloat(b []byte, f float64) []byte {
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(f)))
}

// appendSpan appends d in whole milliseconds, rounded up.
func appendSpan(b []byte, d time.Duration) []byte {
	return binary.AppendUvarint(b, uint64((max(0, d)+time.Millisecond-1)/time.Millisecond))
}
