package condition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headgate-dev/headgate/edge/request"
)

// FieldKind is a field of a request, or a family of fields.
type FieldKind uint8

// The fields. Header, Query, Cookie and Response have a name beside. Kinds above Header have one
// value at most; Header and later kinds may have several, and Present is for these only.
const (
	Method FieldKind = iota + 1
	Host
	Path
	Client
	Peer
	Country
	ASN
	JA3
	JA4
	TLS
	Scheme
	Tier
	Status
	Header
	Query
	Cookie
	Response
)

var fieldNames = map[string]FieldKind{
	"method": Method, "host": Host, "path": Path, "client": Client, "peer": Peer,
	"country": Country, "asn": ASN,
	"ja3": JA3, "ja4": JA4, "tls": TLS, "scheme": Scheme, "tier": Tier, "status": Status,
}

var fieldFamilies = map[string]FieldKind{
	"header.": Header, "query.": Query, "cookie.": Cookie, "response.header.": Response,
}

// Field is a field of a request. Name is the name of a header, in lower case, parameter or cookie.
// A small comparable value, so fields can be keys of maps and compared by ==.
type Field struct {
	Kind FieldKind
	Name string
}

// MaxFieldName is the longest name of a header, parameter or cookie, in bytes. No header in use is
// half as long.
const MaxFieldName = 128

// ParseField reads the name of a field: host, header.x-api-key, query.page, response.header.etag.
func ParseField(text string) (Field, error) {
	if kind, ok := fieldNames[text]; ok {
		return Field{Kind: kind}, nil
	}
	// In any order: no family's name is the beginning of another's.
	for family, kind := range fieldFamilies {
		name, ok := strings.CutPrefix(text, family)
		if !ok {
			continue
		}
		return namedField(kind, name)
	}
	return Field{}, fmt.Errorf("unknown field %q", clip(text))
}

// Header names are compared in lower case, as HTTP/2 sends them (RFC 9113, 8.2.1); parameters and
// cookies unchanged.
func namedField(kind FieldKind, name string) (Field, error) {
	if name == "" || len(name) > MaxFieldName {
		return Field{}, fmt.Errorf("the name of a header, parameter or cookie has 1 to %d bytes",
			MaxFieldName)
	}
	if kind == Header || kind == Response {
		// The separators of RFC 9110, 5.6.2: such a name could never be sent.
		if strings.ContainsFunc(name,
			func(r rune) bool {
				return r <= ' ' || r >= 0x7f ||
					strings.ContainsRune("()<>@,;:\\\"/[]?={}", r)
			}) {
			return Field{}, fmt.Errorf("%q is not the name of a header", clip(name))
		}
		name = strings.ToLower(name)
	}
	return Field{Kind: kind, Name: name}, nil
}

// FieldNames returns the names of the fields with a single name each, sorted.
func FieldNames() []string {
	names := make([]string, 0, len(fieldNames))
	for name := range fieldNames {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// String returns the field as in the configuration.
func (f Field) String() string {
	for family, kind := range fieldFamilies {
		if kind == f.Kind {
			return family + f.Name
		}
	}
	for name, kind := range fieldNames {
		if kind == f.Kind {
			return name
		}
	}
	return "none"
}

// IsNumber reports whether the field is a number.
func (f Field) IsNumber() bool { return f.Kind == ASN || f.Kind == Status }

// IsAddress reports whether the field is an address.
func (f Field) IsAddress() bool { return f.Kind == Client || f.Kind == Peer }

// OfResponse reports whether the field is known only after the response.
func (f Field) OfResponse() bool { return f.Kind == Status || f.Kind == Response }

// HeaderName returns the name of the header the field needs, or "". All cookies come in a single
// header.
func (f Field) HeaderName() string {
	switch f.Kind {
	case Header, Response:
		return f.Name
	case Cookie:
		return "cookie"
	}
	return ""
}

// Lookup returns the value of f in r coming at or after place at, and the place behind; next is -1
// where there is none. All values of a field are read by
//
//	for v, next := f.Lookup(r, n, 0); next >= 0; v, next = f.Lookup(r, n, next) { … }
//
// number is that of the header in the engine's names. The value points into the request. Addresses
// and numbers have no text here.
// It is a loop of the caller's and not a callback, which would make the values escape to the heap.
func (f Field) Lookup(r *request.Request, number, at int) (value []byte, next int) {
	switch f.Kind {
	case Header:
		return r.Header(number, at)
	case Response:
		return r.ResponseHeader(number, at)
	case Query:
		return r.Param(f.Name, at)
	case Cookie:
		return r.Cookie(f.Name, at)
	}
	if at > 0 {
		return nil, -1
	}
	// An empty path is a path: OPTIONS * and requests by CONNECT have none.
	if f.Kind == Path { // there always is one
		return r.Path, 1
	}
	if value = f.plain(r); len(value) == 0 {
		return nil, -1
	}
	return value, 1
}

// plain returns the text of a field with a value, empty where it is absent. An empty text counts as
// absent: proxies send empty fields where they know nothing.
func (f Field) plain(r *request.Request) []byte {
	switch f.Kind {
	case Method:
		return r.Method
	case Host:
		return r.Host
	case Country:
		return r.Country
	case JA3:
		return r.JA3
	case JA4:
		return r.JA4
	case TLS:
		return r.TLS
	case Scheme:
		return r.Scheme
	case Tier:
		return r.Tier
	}
	return nil
}

// Number returns the value of a number; ok is false if absent. 0 is no network and no status, and
// stands for nothing known.
func (f Field) Number(r *request.Request) (n int64, ok bool) {
	if f.Kind == ASN {
		return int64(r.ASN), r.ASN != 0
	}
	return int64(r.Status), r.Status != 0
}

// clip cuts a text from a configuration for a message. A configuration is trusted, but messages go
// to terminals and logs.
func clip(text string) string {
	const most = 64
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}
