package gossip

import (
	"errors"
	"fmt"
)

// Meta is what a node tells the others of itself. It travels with memberlist's own news, so it must be small and
// change seldom.
type Meta struct {
	PoP     string // the node's PoP, at most MaxMetaText bytes, like all texts here
	Version string // of the program
	Wire    uint8  // version of what Send, Spread and State carry; 0: not said
	Ring    string // fingerprint of the PoP's ring of servers; "": no ring
	Rules   string // digest of the rules in force; "": not said

	leaving bool // the node is about to leave: its silence is no fault
}

// MaxMetaText is the length of a text in Meta, in bytes. With all of them full a Meta takes 270 of the 512 bytes that
// memberlist allows.
const MaxMetaText = 64

// metaVersion is the first byte. Later fields need no other version: what is not known is skipped.
const metaVersion = 1

// The fields of a Meta on the wire: type, length, bytes. A number here is never given to another field.
const (
	metaPoP     = 1
	metaProgram = 2
	metaWire    = 3
	metaRing    = 4
	metaRules   = 5
	metaLeaving = 6
)

var (
	errMetaVersion = errors.New("metadata of an unknown version")
	errMetaShort   = errors.New("metadata ends inside a field")
)

// check says which text is too long.
func (m Meta) check() error {
	for _, f := range []struct{ name, text string }{
		{"pop", m.PoP}, {"version", m.Version}, {"ring", m.Ring}, {"rules", m.Rules},
	} {
		if len(f.text) > MaxMetaText {
			return fmt.Errorf("meta: %s has %d bytes, at most %d", f.name, len(f.text), MaxMetaText)
		}
	}
	return nil
}

// append writes m behind b. Empty fields take no room.
func (m Meta) append(b []byte) []byte {
	b = append(b, metaVersion)
	b = appendField(b, metaPoP, m.PoP)
	b = appendField(b, metaProgram, m.Version)
	if m.Wire != 0 {
		b = append(b, metaWire, 1, m.Wire)
	}
	b = appendField(b, metaRing, m.Ring)
	b = appendField(b, metaRules, m.Rules)
	if m.leaving {
		b = append(b, metaLeaving, 0)
	}
	return b
}

func appendField(b []byte, kind byte, text string) []byte {
	if text == "" {
		return b
	}
	b = append(b, kind, byte(min(len(text), MaxMetaText)))
	return append(b, text[:min(len(text), MaxMetaText)]...)
}

// parseMeta reads what append wrote, by this version of the program or a later one. With an error it returns the
// fields it had read.
func parseMeta(b []byte) (Meta, error) {
	var m Meta
	if len(b) < 1 || b[0] != metaVersion {
		return m, errMetaVersion
	}
	for b = b[1:]; len(b) > 0; {
		if len(b) < 2 || len(b) < 2+int(b[1]) {
			return m, errMetaShort
		}
		kind, value := b[0], b[2:2+int(b[1])]
		m.set(kind, value)
		b = b[2+len(value):]
	}
	return m, nil
}

// set takes one field. Unknown ones and texts longer than any of ours are skipped.
func (m *Meta) set(kind byte, value []byte) {
	if len(value) > MaxMetaText {
		return
	}
	switch kind {
	case metaPoP:
		m.PoP = string(value)
	case metaProgram:
		m.Version = string(value)
	case metaWire:
		if len(value) > 0 {
			m.Wire = value[0]
		}
	case metaRing:
		m.Ring = string(value)
	case metaRules:
		m.Rules = string(value)
	case metaLeaving:
		m.leaving = true
	}
}
