package codec

import (
	"encoding/binary"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/snapshot"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/override"
)

// reader reads fields until a field is missing or out of bounds. From then on failed is true and
// every field is zero, so callers check once at the end.
type reader struct {
	rest   []byte
	failed bool
}

// maxNumber bounds every number, so sums of a few cannot overflow. As microseconds it is the year
// 2112.
const maxNumber = 1 << 52

// number reads a number of 0..most.
func (r *reader) number(most int64) int64 {
	n, size := binary.Uvarint(r.rest)
	if r.failed || size <= 0 || n > uint64(most) {
		r.failed = true
		return 0
	}
	r.rest = r.rest[size:]
	return int64(n)
}

// byte reads a byte.
func (r *reader) byte() byte {
	if r.failed || len(r.rest) == 0 {
		r.failed = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

// bool reads a byte; 1 is true.
func (r *reader) bool() bool { return r.byte() == 1 }

// text reads a text of up to most bytes. The result points into the state.
func (r *reader) text(most int64) []byte {
	n := r.number(most)
	if r.failed || n > int64(len(r.rest)) {
		r.failed = true
		return nil
	}
	text := r.rest[:n]
	r.rest = r.rest[n:]
	return text
}

// key reads a key of 1..MaxKey bytes.
func (r *reader) key() []byte {
	key := r.text(mitigation.MaxKey)
	r.failed = r.failed || len(key) == 0
	return key
}

// readRecord parses a record into s. A missing or invalid field sets failed; the error is of the
// overrides, which have a format of their own. Records of an unknown type are skipped.
func readRecord(s *gate.Snapshot, kind byte, r *reader) (err error) {
	switch kind {
	case recordHead:
		s.Written, s.Stopped = r.number(maxNumber), r.bool()
	case recordOverrides:
		s.Overrides, err = override.ParseAll(r.rest)
	case recordLimits:
		s.Limits, err = override.ParseAll(r.rest)
	case recordDigests:
		r.failed = copy(s.Digests[:], r.rest) < len(s.Digests)
	case recordRule:
		s.Rules = append(s.Rules, snapshot.Rule{
			Name:   string(r.text(mitigation.MaxRuleName)),
			Window: time.Duration(r.number(mitigation.MaxWindow.Milliseconds())) * time.Millisecond,
			Shadow: r.bool(),
		})
	case recordFlag:
		if f, known := r.flag(s); known {
			s.Flags = append(s.Flags, f)
		}
	case recordStrikes:
		s.Strikes = append(s.Strikes, r.strikes(s))
	case recordCount:
		s.Counts = append(s.Counts, r.count(s))
	}
	return err
}

// rule reads the index of a rule among the rules before this record.
func (r *reader) rule(s *gate.Snapshot) int { return int(r.number(int64(len(s.Rules)) - 1)) }

// flag reads a flag. known is false if its source is of a later version. An allow flag can only be
// manual.
func (r *reader) flag(s *gate.Snapshot) (f snapshot.Flag, known bool) {
	if len(s.Rules) == 0 {
		r.failed = true
		return f, false
	}
	f.Rule, f.Key, f.Action = r.rule(s), r.key(), mitigation.Action(r.byte())
	source := sourceCode(r.byte())
	f.Source, known = source.source()
	f.Ratio, f.Since, f.Until = mitigation.Ratio(r.number(int64(mitigation.MaxRatio))),
		r.number(maxNumber), r.number(maxNumber)
	f.Origin, f.Reason = string(r.text(maxOrigin)), string(r.text(override.MaxReason))
	r.failed = r.failed || f.Action > mitigation.Allow ||
		f.Action == mitigation.Allow && source != sourceManual
	return f, known
}

// strikes reads the strikes of a key: at least 1.
func (r *reader) strikes(s *gate.Snapshot) (k snapshot.Strikes) {
	if len(s.Rules) == 0 {
		r.failed = true
		return k
	}
	k = snapshot.Strikes{
		Rule: r.rule(s), Key: r.key(), Number: r.byte(),
		Forget: r.number(maxNumber),
	}
	r.failed = r.failed || k.Number == 0
	return k
}

// count reads a count. Its marks must be in order of time and within the longest window before the
// writing.
func (r *reader) count(s *gate.Snapshot) snapshot.Count {
	if len(s.Rules) == 0 {
		r.failed = true
		return snapshot.Count{}
	}
	c := snapshot.Count{
		Rule: r.rule(s), Key: r.key(), Refusing: r.bool(),
		Asked: r.number(maxNumber),
	}
	n := r.number(int64(len(r.rest)) / 2) // a mark takes two bytes or more
	if r.failed {
		return c
	}
	c.Marks = make([]snapshot.Mark, n)
	last := s.Written - mitigation.MaxWindow.Microseconds()
	for k := range c.Marks {
		at := s.Written - r.number(mitigation.MaxWindow.Microseconds())
		r.failed = r.failed || at < last
		last = at
		c.Marks[k] = snapshot.Mark{At: at, Units: r.number(2 * mitigation.MaxLimit)}
	}
	if c.Apart = len(r.rest) > 0; c.Apart {
		r.exchanged(&c)
		if len(r.rest) > 0 {
			c.Number.Limit = r.number(mitigation.MaxLimit)
			c.Number.Burst = r.number(mitigation.MaxLimit)
		}
	}
	return c
}
