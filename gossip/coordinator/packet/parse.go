package packet

import (
	"math"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/moments"
)

// reader parses a record.
type reader struct{ Reader }

// float reads a rate: finite, 0..MaxRate.
func (r *reader) float() float64 {
	f := float64(math.Float32frombits(r.Uint32()))
	if !(f >= 0 && f <= MaxRate) {
		r.Bad = true
		return 0
	}
	return f
}

// span reads a duration in whole milliseconds, 0..MaxSpan.
func (r *reader) span() time.Duration {
	ms := r.Uvarint()
	if ms > uint64(MaxSpan/time.Millisecond) {
		r.Bad = true
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

// count reads a count, 0..MaxCount.
func (r *reader) count() int64 {
	v := r.Uvarint()
	if v > MaxCount {
		r.Bad = true
		return 0
	}
	return int64(v)
}

// totals reads the totals appendTotals wrote. No period admits more than offered.
func (r *reader) totals() (t window.Totals) {
	if t.Period = r.Uint32(); t.Period == 0 {
		r.Bad = true
	}
	mask := r.Byte()
	for n := range t.By {
		if mask>>n&1 != 0 {
			t.By[n] = window.PeriodTotals{Offered: r.count(), Admitted: r.count(), Times: r.count()}
			if t.By[n].Admitted > t.By[n].Offered {
				r.Bad = true
			}
		}
	}
	return t
}

// moments reads appendMoments' moments beside totals of period.
func (r *reader) moments(period uint32) (l moments.List) {
	n := int(r.Byte())
	at := moments.Begin(period) + moments.Parts + moments.Bin(r.Varint())
	if r.Bad = r.Bad || period == 0 || n == 0 || n > moments.MaxLumps || at < 0 ||
		at > MaxCount; r.Bad {
		return nil
	}
	for k := range n {
		if k > 0 {
			gap := r.count()
			r.Bad = r.Bad || gap == 0
			at -= moments.Bin(gap)
		}
		lump := moments.Lump{Bin: at, Units: r.count()}
		if r.Bad = r.Bad || lump.Units == 0 || at < 0; r.Bad {
			return nil
		}
		l = append(l, lump)
	}
	return l
}

// ParseHeader returns a packet's header and the bytes of the records; ok is false for another
// version, a truncated header and an empty sender.
func ParseHeader(packet []byte) (h Header, rest []byte, ok bool) {
	r := reader{Reader{Rest: packet}}
	if r.Byte() != Version {
		return h, nil, false
	}
	h = Header{Sender: r.Text(), Session: r.Uvarint(), Sequence: r.Uvarint(), Issued: r.Varint()}
	return h, r.Rest, !r.Bad && h.Sender != ""
}

// NextRecord splits the first record off b: the kind, known or not, and the body. ok is false if b
// ends before the record does.
func NextRecord(b []byte) (k Kind, body, rest []byte, ok bool) {
	r := reader{Reader{Rest: b}}
	k = Kind(r.Byte())
	n := r.Uvarint()
	if n > uint64(len(r.Rest)) {
		return k, nil, nil, false
	}
	body = r.Take(int(n)) // at most len(rest)
	return k, body, r.Rest, !r.Bad
}

// ParseRecord parses a body of kind k, which is 1..Kinds-1. A returned record is in the ranges of
// this package; any other fault is ErrRecord.
func ParseRecord(k Kind, body []byte) (rec Record, err error) {
	r := reader{Reader{Rest: body}}
	rec = Record{
		Kind: k, ID: ID{Rule: r.Text(), Key: string(r.Take(int(r.Byte()) + 1))},
		Nonce: r.Uint32(),
	}
	flags := r.Byte()
	rec.Alone, rec.Done = flags&flagAlone != 0, flags&flagDone != 0
	switch k {
	case Ask, Report:
		r.report(&rec.Report, flags)
	default:
		r.view(&rec, flags)
	}
	if r.Bad || rec.ID.Rule == "" || len(rec.ID.Rule) > mitigation.MaxFarName {
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
	rec.From = r.Text()
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
