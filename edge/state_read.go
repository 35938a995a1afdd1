package edge

import (
	"encoding/binary"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
)

// stateReader reads fields until one is not there, or is out of bounds.
type stateReader struct {
	rest   []byte
	failed bool
}

// mostStated bounds every number of a state, so that a few may be added up: in microseconds, until 2112.
const mostStated = 1 << 52

func (r *stateReader) number(most int64) int64 {
	n, size := binary.Uvarint(r.rest)
	if r.failed || size <= 0 || n > uint64(most) {
		r.failed = true
		return 0
	}
	r.rest = r.rest[size:]
	return int64(n)
}

func (r *stateReader) byte() byte {
	if r.failed || len(r.rest) == 0 {
		r.failed = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *stateReader) yes() bool { return r.byte() == 1 }

// text returns bytes of the state itself.
func (r *stateReader) text(most int64) []byte {
	n := r.number(most)
	if r.failed || n > int64(len(r.rest)) {
		r.failed = true
		return nil
	}
	text := r.rest[:n]
	r.rest = r.rest[n:]
	return text
}

// key reads a key, which is never empty.
func (r *stateReader) key() []byte {
	key := r.text(mitigation.MaxKey)
	r.failed = r.failed || len(key) == 0
	return key
}

// take puts the fields of one record into s; the record has failed if they are not as they should be.
func (s *state) take(kind byte, r *stateReader) (err error) {
	switch kind {
	case recordHead:
		s.written, s.stopped = r.number(mostStated), r.yes()
	case recordWords:
		s.words, err = mitigation.ParseWords(r.rest)
	case recordRule:
		s.rules = append(s.rules, keptRule{
			name:   string(r.text(mitigation.MaxRuleName)),
			window: time.Duration(r.number(mitigation.MaxWindow.Milliseconds())) * time.Millisecond, shadow: r.yes(),
		})
	case recordFlag:
		s.flags = append(s.flags, r.flag(s))
	case recordCount:
		s.counts = append(s.counts, r.count(s))
	}
	return err
}

// rule reads which of the rules written before a record is about.
func (r *stateReader) rule(s *state) int { return int(r.number(int64(len(s.rules)) - 1)) }

func (r *stateReader) flag(s *state) keptFlag {
	if len(s.rules) == 0 {
		r.failed = true
		return keptFlag{}
	}
	f := keptFlag{
		rule: r.rule(s), key: r.key(), action: mitigation.Action(r.byte()), source: keptSource(r.byte()),
		ratio: mitigation.Ratio(r.number(int64(mitigation.MaxRatio))), since: r.number(mostStated), until: r.number(mostStated),
		origin: string(r.text(maxOrigin)), reason: string(r.text(mitigation.MaxReason)),
	}
	r.failed = r.failed || f.action > mitigation.Allow || f.action == mitigation.Allow && f.source != keptManual
	return f
}

func (r *stateReader) count(s *state) keptCount {
	if len(s.rules) == 0 {
		r.failed = true
		return keptCount{}
	}
	c := keptCount{rule: r.rule(s), key: r.key(), refusing: r.yes(), asked: r.number(mostStated)}
	n := r.number(int64(len(r.rest)) / 2) // a mark takes two bytes or more
	if r.failed {
		return c
	}
	c.marks = make([]keptMark, n)
	last := s.written - mitigation.MaxWindow.Microseconds()
	for k := range c.marks {
		at := s.written - r.number(mitigation.MaxWindow.Microseconds())
		r.failed = r.failed || at < last
		last = at
		c.marks[k] = keptMark{at: at, units: r.number(mitigation.MaxLimit)}
	}
	return c
}
