package request

import "bytes"

// maxHost is the longest host with its port, in bytes.
const maxHost = 253 + len(":65535")

// SetHost sets Host: in lower case, without port and final dot. The empty host is allowed. It
// reports false, and sets nothing, where host cannot be one.
func (r *Request) SetHost(host []byte) bool {
	seen := uint8(0)
	for _, c := range host {
		seen |= hostClass[c]
	}
	if seen == 0 && len(host) <= maxHost {
		r.Host = bytes.TrimSuffix(host, []byte{'.'})
		return true
	}
	return r.setOddHost(host)
}

// The bytes of a host of which more must be looked at.
const (
	odd uint8 = 1 << iota // in upper case, around a port, or in no host
	bad                   // in no host
)

// hostClass gives the class of each byte of a host.
// One look at each byte says whether a host needs more than being taken as it is, which nearly none does.
var hostClass = func() (class [256]uint8) {
	for c := range class {
		switch c := byte(c); {
		case c <= ' ' || c == 0x7f || c == '/' || c == '?' || c == '#' || c == '@':
			class[c] = odd | bad
		case c >= 'A' && c <= 'Z', c == ':', c == '[', c == ']':
			class[c] = odd
		}
	}
	return class
}()

// setOddHost is SetHost for a host with more than lower-case letters, digits and the like.
// EXAMPLE.com.:443 is example.com. Upper case, a final dot and a port are spellings of one site, and a limit must
// hold for all of them.
func (r *Request) setOddHost(host []byte) bool {
	name, ok := cutPort(host)
	if !ok || len(host) > maxHost {
		return false
	}
	upper := false
	for _, c := range name {
		if hostClass[c]&bad != 0 {
			return false
		}
		upper = upper || c >= 'A' && c <= 'Z'
	}
	if upper {
		r.host = appendLower(r.host[:0], name)
		name = r.host
	}
	r.Host = bytes.TrimSuffix(name, []byte{'.'})
	return true
}

// cutPort returns host without its port: an IPv6 address keeps its brackets.
func cutPort(host []byte) (name []byte, ok bool) {
	end := len(host)
	if len(host) > 0 && host[0] == '[' {
		if end = bytes.IndexByte(host, ']') + 1; end == 0 {
			return nil, false
		}
	} else if colon := bytes.IndexByte(host, ':'); colon >= 0 {
		end = colon
	}
	if end == len(host) {
		return host, true
	}
	port := host[end+1:]
	_, number := decimal(port, 1<<16-1)
	return host[:end], host[end] == ':' && (number || len(port) == 0)
}
