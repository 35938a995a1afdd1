package gossip

import (
	"errors"
	"fmt"
)

// Meta is a node's metadata, spread to all members inside memberlist's own messages: it must be
// small and change seldom. Written by the node itself; read by all others, for alarms and pages.
type Meta struct {
	// PoP is the node's PoP, at most MaxMetaText bytes, like all texts here.
	PoP string
	// Version is the program's version.
	Version string
	// Wire is the version of the payload of Send, Spread and State; 0 is unknown.
	Wire uint8
	// Ring is the fingerprint of the PoP's ring of servers; "" is no ring.
	Ring string
	// Rules is a digest of the rules in force; "" is unknown.
	Rules string
	// Admin is the "host:port" of the node's admin listener, for people; an empty host is the
	// member's own address. "" is none other machines reach.
	Admin string
	// Limits says that the node knows limits by hand. It is a node of this version or later.
	Limits bool

	// Leaving says that the node is about to leave: its silence is no failure. The node sets it
	// itself as it ends; Config and SetMeta ignore it.
	Leaving bool
}

// metaVersion is the first byte of metadata. New fields do not change it: unknown fields are
// skipped.
const metaVersion = 1

// The fields of a Meta on the wire: type, length, bytes. A number is never used for another field.
const (
	metaPoP     = 1
	metaProgram = 2
	metaWire    = 3
	metaRing    = 4
	metaRules   = 5
	metaLeaving = 6
	metaAdmin   = 7
	metaLimits  = 8
)

var (
	// ErrMetaVersion is the error of metadata of another version, or of none.
	errMetaVersion = errors.New("metadata of an unknown version")
	// ErrMetaShort is the error of metadata ending inside a field.
	errMetaShort = errors.New("metadata ends inside a field")
)

// Check returns an error for a text that is too long.
func (m Meta) Check() error {
	for _, f := range []struct{ name, text string }{
		{"pop", m.PoP},
		{"version", m.Version},
		{"ring", m.Ring},
		{"rules", m.Rules},
		{"admin", m.Admin},
	} {
		if len(f.text) > MaxMetaText {
			return fmt.Errorf("meta: %s has %d bytes, at most %d", f.name, len(f.text), MaxMetaText)
		}
	}
	return nil
}

// Append appends the encoding of m to b. Empty fields take no room.
func (m Meta) Append(b []byte) []byte {
	b = append(b, metaVersion)
	b = appendField(b, metaPoP, m.PoP)
	b = appendField(b, metaProgram, m.Version)
	if m.Wire != 0 {
		b = append(b, metaWire, 1, m.Wire)
	}
	b = appendField(b, metaRing, m.Ring)
	b = appendField(b, metaRules, m.Rules)
	b = appendField(b, metaAdmin, m.Admin)
	if m.Leaving {
		b = append(b, metaLeaving, 0)
	}
	if m.Limits {
		b = append(b, metaLimits, 0)
	}
	return b
}

// appendField appends a text field, unless it is empty.
func appendField(b []byte, kind byte, text string) []byte {
	if text == "" {
		return b
	}
	b = append(b, kind, byte(min(len(text), MaxMetaText)))
	return append(b, text[:min(len(text), MaxMetaText)]...)
}

// parseMeta decodes a Meta of this version of the program or later. On an error it returns the
// fields before it.
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

// set stores a field. Unknown fields and texts beyond MaxMetaText are skipped.
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
	case metaAdmin:
		m.Admin = string(value)
	case metaLeaving:
		m.Leaving = true
	case metaLimits:
		m.Limits = true
	}
}
