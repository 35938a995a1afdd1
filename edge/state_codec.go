package edge

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
)

// What a node keeps over a restart, as bytes:
//
//	"headgate" · version 1 · length of the body, 8 bytes · body · CRC-64 of all before it, 8 bytes
//	body = records of  type · uvarint length · fields
//
// Numbers are uvarints unless said otherwise, texts a uvarint of their length before them, times Unix
// microseconds by the wall clock. Records of an unknown type are skipped, and so is what a later version adds at
// the end of a record. Keys are kept as bytes: where they are counted is another place in every process.

const (
	stateMagic   = "headgate"
	stateVersion = 1
	stateHead    = len(stateMagic) + 1 + 8 // bytes before the body
	stateTail    = 8                       // bytes of checksum

	// maxOrigin is the most bytes of who set a flag: an operator, or a node behind its PoP.
	maxOrigin = 2*mitigation.MaxNode + 1
	// maxState is the most bytes a state may have; what does not fit is left out, counts first.
	maxState = 16 << 20
)

// The types of records, in the order they are written.
const (
	recordHead  = 1 // written, whether at a stop
	recordWords = 2 // mitigation.AppendWords
	recordRule  = 3 // name, window, whether in shadow; flags and counts name rules by their place among these
	recordFlag  = 4
	recordCount = 5
)

// Why a state is not used.
var (
	errStateForeign = errors.New("not a state of headgate")
	errStateVersion = errors.New("of a version that is not known here")
	errStateTorn    = errors.New("torn or altered")
	errStateFuture  = errors.New("written later than now")
	errStateSize    = errors.New("larger than any state")
)

// state is what a node keeps.
type state struct {
	written int64 // Unix microseconds
	stopped bool  // at a stop: nothing was admitted after it
	words   []mitigation.Word
	rules   []keptRule
	flags   []keptFlag
	counts  []keptCount
}

// keptRule is how a rule was when its flags and counts came about.
type keptRule struct {
	name   string
	window time.Duration // whole milliseconds
	shadow bool
}

// keptFlag is a flag that no word stands for.
type keptFlag struct {
	rule           int // of state.rules
	key            []byte
	action         mitigation.Action
	ratio          mitigation.Ratio
	source         keptSource
	since, until   int64 // Unix microseconds
	origin, reason string
}

// keptSource is by whose word a flag stands, in a number that no change of mitigation.Source moves.
type keptSource byte

// The sources whose flags are kept.
const (
	keptSelf   keptSource = 1
	keptRing   keptSource = 2
	keptManual keptSource = 3 // where there is no word of it
	keptGossip keptSource = 4
)

// keptCount is what a key was admitted.
type keptCount struct {
	rule     int // of state.rules
	key      []byte
	refusing bool  // it was asking for more
	asked    int64 // cost it asked for in its window
	marks    []keptMark
}

// keptMark is cost, the last of it admitted at.
type keptMark struct{ at, units int64 }

var stateTable = crc64.MakeTable(crc64.ECMA)

// stateWriter writes a state into one buffer, record by record.
type stateWriter struct{ buf, record []byte }

// add writes one record, unless the state would become larger than room.
func (w *stateWriter) add(kind byte, room int) bool {
	if len(w.buf)+len(w.record)+binary.MaxVarintLen64+1+stateTail > room {
		return false
	}
	w.buf = binary.AppendUvarint(append(w.buf, kind), uint64(len(w.record)))
	w.buf = append(w.buf, w.record...)
	return true
}

func (w *stateWriter) begin() { w.record = w.record[:0] }

func (w *stateWriter) number(n int64) { w.record = binary.AppendUvarint(w.record, uint64(n)) }

func (w *stateWriter) yes(is bool) { w.record = append(w.record, byte(flagOf(is))) }

func (w *stateWriter) text(text []byte) {
	w.number(int64(len(text)))
	w.record = append(w.record, text...)
}

// encodeState appends s to dst, which is empty, and returns it with how many flags and counts did not fit.
func encodeState(dst []byte, s *state) (all []byte, left int) {
	w := stateWriter{buf: append(append(dst, stateMagic...), stateVersion)}
	w.buf = append(w.buf, make([]byte, 8)...)
	w.number(s.written)
	w.yes(s.stopped)
	w.add(recordHead, maxState)
	w.record = mitigation.AppendWords(w.record[:0], s.words)
	w.add(recordWords, maxState)
	for _, r := range s.rules {
		w.begin()
		w.text([]byte(r.name))
		w.number(r.window.Milliseconds())
		w.yes(r.shadow)
		w.add(recordRule, maxState)
	}
	for n := range s.flags {
		left += w.flag(&s.flags[n])
	}
	for n := range s.counts {
		left += w.count(&s.counts[n], s.written)
	}
	binary.BigEndian.PutUint64(w.buf[stateHead-8:], uint64(len(w.buf)-stateHead))
	return binary.BigEndian.AppendUint64(w.buf, crc64.Checksum(w.buf, stateTable)), left
}

func (w *stateWriter) flag(f *keptFlag) (left int) {
	w.begin()
	w.number(int64(f.rule))
	w.text(f.key)
	w.record = append(w.record, byte(f.action), byte(f.source))
	w.number(int64(f.ratio))
	w.number(f.since)
	w.number(f.until)
	w.text([]byte(f.origin))
	w.text([]byte(f.reason))
	return one(!w.add(recordFlag, maxState))
}

func (w *stateWriter) count(c *keptCount, written int64) (left int) {
	w.begin()
	w.number(int64(c.rule))
	w.text(c.key)
	w.yes(c.refusing)
	w.number(c.asked)
	w.number(int64(len(c.marks)))
	for _, m := range c.marks {
		w.number(max(0, written-m.at))
		w.number(m.units)
	}
	return one(!w.add(recordCount, maxState))
}

func one(yes bool) int { return int(flagOf(yes)) }

// decodeState reads what encodeState wrote, all of it or nothing.
func decodeState(all []byte) (*state, error) {
	switch {
	case len(all) > maxState:
		return nil, errStateSize
	case len(all) < stateHead+stateTail || string(all[:len(stateMagic)]) != stateMagic:
		return nil, errStateForeign
	case all[len(stateMagic)] != stateVersion:
		return nil, errStateVersion
	}
	body, sum := all[stateHead:len(all)-stateTail], all[len(all)-stateTail:]
	if binary.BigEndian.Uint64(all[stateHead-8:]) != uint64(len(body)) ||
		binary.BigEndian.Uint64(sum) != crc64.Checksum(all[:len(all)-stateTail], stateTable) {
		return nil, errStateTorn
	}
	return decodeBody(body)
}

func decodeBody(body []byte) (*state, error) {
	var s state
	for r := (stateReader{rest: body}); len(r.rest) > 0; {
		kind := r.byte()
		record := stateReader{rest: r.text(maxState)}
		if r.failed {
			return nil, errStateTorn
		}
		if err := s.take(kind, &record); err != nil {
			return nil, err
		}
		if record.failed {
			return nil, fmt.Errorf("%w: a record of type %d", errStateTorn, kind)
		}
	}
	return &s, nil
}
