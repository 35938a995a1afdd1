package wire

// Field is one field of a request.
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
)

// plain reads the word that rest begins with, if it is a field without a name of its own, given for the
// first time, and its value is not escaped: nearly every word is. It returns the words behind it, nil at the end of
// the line.
func (w *Whole) plain(rest []byte) (next []byte, ok bool) {
	name := 0
	for name < len(rest) && rest[name] != '=' {
		if name++; name > len("country") {
			return nil, false
		}
	}
	f, ok := plainField(rest[:name])
	if !ok || name == len(rest) || w.given>>f&1 == 1 || len(w.Pairs) == MaxFields {
		return nil, false
	}
	end := span(rest, name+1, inKey)
	if end-name-1 > MaxValue || end < len(rest) && rest[end] != ' ' {
		return nil, false
	}
	w.given |= 1 << f
	w.Pairs = append(w.Pairs, Pair{Field: f, Value: rest[name+1 : end]})
	if end == len(rest) {
		return nil, true
	}
	return rest[end+1:], true
}

// plainField returns the field without a name of its own that is called name.
func plainField(name []byte) (f Field, ok bool) {
	switch string(name) {
	case "method":
		return FieldMethod, true
	case "path":
		return FieldPath, true
	case "host":
		return FieldHost, true
	case "client":
		return FieldClient, true
	case "peer":
		return FieldPeer, true
	case "country":
		return FieldCountry, true
	case "asn":
		return FieldASN, true
	case "ja3":
		return FieldJA3, true
	case "ja4":
		return FieldJA4, true
	case "tls":
		return FieldTLS, true
	case "scheme":
		return FieldScheme, true
	case "tier":
		return FieldTier, true
	}
	return 0, false
}

// FieldOf returns the field of a request called name, such as method or header.accept, as a Pair
// without a value; and whether there is one. response.header.NAME is one of reports only.
func FieldOf(name []byte, report bool) (p Pair, ok bool) {
	if n, ok := valueOf(name, "header."); ok {
		return Pair{Field: FieldHeader, Name: n}, true
	}
	if n, ok := valueOf(name, "response.header."); ok && report {
		return Pair{Field: FieldResponse, Name: n}, true
	}
	f, ok := plainField(name)
	return Pair{Field: f}, ok
}

// field reads a field of the request.
func (w *Whole) field(name, value []byte) Code {
	p, ok := FieldOf(name, w.Report)
	switch {
	case !ok:
		return UnknownField
	case p.Field >= FieldHeader && !validHeader(p.Name), p.Field < FieldHeader && w.has(p.Field):
		return BadRequest
	}
	n, end := decodeKey(value, 0, span(value, 0, inKey))
	switch {
	case end < len(value):
		return BadRequest
	case n > MaxValue || len(w.Pairs) == MaxFields:
		return TooLong
	}
	p.Value = value[:n]
	w.given |= 1 << p.Field
	w.Pairs = append(w.Pairs, p)
	return NoError
}

// has reports whether the line has given f.
func (w *Whole) has(f Field) bool { return w.given>>f&1 == 1 }

// validHeader reports whether name can be the name of a header.
func validHeader(name []byte) bool { return len(name) > 0 && all(name, inToken) }
