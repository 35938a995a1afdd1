package http

import (
	"bytes"

	"github.com/headgate-dev/headgate/edge/request"
)

// field is a header that was kept: its name and value in the head's buffer.
type field struct{ at, colon, end int }

// maxFields is the most headers of one request that are kept; further ones are looked at no more.
const maxFields = 128

// noNames is for a door whose policies look at no header: the profiles' own are still kept.
var noNames request.Names

// names returns the headers that the policies in force look at. The door has a room.
func (h *Door) names() *request.Names {
	if e := h.room.Engine(); e != nil {
		return e.Names()
	}
	return &noNames
}

// isAuthLine reports whether a request line asks for an answer of auth.go.
func isAuthLine(line []byte) bool {
	_, target, ok := bytes.Cut(line, []byte{' '})
	return ok && bytes.HasPrefix(target, []byte(authPath))
}

// wants reports whether the header called name is to be kept.
func (h *head) wants(name []byte) bool {
	return h.authed && (profileOf(name) != noProfile || h.names.Index(name) >= 0)
}

// keepField keeps the header line just read, if a profile or a policy looks at it.
func (h *head) keepField(line, name []byte) {
	if !h.wants(name) || len(h.fields) == maxFields {
		return
	}
	at := h.kept
	h.keep(line)
	h.fields = append(h.fields, field{at, at + len(name), at + len(line)})
}

// fieldName returns the name of f.
func (h *head) fieldName(f field) []byte { return h.buf[f.at:f.colon] }

// fieldValue returns the value of f.
func (h *head) fieldValue(f field) []byte { return bytes.Trim(h.buf[f.colon+1:f.end], " \t") }

// profile is the meaning of a header for auth.go.
type profile int

const (
	noProfile profile = iota
	originalMethod
	originalURI
	forwardedMethod
	forwardedURI
	forwardedHost
	forwardedScheme
	knownCountry
	knownASN
	knownJA3
	knownJA4
	knownTLS
	knownTier
)

// profileOf returns the meaning of the header called name, in any case.
func profileOf(name []byte) profile {
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
	profile profile
}{
	{[]byte("x-original-method"), originalMethod}, {[]byte("x-original-uri"), originalURI}, {[]byte("x-original-url"), originalURI},
	{[]byte("x-forwarded-method"), forwardedMethod}, {[]byte("x-forwarded-uri"), forwardedURI},
	{[]byte("x-forwarded-host"), forwardedHost}, {[]byte("x-forwarded-proto"), forwardedScheme},
	{[]byte("headgate-country"), knownCountry}, {[]byte("headgate-asn"), knownASN}, {[]byte("headgate-ja3"), knownJA3},
	{[]byte("headgate-ja4"), knownJA4}, {[]byte("headgate-tls"), knownTLS}, {[]byte("headgate-tier"), knownTier},
}
