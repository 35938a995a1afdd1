package head

import (
	"bytes"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/request"
)

// Framing is the result of the headers on the end of a request and of the connection.
type Framing struct {
	// Length is the bytes of body, 0 without a body, or Chunked.
	Length int64
	Marks  Mark
	Unfit  request.Unfit // a part of a whole request was not kept
}

// Mark is a set of properties of a head.
type Mark uint16

// The properties.
const (
	HTTP11    Mark = 1 << iota // the version is exactly HTTP/1.1
	Hosted                     // a Host was given. HTTP/1.1 requires exactly one
	Measured                   // a Content-Length was given, even of 0. A second one is refused
	Close                      // the connection is to end after the answer
	KeepAlive                  // the connection is to stay open
	// Expect: the client waits for 100 Continue before it sends the body. HTTP/1.1 only; the door
	// clears the mark when it has sent that.
	Expect
	JSON     // the type of the body is application/json
	Waits    // Headgate-Accept: delay
	Deceives // Headgate-Accept: deceive
	Page     // Sec-Fetch-Site: a page of another site had a browser send the request
	Odd      // of a whole request: the connection is to end, as a line was no header
	Broken   // of a whole request: the head was not read to its end
)

// Is reports whether the head has a property in m.
func (f *Framing) Is(m Mark) bool { return f.Marks&m != 0 }

// Set gives the head the properties in m, or takes properties away.
func (f *Framing) Set(m Mark, on bool) {
	if f.Marks &^= m; on {
		f.Marks |= m
	}
}

// header parses a header line.
func (h *Head) header(line []byte) *api.Problem {
	name, value, found := bytes.Cut(line, []byte{':'})
	// a blank around a name, or a line with a continuation, is no token either
	if !found || !IsToken(name) {
		return h.noHeader()
	}
	kept := false
	if h.authed {
		line, kept = h.keepField(line, name)
		name, value = line[:len(name)], line[len(name)+1:]
	} else if p := CheckValue(value); p != nil {
		return p
	}
	value = trim(value)
	switch meaningOf(name) {
	case host:
		return h.takeHost(line, kept)
	case contentLength:
		return h.contentLength(value)
	case transferEncoding:
		return h.transferEncoding(value)
	case connection:
		h.connection(value)
	case contentType:
		h.Set(JSON, isJSON(value))
	case expect:
		h.Set(Expect, h.Is(HTTP11) && bytes.EqualFold(value, []byte("100-continue")))
	case accept:
		h.accept(value)
	case fetchSite:
		h.Set(Page, h.Is(Page) || bytes.EqualFold(value, []byte("cross-site")) ||
			bytes.EqualFold(value, []byte("same-site")))
	case nothing:
	}
	return nil
}

// noHeader answers a line without a header. Of a whole request the line is passed over, as no
// policy can name such a line; but other readers may differ about the end of the head, so the
// connection ends.
func (h *Head) noHeader() *api.Problem {
	if !h.authed {
		return Malformed("has a malformed header name")
	}
	h.Set(Odd, true)
	return nil
}

// takeHost keeps the Host line, unless kept as a field already. A second is a fault.
func (h *Head) takeHost(line []byte, kept bool) *api.Problem {
	if h.Is(Hosted) {
		return Malformed("has two Hosts")
	}
	h.Set(Hosted, true)
	if kept {
		h.hostAt, h.hostEnd = h.kept-len(line), h.kept
		return nil
	}
	if h.kept+len(line) > Size-reserved {
		h.dropExtra()
	}
	if h.hostAt = h.kept; h.authed && h.kept+len(line) > Size-reserved {
		h.unfit(noProfile)
		return nil
	}
	h.keep(line)
	h.hostEnd = h.kept
	return nil
}

// contentLength and transferEncoding make sure of a single end of a body, whoever reads: RFC 9112,
// sections 6.1 and 6.3.
func (h *Head) contentLength(value []byte) *api.Problem {
	length, ok := parseLength(value)
	if h.Is(Measured) || h.Length == Chunked || !ok {
		return Malformed("has an ambiguous Content-Length")
	}
	h.Set(Measured, true)
	h.Length = length
	return nil
}

// transferEncoding accepts chunked alone, in HTTP/1.1 and without a Content-Length.
func (h *Head) transferEncoding(value []byte) *api.Problem {
	if h.Is(Measured) || h.Length == Chunked || !h.Is(HTTP11) ||
		!bytes.EqualFold(value, []byte("chunked")) {
		return Malformed("has an ambiguous Transfer-Encoding")
	}
	h.Length = Chunked
	return nil
}

// connection parses a comma-separated list of words, in any case. Unknown words are ignored.
func (h *Head) connection(value []byte) {
	for len(value) > 0 {
		var word []byte
		word, value, _ = bytes.Cut(value, []byte{','})
		word = trim(word)
		h.Set(Close, h.Is(Close) || bytes.EqualFold(word, []byte("close")))
		h.Set(KeepAlive, h.Is(KeepAlive) || bytes.EqualFold(word, []byte("keep-alive")))
	}
}

// accept notes the kinds of answers the proxy understands.
func (h *Head) accept(value []byte) {
	for word := range bytes.SplitSeq(value, []byte{','}) {
		word = bytes.Trim(word, " \t")
		h.Set(Waits, h.Is(Waits) || bytes.EqualFold(word, []byte("delay")))
		h.Set(Deceives, h.Is(Deceives) || bytes.EqualFold(word, []byte("deceive")))
	}
}
