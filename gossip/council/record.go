package council

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// What goes over the wire. A packet is a header and records; all integers are little-endian or varints:
//
//	packet  = version  sender  session  sequence  issued  *record
//	record  = kind  length  body
//
// A reader skips kinds that it does not know and what a body holds beyond what it knows: later versions append.
const (
	// Version is the first byte of every packet and of every record that is spread.
	Version = 1
	// MaxPacket is the most a packet holds, bytes: with memberlist's own and encryption it still fits an Ethernet frame.
	MaxPacket = 1350
)

// kind says what a record is.
type kind uint8

const (
	kindAsk    kind = 1 + iota // a node to its PoP's reporter: a demand
	kindDemand                 // a reporter to the owners
	kindView                   // an owner to a reporter
	kindAdvice                 // a reporter to a node of its PoP: a view
	kindNotice                 // an owner to everybody
	kinds
)

// id is a key under its rule.
type id struct{ rule, key string }

// flags of a record.
const (
	flagAlone   = 1 << iota // the origin is a node that counts alone
	flagTotals              // counts by period follow
	flagBlocked             // how long the key is blocked follows
	flagDone                // a node is not asked for the key any more
	flagShed
	flagBare // of a demand: counts are left out; of a view: what others who leave theirs out are asked for follows
)

// header begins a packet.
type header struct {
	sender   string
	session  uint64 // one start of the sender, towards this receiver
	sequence uint64 // of the packet, growing
	issued   int64  // by the sender's clock, Unix milliseconds
}

// record is one record, whatever its kind.
type record struct {
	kind  kind
	id    id
	nonce uint32 // of the demand, which a view repeats: only who was asked knows it
	alone bool
	done  bool

	demand mitigation.Demand // ask, demand
	view   mitigation.View   // view, advice, notice
	from   string            // view, advice: the PoP of the owner; notice: the owner
	until  int64             // notice: Unix milliseconds
	seq    uint64            // notice: greater is newer
}

var errRecord = errors.New("council: malformed record")

func appendHeader(b []byte, h header) []byte {
	b = append(b, Version)
	b = appendText(b, h.sender)
	b = binary.AppendUvarint(b, h.session)
	b = binary.AppendUvarint(b, h.sequence)
	return binary.AppendVarint(b, h.issued)
}

// appendRecord appends r with its kind and length. scratch is overwritten.
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
	case kindAsk, kindDemand:
		return appendDemand(b, r)
	default:
		return appendView(b, r)
	}
}

func appendDemand(b []byte, r *record) []byte {
	d := &r.demand
	b = append(b, flagsOf(r, d.Totals.Period, d.Blocked, false, d.Bare))
	b = appendFloat(b, d.Rate)
	b = appendFloat(b, d.Admitted)
	b = appendSpan(b, d.Over)
	b = appendSpan(b, d.Hold)
	b = appendFloat(b, d.Known)
	if d.Blocked > 0 {
		b = appendSpan(b, d.Blocked)
	}
	return appendTotals(b, &d.Totals)
}

func appendView(b []byte, r *record) []byte {
	v := &r.view
	b = append(b, flagsOf(r, v.Others.Period, v.Blocked, v.Shed, v.Bare > 0))
	b = appendFloat(b, v.Sum)
	b = appendFloat(b, v.Limit)
	b = appendFloat(b, v.Echo)
	b = appendText(b, r.from)
	if v.Blocked > 0 {
		b = appendSpan(b, v.Blocked)
	}
	if v.Bare > 0 {
		b = appendFloat(b, v.Bare)
	}
	if r.kind == kindNotice {
		b = binary.AppendVarint(b, r.until)
		return binary.AppendUvarint(b, r.seq)
	}
	return appendTotals(b, &v.Others)
}

func flagsOf(r *record, period uint32, blocked time.Duration, shed, bare bool) (flags byte) {
	set := func(is bool, flag byte) {
		if is {
			flags |= flag
		}
	}
	set(r.alone, flagAlone)
	set(period != 0 && r.kind != kindNotice, flagTotals)
	set(blocked > 0, flagBlocked)
	set(r.done, flagDone)
	set(shed, flagShed)
	set(bare, flagBare)
	return flags
}

// appendTotals appends t's periods that are not empty, a bit each before them.
func appendTotals(b []byte, t *window.Totals) []byte {
	if t.Period == 0 {
		return b
	}
	b = binary.LittleEndian.AppendUint32(b, t.Period)
	mask := byte(0)
	for n := range t.By {
		if t.By[n] != (window.Told{}) {
			mask |= 1 << n
		}
	}
	b = append(b, mask)
	for n := range t.By {
		if told := &t.By[n]; mask>>n&1 != 0 {
			b = binary.AppendUvarint(b, uint64(told.Offered))
			b = binary.AppendUvarint(b, uint64(told.Admitted))
			b = binary.AppendUvarint(b, uint64(told.Times))
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
