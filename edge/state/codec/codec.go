// Package codec is the format of the state file: a gate's snapshot as bytes.
//
//	gate.Snapshot → Encode → "headgate" · version 1 · length of the body, 8 bytes · body ·
//	    CRC-64 of all before it, 8 bytes
//	                 Decode ◄─ body = records of  type · uvarint length · fields
//
// Numbers are uvarints unless said otherwise. A text is a uvarint of its length and its bytes.
// Times are Unix microseconds by the wall clock. A reader skips records of an unknown type, and
// unknown fields at the end of a record, so later versions can add both. Keys are written as bytes:
// their indices differ in every process.
//
// The checksum finds a file that was torn, not a forged file: every number is also checked against
// its bound. The package opens no file.
package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/snapshot"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/override"
)

const (
	// The fixed parts of the format. headBytes and tailBytes are the bytes before and after the
	// body.
	magic     = "headgate"
	version   = 1
	headBytes = len(magic) + 1 + 8 // magic, version, length of the body
	tailBytes = 8                  // checksum

	// maxOrigin is the most bytes of a flag's origin: an operator, or PoP and node with a slash
	// between.
	maxOrigin = 2*override.MaxNode + 1
)

// MaxBytes is the most bytes of a state. Records that do not fit are dropped, counts before flags.
const MaxBytes = 16 << 20

const (
	// The types of records, in the order in which they are written. Numbers are never reused.
	recordHead      = 1 // time of writing, whether at a stop
	recordOverrides = 2 // override.AppendAll
	// name, window, whether in shadow; flags and counts name rules by their index among these
	recordRule    = 3
	recordFlag    = 4 // see flag
	recordCount   = 5 // see count and exchanged
	recordStrikes = 6 // rule, key, their number, and when they are forgotten
	recordDigests = 7 // name of the digest key, 8 bytes
	recordLimits  = 8 // override.AppendAll, of limits by hand
)

var (
	// ErrForeign says that a file is not a state.
	ErrForeign = errors.New("not a state of headgate")
	// ErrSize says that a file has more than MaxBytes.
	ErrSize = errors.New("larger than any state")

	errVersion = errors.New("of a version that is not known here")
	errTorn    = errors.New("torn or altered")
)

// sourceCode is the number of a flag's source in the file. It stays the same when
// mitigation.Source changes.
type sourceCode byte

const (
	sourceRing   sourceCode = 2
	sourceManual sourceCode = 3 // a manual flag without an override
	sourceGossip sourceCode = 4
)

// table is the polynomial of the checksum.
var table = crc64.MakeTable(crc64.ECMA)

// sourceCodeOf returns the code of a source, 0 for a source whose flags are not written.
func sourceCodeOf(s mitigation.Source) sourceCode {
	switch s {
	case mitigation.Self:
		// The sources whose flags are written.
		return sourceCode(1)
	case mitigation.Ring:
		return sourceRing
	case mitigation.Manual:
		return sourceManual
	case mitigation.Gossip:
		return sourceGossip
	}
	return 0
}

// source returns the source with code k; false for a code of a later version.
func (k sourceCode) source() (mitigation.Source, bool) {
	for s := mitigation.Self; s <= mitigation.Manual; s++ {
		if sourceCodeOf(s) == k {
			return s, true
		}
	}
	return 0, false
}

// writer writes records: the fields of an into record, then the record into buf.
type writer struct{ buf, record []byte }

// add appends the record with its type and length, unless the state with its checksum would exceed
// room bytes. It reports whether the record fitted.
func (w *writer) add(kind byte, room int) bool {
	if len(w.buf)+len(w.record)+binary.MaxVarintLen64+1+tailBytes > room {
		return false
	}
	w.buf = binary.AppendUvarint(append(w.buf, kind), uint64(len(w.record)))
	w.buf = append(w.buf, w.record...)
	return true
}

// begin starts a record.
func (w *writer) begin() { w.record = w.record[:0] }

// number writes n, which must not be negative.
func (w *writer) number(n int64) { w.record = binary.AppendUvarint(w.record, uint64(n)) }

// bool writes a byte, 0 or 1.
func (w *writer) bool(is bool) { w.record = append(w.record, byte(btoi(is))) }

// text writes the length of text and its bytes.
func (w *writer) text(text []byte) {
	w.number(int64(len(text)))
	w.record = append(w.record, text...)
}

