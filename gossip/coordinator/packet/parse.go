package packet

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/moments"
)

// reader parses a record. After the first fault reads return zeroes, and bad stays true.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.bad, r.rest = true, nil
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) text() string { return string(r.take(int(r.byte()))) }

// float reads a rate: finite, 0..MaxRate.
func (r *reader) float() float64 {
	f := float64(math.Float32frombits(r.uint32()))
	if !(f >= 0 && f <= MaxRate) {
		r.bad = true
		return 0
	}
	return f
}

// span reads a duration in whole milliseconds, 0..MaxSpan.
func (r *reader) span() time.Duration {
	ms := r.uvarint()
	if ms > uint64(MaxSpan/time.Millisecond) {
		r.bad = true
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

// count reads a count, 0..MaxCount.
func (r *reader) count() int64 {
	v := r.uvarint()
	if v > MaxCount {
		r.bad = true
		return 0
	}
	return int64(v)
}

// totals reads the totals appendTotals wrote. No period admits more than offered.
func (r *reader) totals() (t window.Totals) {
	if t.Period = r.uint32(); t.Period == 0 {
		r.bad = true
	}
	mask := r.byte()
	for n := range t.By {
		if mask>>n&1 != 0 {
			t.By[n] = window.PeriodTotals{Offered: r.count(), Admitted: r.count(), Times: r.count()}
			if t.By[n].Admitted > t.By[n].Offered {
				r.bad = true
			}
		}
	}
	return t
}

// moments reads appendMoments' moments beside totals of period.
func (r *reader) moments(period uint32) (l moments.List) {
	n := int(r.byte())
	at := moments.Begin(period) + moments.Parts + moments.Bin(r.varint())
	if r.bad = r.bad || period == 0 || n == 0 || n > moments.MaxLumps || at < 0 ||
		at > MaxCount; r.bad {
		return nil
	}
	for k := range n {
		if k > 0 {
			gap := r.count()
			r.bad = r.bad || gap == 0
			at -= moments.Bin(gap)
		}
		lump := moments.Lump{Bin: at, Units: r.count()}
		if r.bad = r.bad || lump.Units == 0 || at < 0; r.bad {
			return nil
		}
		l = append(l, lump)
	}
	return l
}

// ParseHeader returns a packet's header and the bytes of the records; ok is false for another
// version, a truncated header and an empty sender.
func ParseHeader(packet []byte) (h Header, rest []byte, ok bool) {
	r := reader{rest: packet}
	if r.byte() != Version {
		return h, nil, false
	}
	h = Header{Sender: r.text(), Session: r.uvarint(), Sequence: r.uvarint(), Issued: r.varint()}
	return h, r.rest, !r.bad && h.Sender != ""
}

// NextRecord splits the first record off b: the kind, known or not, and the body. ok is false if b
// ends before the record does.
func NextRecord(b []byte) (k Kind, body, rest []byte, ok bool) {
	r := reader{rest: b}
	k = Kind(r.byte())
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		return k, nil, nil, false
	}
	body = r.take(int(n)) // at most len(rest)
	return k, body, r.rest, !r.bad
}

// ParseRecord parses a body of kind k, which is 1..Kinds-1. A returned record is in the ranges of
// this package; any other fault is ErrRecord.
func ParseRecord(k Kind, body []byte) (rec Record, err error) {
	r := reader{rest: body}
	rec = Record{
		Kind: k, ID: ID{Rule: r.text(), Key: string(r.take(int(r.byte()) + 1))},
		Nonce: r.uint32(),
	}
	flags := r.byte()
	rec.Alone, rec.Done = flags&flagAlone != 0, flags&flagDone != 0
	switch k {
	case Ask, Report:
		r.report(&rec.Report, flags)
	default:
		r.view(&rec, flags)
	}
	if r.bad || rec.ID.Rule == "" || len(rec.ID.Rule) > mitigation.MaxRuleName {
		return Record{}, ErrRecord
	}
	return rec, nil
}

// report parses the fields of a report.
func (r *reader) report(d *control.Report, flags byte) {
	*d = control.Report{
		Rate: r.float(), Admitted: r.float(), Over: r.span(),
		TTL: r.span(), LastSum: r.float(),
	}
	d.TTL, d.RateOnly = min(d.TTL, MaxTTL), flags&flagRateOnly != 0
	if flags&flagBlocked != 0 {
		d.Blocked = r.span()
	}
	if flags&flagTotals != 0 {
		d.Totals = r.totals()
	}
	if flags&flagMoments != 0 {
		d.Moments = r.moments(d.Totals.Period)
	}
}

// view parses the fields of a view.
func (r *reader) view(rec *Record, flags byte) {
	rec.View = control.GlobalView{
		Sum: r.float(), Limit: r.float(), EchoRate: r.float(),
		Shed: flags&flagShed != 0,
	}
	rec.From = r.text()
	if flags&flagBlocked != 0 {
		rec.View.Blocked = r.span()
	}
	if flags&flagRateOnly != 0 {
		rec.View.RateOnly = r.float()
	}
	if flags&flagTotals != 0 {
		rec.View.Others = r.totals()
	}
	if flags&flagShare != 0 {
		rec.View.Share = r.float()
	}
	if flags&flagMoments != 0 {
		rec.View.Moments = r.moments(rec.View.Others.Period)
	}
}
