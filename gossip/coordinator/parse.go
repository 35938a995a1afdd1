package coordinator

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// reader parses a record. After the first fault it returns zeroes, and bad stays true.
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

// float reads a rate: finite, 0..maxRate.
func (r *reader) float() float64 {
	f := float64(math.Float32frombits(r.uint32()))
	if !(f >= 0 && f <= maxRate) {
		r.bad = true
		return 0
	}
	return f
}

// Bounds of parsed values. A record beyond them is malformed.
const (
	// maxRate is the largest rate, cost per second.
	maxRate = 1e15
	// maxCount is the largest count of a period.
	maxCount = 1 << 53
	// maxSpan is the longest duration.
	maxSpan = mitigation.MaxBlockFor
	// maxTTL is the longest TTL of a report; a longer one is cut.
	maxTTL = 60 * time.Second
)

// span reads a duration in whole milliseconds, 0..maxSpan.
func (r *reader) span() time.Duration {
	ms := r.uvarint()
	if ms > uint64(maxSpan/time.Millisecond) {
		r.bad = true
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

// count reads a count, 0..maxCount.
func (r *reader) count() int64 {
	v := r.uvarint()
	if v > maxCount {
		r.bad = true
		return 0
	}
	return int64(v)
}

// totals reads the totals that appendTotals wrote. No period admits more than it was offered.
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

// parseHeader returns a packet's header and the bytes of its records.
func parseHeader(packet []byte) (h header, rest []byte, ok bool) {
	r := reader{rest: packet}
	if r.byte() != Version {
		return h, nil, false
	}
	h = header{sender: r.text(), session: r.uvarint(), sequence: r.uvarint(), issued: r.varint()}
	return h, r.rest, !r.bad && h.sender != ""
}

// nextRecord splits the first record off b: its kind and its body.
func nextRecord(b []byte) (k kind, body, rest []byte, ok bool) {
	r := reader{rest: b}
	k = kind(r.byte())
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		return k, nil, nil, false
	}
	body = r.take(int(n)) // at most len(rest)
	return k, body, r.rest, !r.bad
}

// parseRecord parses a body of kind k.
func parseRecord(k kind, body []byte) (rec record, err error) {
	r := reader{rest: body}
	rec = record{kind: k, id: id{rule: r.text(), key: string(r.take(int(r.byte()) + 1))}, nonce: r.uint32()}
	flags := r.byte()
	rec.alone, rec.done = flags&flagAlone != 0, flags&flagDone != 0
	switch k {
	case kindAsk, kindReport:
		r.report(&rec.report, flags)
	default:
		r.view(&rec, flags)
	}
	if r.bad || rec.id.rule == "" || len(rec.id.rule) > mitigation.MaxRuleName {
		return record{}, errRecord
	}
	return rec, nil
}

// report parses the fields of a report.
func (r *reader) report(d *control.Report, flags byte) {
	*d = control.Report{Rate: r.float(), Admitted: r.float(), Over: r.span(), TTL: r.span(), LastSum: r.float()}
	d.TTL, d.RateOnly = min(d.TTL, maxTTL), flags&flagRateOnly != 0
	if flags&flagBlocked != 0 {
		d.Blocked = r.span()
	}
	if flags&flagTotals != 0 {
		d.Totals = r.totals()
	}
}

// view parses the fields of a view; a hint has an end and a sequence number in place of totals.
func (r *reader) view(rec *record, flags byte) {
	rec.view = control.GlobalView{Sum: r.float(), Limit: r.float(), EchoRate: r.float(), Shed: flags&flagShed != 0}
	rec.from = r.text()
	if flags&flagBlocked != 0 {
		rec.view.Blocked = r.span()
	}
	if flags&flagRateOnly != 0 {
		rec.view.RateOnly = r.float()
	}
	if rec.kind == kindHint {
		rec.until, rec.seq = r.varint(), r.uvarint()
		return
	}
	if flags&flagTotals != 0 {
		rec.view.Others = r.totals()
	}
}