// Encode appends s to dst, which must be empty, and returns the result, at most MaxBytes, with the
// number of flags and counts that did not fit.
func Encode(dst []byte, s *gate.Snapshot) (all []byte, left int) {
	w := writer{buf: append(append(dst, magic...), version)}
	w.buf = append(w.buf, make([]byte, 8)...)
	w.number(s.Written)
	w.bool(s.Stopped)
	w.add(recordHead, MaxBytes)
	w.record = override.AppendAll(w.record[:0], s.Overrides)
	w.add(recordOverrides, MaxBytes)
	if len(s.Limits) > 0 {
		w.record = override.AppendAll(w.record[:0], s.Limits)
		w.add(recordLimits, MaxBytes)
	}
	if s.Digests != [8]byte{} {
		w.record = append(w.record[:0], s.Digests[:]...)
		w.add(recordDigests, MaxBytes)
	}
	for _, r := range s.Rules {
		w.begin()
		w.text([]byte(r.Name))
		w.number(r.Window.Milliseconds())
		w.bool(r.Shadow)
		w.add(recordRule, MaxBytes)
	}
	for n := range s.Flags {
		left += w.flag(&s.Flags[n])
	}
	for n := range s.Strikes {
		left += w.strikes(&s.Strikes[n])
	}
	for n := range s.Counts {
		left += w.count(&s.Counts[n], s.Written)
	}
	binary.BigEndian.PutUint64(w.buf[headBytes-8:], uint64(len(w.buf)-headBytes))
	return binary.BigEndian.AppendUint64(w.buf, crc64.Checksum(w.buf, table)), left
}

// flag writes f and returns 1 if it did not fit.
func (w *writer) flag(f *snapshot.Flag) (left int) {
	w.begin()
	w.number(int64(f.Rule))
	w.text(f.Key)
	w.record = append(w.record, byte(f.Action), byte(sourceCodeOf(f.Source)))
	w.number(int64(f.Ratio))
	w.number(f.Since)
	w.number(f.Until)
	w.text([]byte(f.Origin[:min(len(f.Origin), maxOrigin)]))
	w.text([]byte(f.Reason))
	return btoi(!w.add(recordFlag, MaxBytes))
}

// strikes writes k and returns 1 if it did not fit.
func (w *writer) strikes(k *snapshot.Strikes) (left int) {
	w.begin()
	w.number(int64(k.Rule))
	w.text(k.Key)
	w.record = append(w.record, k.Number)
	w.number(k.Forget)
	return btoi(!w.add(recordStrikes, MaxBytes))
}

// count writes c and returns 1 if it did not fit. Marks are written by their age at written, in
// microseconds: small numbers take few bytes.
func (w *writer) count(c *snapshot.Count, written int64) (left int) {
	w.begin()
	w.number(int64(c.Rule))
	w.text(c.Key)
	w.bool(c.Refusing)
	w.number(c.Asked)
	w.number(int64(len(c.Marks)))
	for _, m := range c.Marks {
		w.number(max(0, written-m.At))
		w.number(m.Units)
	}
	if c.Apart {
		w.exchanged(c)
		if c.Number.Limit > 0 {
			w.number(c.Number.Limit)
			w.number(c.Number.Burst)
		}
	}
	return btoi(!w.add(recordCount, MaxBytes))
}

// btoi returns 1 for yes, else 0.
func btoi(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// Content returns a checksum of the output of Encode without its first record, the time of writing:
// two states that say the same at different times have the same content.
func Content(all []byte) uint64 {
	first := headBytes + 2 + int(all[headBytes+1]) // type, length below 128, fields
	return crc64.Checksum(all[first:len(all)-tailBytes], table)
}

// Decode reads the output of Encode, all of it or nothing. The keys of the result point
// into all.
func Decode(all []byte) (*gate.Snapshot, error) {
	switch {
	case len(all) > MaxBytes:
		return nil, ErrSize
	case len(all) < headBytes+tailBytes || string(all[:len(magic)]) != magic:
		return nil, ErrForeign
	case all[len(magic)] != version:
		return nil, errVersion
	}
	body, sum := all[headBytes:len(all)-tailBytes], all[len(all)-tailBytes:]
	if binary.BigEndian.Uint64(all[headBytes-8:]) != uint64(len(body)) ||
		binary.BigEndian.Uint64(sum) != crc64.Checksum(all[:len(all)-tailBytes], table) {
		return nil, errTorn
	}
	return decodeBody(body)
}

// decodeBody reads the records between head and checksum. Every number is checked against its
// bound, since a checksum proves no origin.
func decodeBody(body []byte) (*gate.Snapshot, error) {
	var s gate.Snapshot
	for r := (reader{rest: body}); len(r.rest) > 0; {
		kind := r.byte()
		record := reader{rest: r.text(MaxBytes)}
		if r.failed {
			return nil, errTorn
		}
		if err := readRecord(&s, kind, &record); err != nil {
			return nil, err
		}
		if record.failed {
			return nil, fmt.Errorf("%w: a record of type %d", errTorn, kind)
		}
	}
	return &s, nil
}
