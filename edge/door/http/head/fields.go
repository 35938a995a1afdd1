package head

import "bytes"

// Field is a header that was kept: its name and value in the head's buffer.
type Field struct {
	Profile        Profile // 0: none
	at, colon, end int
}

// maxFields is the most headers of one request that are kept; further ones are looked at no more.
const maxFields = 128

// AuthPath begins the target of a request whose headers policies look at.
const AuthPath = "/v1/auth/"

// isAuthLine reports whether a request line asks about a whole request.
func isAuthLine(line []byte) bool {
	_, target, ok := bytes.Cut(line, []byte{' '})
	return ok && bytes.HasPrefix(target, []byte(AuthPath))
}

// wants reports whether the header called name is to be kept, and what it means.
func (h *Head) wants(name []byte) (p Profile, wanted bool) {
	if !h.authed {
		return noProfile, false
	}
	p = profileOf(name)
	return p, p != noProfile || h.names.Index(name) >= 0
}

// keepField keeps the header line just read, if a profile or a policy looks at it.
func (h *Head) keepField(line, name []byte) {
	p, wanted := h.wants(name)
	if !wanted || len(h.fields) == maxFields {
		return
	}
	at := h.kept
	h.keep(line)
	h.fields = append(h.fields, Field{p, at, at + len(name), at + len(line)})
}

// Name returns the name of f.
func (h *Head) Name(f Field) []byte { return h.buf[f.at:f.colon] }

// Value returns the value of f.
func (h *Head) Value(f Field) []byte { return trim(h.buf[f.colon+1 : f.end]) }

// trim returns text without the spaces and tabs at its ends. bytes.Trim takes several times as long.
func trim(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t') {
		text = text[1:]
	}
	for n := len(text); n > 0 && (text[n-1] == ' ' || text[n-1] == '\t'); n = len(text) {
		text = text[:n-1]
	}
	return text
}

// Profile is the meaning of a header of a proxy that asks about its client's request.
type Profile int

// The meanings.
const (
	noProfile Profile = iota
	OriginalMethod
	OriginalURI
	ForwardedMethod
	ForwardedURI
	ForwardedHost
	ForwardedScheme
	KnownCountry
	KnownASN
	KnownJA3
	KnownJA4
	KnownTLS
	KnownTier
)

// profileOf returns the meaning of the header called name, in any case.
func profileOf(name []byte) Profile {
	if len(name) < len("headgate-asn") || name[0]|0x20 != 'x' && name[0]|0x20 != 'h' {
		return noProfile
	}
	for _, p := range &profileNames {
		if len(p.name) == len(name) && bytes.EqualFold(name, p.name) {
			return p.profile
		}
	}
	return noProfile
}

var profileNames = [...]struct {
	name    []byte
	profile Profile
}{
	{[]byte("x-original-method"), OriginalMethod},
	{[]byte("x-original-uri"), OriginalURI},
	{[]byte("x-original-url"), OriginalURI},
	{[]byte("x-forwarded-method"), ForwardedMethod},
	{[]byte("x-forwarded-uri"), ForwardedURI},
	{[]byte("x-forwarded-host"), ForwardedHost},
	{[]byte("x-forwarded-proto"), ForwardedScheme},
	{[]byte("headgate-country"), KnownCountry},
	{[]byte("headgate-asn"), KnownASN},
	{[]byte("headgate-ja3"), KnownJA3},
	{[]byte("headgate-ja4"), KnownJA4},
	{[]byte("headgate-tls"), KnownTLS},
	{[]byte("headgate-tier"), KnownTier},
}
