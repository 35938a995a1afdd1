package packet

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/moments"
)

// Flags of a record.
const (
	flagAlone   = 1 << iota // the origin is a node counting alone
	flagTotals              // counts by period follow
	flagBlocked             // how long the key is blocked follows
	flagDone                // the end of a key at this node
	flagShed
	flagRateOnly // of a report: it has no counts; of a view: RateOnly follows
	flagShare    // of a view: Share is its last field, which versions without shares leave unread
	flagMoments  // the moments of admissions come last, which versions without them leave unread
)

// ErrRecord is the error of a record unparsable, or with a value out of range.
var ErrRecord = errors.New("coordinator: malformed record")

// AppendHeader appends the version and h to b.
func AppendHeader(b []byte, h Header) []byte {
	b = append(b, Version)
	b = appendText(b, h.Sender)
	b = binary.AppendUvarint(b, h.Session)
	b = binary.AppendUvarint(b, h.Sequence)
	return binary.AppendVarint(b, h.Issued)
}

// AppendRecord appends r with kind and length to b. The body is encoded in scratch, overwritten and
// returned grown, for the next call.
func AppendRecord(b []byte, r *Record, scratch []byte) (out, used []byte) {
	body := appendBody(scratch[:0], r)
	return AppendBody(b, r.Kind, body), body
}

// AppendBody appends a record of kind k with this body to b.
func AppendBody(b []byte, k Kind, body []byte) []byte {
	b = append(b, byte(k))
	b = binary.AppendUvarint(b, uint64(len(body)))
	return append(b, body...)
}

func appendBody(b []byte, r *Record) []byte {
	b = appendText(b, r.ID.Rule)
	b = append(b, byte(len(r.ID.Key)-1)) // 1..256
	b = append(b, r.ID.Key...)
	b = binary.LittleEndian.AppendUint32(b, r.Nonce)
	switch r.Kind {
	case Ask, Report:
		return appendReport(b, r)
	default:
		return appendView(b, r)
	}
}

func appendReport(b []byte, r *Record) []byte {
	d := &r.Report
	b = append(b, flagsOf(r, d.Totals.Period, d.Blocked, false,
		d.RateOnly)|flagIf(d.Totals.Period, d.Moments))
	b = appendFloat(b, d.Rate)
	b = appendFloat(b, d.Admitted)
	b = appendSpan(b, d.Over)
	b = appendSpan(b, d.TTL)
	b = appendFloat(b, d.LastSum)
	if d.Blocked > 0 {
		b = appendSpan(b, d.Blocked)
	}
	return appendMoments(appendTotals(b, &d.Totals), d.Totals.Period, d.Moments)
}

// flagIf returns flagMoments if l is sent: beside totals of period.
func flagIf(period uint32, l moments.List) byte {
	if period == 0 || len(l) == 0 {
		return 0
	}
	return flagMoments
}

// mostMoments is the most bytes of a list, but for another lump. A record of otherwise greatest
// length still fits into a packet.
const mostMoments = 400

// appendMoments appends the newest lumps of l, if sent: by how many bins the first is after the end
// of period, and each other before its predecessor.
func appendMoments(b []byte, period uint32, l moments.List) []byte {
	if flagIf(period, l) == 0 {
		return b
	}
	count := len(b)
	b = binary.AppendVarint(append(b, 0), int64(l[0].Bin-moments.Begin(period)-moments.Parts))
	for n := range l[:min(len(l), moments.MaxLumps)] {
		if len(b)-count > mostMoments {
			break
		}
		if n > 0 {
			b = binary.AppendUvarint(b, uint64(l[n-1].Bin-l[n].Bin))
		}
		b = binary.AppendUvarint(b, uint64(l[n].Units))
		b[count]++
	}
	return b
}

func appendView(b []byte, r *Record) []byte {
	v := &r.View
	flags, shared := flagsOf(r, v.Others.Period, v.Blocked, v.Shed, v.RateOnly > 0), v.Share > 0
	if shared {
		flags |= flagShare
	}
	b = append(b, flags|flagIf(v.Others.Period, v.Moments))
	b = appendFloat(b, v.Sum)
	b = appendFloat(b, v.Limit)
	b = appendFloat(b, v.EchoRate)
	b = appendText(b, r.From)
	if v.Blocked > 0 {
		b = appendSpan(b, v.Blocked)
	}
	if v.RateOnly > 0 {
		b = appendFloat(b, v.RateOnly)
	}
	b = appendTotals(b, &v.Others)
	if shared {
		b = appendFloat(b, v.Share)
	}
	return appendMoments(b, v.Others.Period, v.Moments)
}

func flagsOf(r *Record, period uint32, blocked time.Duration, shed, rateOnly bool) (flags byte) {
	set := func(is bool, flag byte) {
		if is {
			flags |= flag
		}
	}
	set(r.Alone, flagAlone)
	set(period != 0, flagTotals)
	set(blocked > 0, flagBlocked)
	set(r.Done, flagDone)
	set(shed, flagShed)
	set(rateOnly, flagRateOnly)
	return flags
}

// appendTotals appends the filled periods of t, after a bit mask.
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

// appendText appends a name, which is shorter than 256 bytes, behind the length.
func appendText(b []byte, s string) []byte { return append(append(b, byte(len(s))), s...) }

func appendFloat(b []byte, f float64) []byte {
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(f)))
}

// appendSpan appends d in whole milliseconds, rounded up.
func appendSpan(b []byte, d time.Duration) []byte {
	return binary.AppendUvarint(b, uint64((max(0, d)+time.Millisecond-1)/time.Millisecond))
}
