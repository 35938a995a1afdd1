package wire

import (
	"encoding/binary"
	"math/bits"
)

// Field is a field of a request.
type Field uint8

// The fields. FieldHeader and FieldResponse carry the name of the header.
const (
	FieldMethod Field = iota
	FieldPath
	FieldHost
	FieldClient
	FieldPeer
	FieldCountry
	FieldASN
	FieldJA3
	FieldJA4
	FieldTLS
	FieldScheme
	FieldTier
	FieldHeader
	FieldResponse
	FieldCut // that the sender left out a part of the request, whose name is the value
)

// plain reads the word that rest begins with, if it is a field without a name of its own, given for
// the first time, and its value is not escaped: nearly every word is. It returns the words behind
// it, nil at the end of the line.
func (w *Whole) plain(rest []byte) (next []byte, ok bool) {
	word, value := nameOf(rest)
	f := w.next
	if plainNames[f] != word {
		for f = FieldMethod; f < FieldHeader && plainNames[f] != word; {
			f++
		}
	}
	if f == FieldHeader || w.given>>f&1 == 1 {
		return nil, false
	}
	end := keySpan(rest, value)
	if end < len(rest) && rest[end] != ' ' {
		return nil, false
	}
	w.given |= 1 << f
	w.next = min(f+1, FieldTier)
	if len(w.Pairs) == cap(w.Pairs) {
		w.Pairs = append(w.Pairs, Pair{})[:len(w.Pairs)]
	}
	w.Pairs = w.Pairs[:len(w.Pairs)+1]
	p := &w.Pairs[len(w.Pairs)-1]
	p.Field, p.Name, p.Value = f, nil, rest[value:end]
	if end == len(rest) {
		return nil, true
	}
	return rest[end+1:], true
}

// maxPlain is the longest name in plainNames with its "=", in bytes.
const maxPlain = 8

// plainNames are the names of the fields without a name of their own, each with "=" in a word:
// comparing all of them takes less time than finding where the name ends.
var plainNames = [FieldHeader]uint64{
	FieldMethod: packName("method="), FieldPath: packName("path="), FieldHost: packName("host="),
	FieldClient: packName("client="), FieldPeer: packName("peer="),
	FieldCountry: packName("country="),
	FieldASN:     packName("asn="), FieldJA3: packName("ja3="), FieldJA4: packName("ja4="),
	FieldTLS: packName("tls="), FieldScheme: packName("scheme="), FieldTier: packName("tier="),
}

// nameOf returns the name that rest begins with and its "=" in a word, and where the value begins.
// What it returns where there is no name of up to maxPlain bytes is none of plainNames.
func nameOf(rest []byte) (word uint64, value int) {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	if len(rest) < maxPlain {
		word = packName(rest)
	} else {
		word = binary.LittleEndian.Uint64(rest)
	}
	equal := word ^ ones*'='
	value = bits.TrailingZeros64((equal-ones)&^equal&highs)/8 + 1 // of the first "="
	return word & (1<<(8*value) - 1), value
}

// packName returns up to maxPlain bytes in a word.
func packName[T string | []byte](name T) (word uint64) {
	for i := range len(name) {
		word |= uint64(name[i]) << (8 * i)
	}
	return word
}

// plainField returns the field without a name of its own called name.
func plainField(name []byte) (f Field, ok bool) {
	if len(name) >= maxPlain {
		return 0, false
	}
	word := packName(name) | '='<<(8*len(name))
	for i, is := range plainNames {
		if is == word {
			return Field(i), true // below FieldHeader
		}
	}
	return 0, false
}

// FieldOf returns the field of a request called name, such as method or header.accept, as a Pair
// without a value; and whether there is any. response.header.NAME is of reports only.
func FieldOf(name []byte, report bool) (p Pair, ok bool) {
	if n, ok := valueOf(name, "header."); ok {
		return Pair{Field: FieldHeader, Name: n}, true
	}
	if n, ok := valueOf(name, "response.header."); ok && report {
		return Pair{Field: FieldResponse, Name: n}, true
	}
	if string(name) == "cut" {
		return Pair{Field: FieldCut}, true
	}
	f, ok := plainField(name)
	return Pair{Field: f}, ok
}

// field reads a field of the request.
func (w *Whole) field(name, value []byte, quoted bool) Code {
	p, ok := FieldOf(name, w.Report)
	switch {
	case !ok:
		return UnknownField
	case p.Field < FieldHeader && w.has(p.Field), len(p.Name) == 0 && p.Field.named():
		return BadRequest
	}
	if p.Value = value; !quoted {
		n, end := decodeKey(value, 0, span(value, 0, inKey))
		if end < len(value) {
			return BadRequest
		}
		p.Value = value[:n]
	}
	w.given |= 1 << p.Field
	w.Pairs = append(w.Pairs, p)
	return NoError
}

// named reports whether a field of that kind has a name of its own. The name is the visitor's, so
// it may be any bytes a word can have.
func (f Field) named() bool { return f == FieldHeader || f == FieldResponse }

// has reports whether the line has given f.
func (w *Whole) has(f Field) bool { return w.given>>f&1 == 1 }
