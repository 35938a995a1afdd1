package head

import (
	"bytes"
	"slices"

	"github.com/headgate-dev/headgate/edge/request"
)

// Field is a kept header: name and value in the head's buffer. The zero Field is none. Places are
// below Size: a head is emptied for each request.
type Field struct{ at, colon, end uint16 }

// reserved is the room of the buffer, in bytes, left by kept headers to framing headers.
const reserved = 512

// AuthPath begins the target of a request whose headers policies look at.
const AuthPath = "/v1/auth/"

// isAuthLine reports whether a request line asks about a whole request.
func isAuthLine(line []byte) bool {
	_, target, ok := bytes.Cut(line, []byte{' '})
	return ok && bytes.HasPrefix(target, []byte(AuthPath))
}

// wants reports whether the header called name is to be kept: for its profile p, as the first of
// the profile, or for policies. A proxy writes its headers before the visitor's, so the first of a
// profile is the proxy's.
func (h *Head) wants(name []byte) (p Profile, named bool) {
	if p = profileOf(name); h.profiles[p].end > 0 {
		p = noProfile
	}
	return p, h.names.Index(name) >= 0
}

// keepField keeps the header line just read, if a profile or a policy needs the line. Without room,
// the request is unfit. is lies where the line was kept, perhaps over the line as read.
func (h *Head) keepField(line, name []byte) (is []byte, kept bool) {
	p, named := h.wants(name)
	if named && len(h.fields)-h.extra == request.MaxHeaders {
		h.unfit(noProfile)
		named = false
	}
	if h.All && !named && p == noProfile && h.extra < request.MaxOthers &&
		h.kept+len(line) <= Size/2 && meaningOf(name) != host {
		h.extra++
		named = true
	}
	if (named || p != noProfile) && h.kept+len(line) > Size-reserved {
		h.dropExtra()
	}
	switch {
	case p == noProfile && !named:
		return line, false
	case h.kept+len(line) > Size-reserved:
		h.unfit(p)
		return line, false
	}
	at := h.kept
	h.keep(line)
	f := Field{uint16(at), uint16(at + len(name)), uint16(at + len(line))} // below Size
	if p != noProfile {
		h.profiles[p] = f
	}
	if named {
		h.fields = append(h.fields, f)
	}
	return h.buf[at:h.kept], true
}

// dropExtra takes the headers out that no policy looks at: a header has no room that one does.
func (h *Head) dropExtra() {
	for i := len(h.fields) - 1; i >= 0 && h.extra > 0; i-- {
		f := h.fields[i]
		if h.names.Index(h.Name(f)) >= 0 {
			continue
		}
		n := f.end - f.at
		h.kept = int(f.at) + copy(h.buf[f.at:], h.buf[f.end:h.kept])
		h.fields = slices.Delete(h.fields, i, i+1)
		for k := range h.fields[i:] {
			h.fields[i+k].shift(f.at, n)
		}
		for p := range h.profiles {
			h.profiles[p].shift(f.at, n)
		}
		if h.hostAt > int(f.at) {
			h.hostAt, h.hostEnd = h.hostAt-int(n), h.hostEnd-int(n)
		}
		h.extra--
	}
	h.All = false
}

// shift moves f down by n if f lies above at.
func (f *Field) shift(at, n uint16) {
	if f.at > at {
		f.at, f.colon, f.end = f.at-n, f.colon-n, f.end-n
	}
}

// unfit notes that a header of profile p, or of policies, was not kept.
func (h *Head) unfit(p Profile) {
	if h.Unfit != 0 {
		return
	}
	if h.Unfit = request.UnfitHeaders; p == OriginalURI || p == ForwardedURI {
		h.Unfit = request.UnfitTarget
	}
}

// Profile returns the value of the first header of profile p; given: there is such a header.
func (h *Head) Profile(p Profile) (value []byte, given bool) {
	f := h.profiles[p]
	if f.end == 0 {
		return nil, false
	}
	return h.Value(f), true
}

// Name returns the name of f.
func (h *Head) Name(f Field) []byte { return h.buf[f.at:f.colon] }

// Value returns the value of f.
func (h *Head) Value(f Field) []byte { return trim(h.buf[f.colon+1 : f.end]) }

// trim returns text without the spaces and tabs at both ends. bytes.Trim takes several times as
// long.
func trim(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t') {
		text = text[1:]
	}
	for n := len(text); n > 0 && (text[n-1] == ' ' || text[n-1] == '\t'); n = len(text) {
		text = text[:n-1]
	}
	return text
}

// Profile is the meaning of a header of a proxy asking about a client's request.
type Profile int

// The meanings.
const (
	noProfile Profile = iota
	OriginalMethod
	OriginalURI
	ForwardedMethod
	ForwardedURI
	ForwardedHost
	Known // request.Country; the other fields a proxy knows follow in their order

	profiles = Known + Profile(request.Tier) + 1
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
	{[]byte("x-forwarded-proto"), Known + Profile(request.Scheme)},
	{[]byte("headgate-country"), Known + Profile(request.Country)},
	{[]byte("headgate-asn"), Known + Profile(request.ASN)},
	{[]byte("headgate-ja3"), Known + Profile(request.JA3)},
	{[]byte("headgate-ja4"), Known + Profile(request.JA4)},
	{[]byte("headgate-tls"), Known + Profile(request.TLS)},
	{[]byte("headgate-tier"), Known + Profile(request.Tier)},
}
