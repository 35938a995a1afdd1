package request

import "bytes"

// maxHost is the longest host, in bytes; a longer text is none.
const maxHost = 255

// SetHost sets Host from a Host of any bytes: the text behind the last "@" and before a ":" outside
// brackets, in lower case, without a final dot. A host above 255 bytes is none. If the target has
// named the host, SetHost changes nothing.
//
// EXAMPLE.com.:443 is example.com: a limit must hold for all spellings of a site. A host no server
// takes has a reading too: see SetTarget.
func (r *Request) SetHost(host []byte) {
	if !r.absolute {
		r.setHost(host)
	}
}

// setHost is SetHost whatever the target has named.
func (r *Request) setHost(host []byte) {
	for _, c := range host {
		if oddInHost[c] {
			host = r.plainHost(host)
			break
		}
	}
	if last := len(host) - 1; last >= 0 && host[last] == '.' {
		host = host[:last]
	}
	if r.Host = host; len(host) > maxHost {
		r.Host = nil
	}
}

// oddInHost are the bytes with which a host is not taken as it is. Nearly no host has any.
var oddInHost = func() (odd [256]bool) {
	for c := range odd {
		odd[c] = 'A' <= c && c <= 'Z' || c == ':' || c == '@'
	}
	return odd
}()

// plainHost returns host without user and port, in lower case.
func (r *Request) plainHost(host []byte) []byte {
	host = host[bytes.LastIndexByte(host, '@')+1:]
	bracketed := false // an IPv6 address has colons of its own
	for i, c := range host {
		if c == ':' && !bracketed {
			host = host[:i]
			break
		}
		bracketed = c == '[' || bracketed && c != ']'
	}
	r.host = appendLower(r.host[:0], host)
	return r.host
}
