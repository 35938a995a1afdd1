package surge

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"slices"
	"time"
)

// MaxKept is the most bytes of Kept.
const MaxKept = 5 << 19

// kept outlives the process: usual traffic as hashes, and the findings whose policies are
// in force.
type kept struct {
	Version                      string
	Probe                        Term // of the key: hashes under another mean nothing
	Hours                        [hours][]byte
	Last                         []byte
	Rates                        [hours][2]float64
	Recent                       []float32
	Answered, Refusals, Failures float64
	Learnt                       time.Duration
	Applied                      []Applied
}

// Applied is a finding whose policy is in force.
type Applied struct {
	Finding
	Mode  string
	Until time.Time
	By    string
	All   bool // on every member
}

// Kept returns the usual traffic as bytes, with applied beside.
func (w *Watch) Kept(applied []Applied) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	u := w.usual
	k := kept{
		Version: "1", Probe: w.fill.probe(), Last: packed(u.last), Learnt: w.learnt,
		Recent:   slices.Clone(u.recent[:u.looks]),
		Answered: u.answered, Refusals: u.refusals, Failures: u.failures, Applied: applied,
	}
	for i := range u.hour {
		k.Hours[i], k.Rates[i] = packed(u.hour[i]), [2]float64{u.rates[i].mean, u.rates[i].n}
	}
	var b bytes.Buffer
	_ = gob.NewEncoder(&b).Encode(&k) // into memory: cannot fail
	return b.Bytes()
}

// Restore takes over the bytes of Kept, before the first request. With an error nothing is taken:
// traffic is learnt anew. With 512 rows or more nothing has to be learnt.
func (w *Watch) Restore(data []byte) ([]Applied, error) {
	var k kept
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&k); err != nil {
		return nil, fmt.Errorf("read usual traffic: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch u := newUsual(); {
	case k.Version != "1":
		return nil, errors.New("usual traffic is of another version")
	case k.Probe != w.fill.probe():
		return nil, errors.New("usual traffic is of another digest key")
	default:
		for i := range u.hour {
			u.hour[i].unpack(k.Hours[i])
			u.rates[i] = rate{k.Rates[i][0], k.Rates[i][1]}
		}
		u.last.unpack(k.Last)
		u.looks = copy(u.recent[:], k.Recent)
		u.next = u.looks % len(u.recent)
		u.answered, u.refusals, u.failures = k.Answered, k.Refusals, k.Failures
		w.usual, w.look.u, w.learnt = u, u, k.Learnt
		w.known = u.rows() >= hourRows
	}
	for i := range k.Applied {
		f := k.Applied[i].Finding
		f.Conditions = slices.Clone(f.Conditions)
		w.fill.resolve(f.Conditions)
		f.Over = true
		w.findings = append(w.findings, f)
	}
	return k.Applied, nil
}

// packed returns rows as bytes: the number of terms, and the terms.
func packed(rows sample) (b []byte) {
	for i := range rows {
		b = append(b, rows[i].n)
		for _, t := range rows[i].terms[:rows[i].n] {
			b = binary.LittleEndian.AppendUint32(b, uint32(t))
		}
	}
	return b
}

// unpack fills s with the rows in b, as far as s has room.
func (s *sample) unpack(b []byte) {
	for len(b) > 0 && len(*s) < cap(*s) && b[0] <= maxTerms && len(b) > 4*int(b[0]) {
		r := usualRow{n: b[0]}
		b = b[1:]
		for i := range r.n {
			r.terms[i], b = Term(binary.LittleEndian.Uint32(b)), b[4:]
		}
		*s = append(*s, r)
	}
}

// probe is a term by which a key knows hashes of the same key.
func (f *filler) probe() Term { return f.term(ofHeader, Is, nil) }

// resolve sets the terms of kept conditions.
func (f *filler) resolve(conditions []Condition) {
	for i := range conditions {
		c := &conditions[i]
		c.term = f.term([]byte(c.Field), c.Op, []byte(c.Text))
	}
}
