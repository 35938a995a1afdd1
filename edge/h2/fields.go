package h2

import (
	"strconv"

	"golang.org/x/net/http2/hpack"
)

// field takes a field of the block being decoded.
func (h *head) field(f hpack.HeaderField) {
	// RFC 9113, 6.5.2, counts so for SETTINGS_MAX_HEADER_LIST_SIZE. Fields beyond the bound are
	// decoded for the table's sake, and forgotten.
	if h.size += len(f.Name) + len(f.Value) + 32; h.size > MaxHeaderList {
		h.tooLong = true
		return
	}
	switch {
	case !validName(f.Name) || !validValue(f.Value):
		h.malformed = true
	case f.Name[0] == ':':
		h.pseudo(f.Name, f.Value)
	default:
		h.regular = true
		h.plain(f.Name, f.Value)
	}
}

// pseudo takes a pseudo-field. RFC 9113, 8.3: each once, before all other fields, none in trailers
// and none unknown; :path and :method not empty. Any :scheme will do, as a proxy in between may
// have ended TLS.
func (h *head) pseudo(name, value string) {
	is := &h.method
	switch name {
	case ":method":
	case ":path":
		is = &h.path
	case ":scheme":
		h.malformed = h.malformed || h.scheme
		h.scheme = true
		// Given twice is given twice although the value is not used, but seen only of kept fields.
		is = new(string)
	case ":authority":
		is = new(string)
	default:
		h.malformed = true
	}
	h.malformed = h.malformed || h.trailer || h.regular || *is != "" ||
		value == "" && name != ":authority"
	*is = value
}

// plain takes a field, no pseudo-field. Of the others none changes an answer: descriptors and
// attributes travel in the message.
func (h *head) plain(name, value string) {
	switch name {
	case "content-type":
		h.contentType = value
	case "grpc-encoding":
		h.encoding = value
	case "content-length":
		n, err := strconv.ParseUint(value, 10, 62)
		// Different hosts are how requests are smuggled past proxies with another choice.
		h.malformed = h.malformed || err != nil || h.length >= 0 && h.length != int64(n) // 62 bits
		h.length = int64(n)                                                              // as above
	// RFC 9113, 8.2.2, allows this value, and gRPC's clients send it.
	case "te":
		h.malformed = h.malformed || value != "trailers"
	// Fields of HTTP/1 about the connection make a request malformed there.
	case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade":
		h.malformed = true
	}
}

// validName reports whether name may be the name of a field of HTTP/2: a token in lower case. RFC
// 9113, 8.2.1. Upper case is malformed, so no name can be spelt in two ways.
func validName(name string) bool {
	for i := range len(name) {
		if b := name[i]; b <= ' ' || b >= 0x7f || b >= 'A' && b <= 'Z' || b == ':' && i > 0 {
			return false
		}
	}
	return name != ""
}

// validValue reports whether value may be the value of a field. Neither line breaks nor NUL, by
// which a value could end early in an HTTP/1 reader. (RFC 9113, 8.2.1)
func validValue(value string) bool {
	for i := range len(value) {
		if b := value[i]; b < ' ' && b != '\t' || b == 0x7f {
			return false
		}
	}
	return true
}
