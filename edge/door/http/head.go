package http

import (
	"bytes"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/request"
)

// headSize is the buffer of one arriving head, in bytes: 4 KiB of request line and the longest
// header that the door reads. A small body behind the head arrives into the same buffer.
const headSize = 8 << 10

// head parses the heads of a connection, one after another. It keeps the request line and the
// Host. Of each other header it keeps the meaning for framing, or nothing. A complete line is
// checked and dropped; a long line without meaning is dropped in parts. So 64 KiB of headers take
// no more memory than none.
//
//	buf: | line | host |  (free)  | arrived, not read yet |  (free)  |
//	     0      line   kept       next                    end        headSize
//
// For the requests of auth.go it keeps the headers that policies look at as well.
//
// It does no I/O and allocates nothing. Malformed heads are refused, as nginx refuses them: a
// guess at their meaning is how requests are smuggled past the proxy in front.
type head struct {
	buf      *[headSize]byte // nil while nothing has arrived
	line     int             // length of the request line
	kept     int             // end of the kept bytes
	next     int             // first byte not parsed
	end      int             // end of the bytes that arrived
	searched int             // buf[next:searched] has no line feed
	size     int             // bytes of this head before next, dropped lines included
	dropping bool            // the line at next has no meaning, and its beginning is gone
	hostEnd  int             // end of the Host line, which begins at hostAt
	hostAt   int
	source   func() *request.Names // nil: no whole requests
	names    *request.Names        // headers that policies look at, as of the request line
	authed   bool                  // the request line asks for an answer of auth.go, which needs headers
	fields   []field               // those that were kept
	framing
}

// framing is the result of the headers that say where a request and its connection end.
type framing struct {
	// length is the bytes of body, 0 without one, or chunkedLength.
	length int64
	http11 bool
	// hosted: a Host was given. HTTP/1.1 requires exactly one.
	hosted bool
	// measured: a Content-Length was given, even one of 0. A second one is refused.
	measured  bool
	close     bool // the connection is to end after the answer
	keepAlive bool // the connection is to stay open
	// expect: the client waits for 100 Continue before it sends the body. HTTP/1.1 only, and false
	// once that was sent.
	expect bool
	json   bool // the body's type is application/json
}

// begin prepares for the next head. Bytes that have arrived stay.
func (h *head) begin() {
	*h = head{buf: h.buf, next: h.next, end: h.end, searched: h.next, source: h.source, fields: h.fields[:0]}
}

// pending returns the bytes that have arrived and were not read. They are valid until the next
// change of h.
func (h *head) pending() []byte {
	if h.buf == nil {
		return nil
	}
	return h.buf[h.next:h.end]
}

// room returns the free bytes behind those that arrived. There must be a buffer.
func (h *head) room() []byte { return h.buf[h.end:] }

// arrived notes that n bytes were read into room.
func (h *head) arrived(n int) { h.end += n }

// drain moves pending bytes to b and returns their number.
func (h *head) drain(b []byte) int {
	n := copy(b, h.pending())
	h.next += n
	return n
}

// unread puts b back before the pending bytes. b must come from this buffer, and the head must
// have been written.
func (h *head) unread(b []byte) {
	h.end = len(b) + copy(h.buf[len(b):], h.pending())
	h.next = 0
	copy(h.buf[:], b)
}

// pack moves the pending bytes down behind the kept ones. It reports whether the whole body will
// fit behind them.
func (h *head) pack() bool {
	if h.length > int64(headSize-h.kept) {
		return false
	}
	h.end = h.kept + copy(h.buf[h.kept:], h.pending())
	h.next = h.kept
	return true
}

// advance parses the pending bytes. It reports whether the head is complete, or the fault in it.
func (h *head) advance() (complete bool, p *api.Problem) {
	for p == nil && !complete {
		i := bytes.IndexByte(h.buf[h.searched:h.end], '\n')
		if i < 0 {
			h.searched = h.end
			return false, h.makeRoom()
		}
		end := h.searched + i
		line := bytes.TrimSuffix(h.buf[h.next:end], []byte{'\r'})
		h.size += end + 1 - h.next
		h.next, h.searched = end+1, end+1
		if h.size > maxHTTPLine+maxHTTPHeaders {
			return false, headTooLarge()
		}
		complete, p = h.take(line)
	}
	return complete, p
}

// take parses one line without its line end.
func (h *head) take(line []byte) (complete bool, p *api.Problem) {
	switch {
	case h.dropping:
		h.dropping = false
		if h.authed {
			return false, nil // see header
		}
		return false, checkValue(line)
	case h.line == 0: // empty ones before it are ignored, by RFC 9112, 2.2
		h.http11 = bytes.HasSuffix(line, []byte(" HTTP/1.1"))
		h.keep(line)
		h.line = len(line)
		if h.source != nil && isAuthLine(line) {
			h.authed, h.names = true, h.source()
		}
		return false, nil
	case len(line) > 0:
		return false, h.header(line)
	case h.hosted || !h.http11:
		return true, nil
	}
	return false, badHead("has no Host")
}

// keep appends line, the line just read, to the kept bytes.
func (h *head) keep(line []byte) { h.kept += copy(h.buf[h.kept:h.next], line) }

// makeRoom makes room for the rest of a line that has arrived in part. A full buffer is 414 within
// the request line and 431 within a header that matters; any other header begins to be dropped.
func (h *head) makeRoom() *api.Problem {
	if h.size+h.end-h.next > maxHTTPLine+maxHTTPHeaders {
		return headTooLarge()
	}
	h.end = h.kept + copy(h.buf[h.kept:], h.pending())
	h.next, h.searched = h.kept, h.end
	switch {
	case h.dropping:
		return h.drop(h.pending())
	case h.end < headSize:
		return nil
	case h.line == 0:
		return longTarget()
	}
	name, value, found := bytes.Cut(h.pending(), []byte{':'})
	if !found || meaningOf(name) != nothing || h.wants(name) {
		return headTooLarge()
	}
	if !isToken(name) {
		return badHead("has a malformed header name")
	}
	h.dropping = true
	return h.drop(value)
}

// drop checks and discards part, the arrived end of a line without meaning. A trailing CR is kept,
// as it may belong to the line end.
func (h *head) drop(part []byte) *api.Problem {
	rest := bytes.TrimSuffix(part, []byte{'\r'})
	h.size += h.end - h.next - (len(part) - len(rest))
	if len(rest) < len(part) {
		h.buf[h.kept] = '\r'
	}
	p := checkValue(rest)
	if h.authed {
		p = nil // see header
	}
	h.next, h.end = h.kept, h.kept+len(part)-len(rest)
	h.searched = h.end
	return p
}

// header parses one header line.
func (h *head) header(line []byte) *api.Problem {
	name, value, found := bytes.Cut(line, []byte{':'})
	if !found || !isToken(name) { // a blank around a name, or a line that goes on, is no token either
		return badHead("has a malformed header name")
	}
	if p := checkValue(value); p != nil {
		if h.authed && meaningOf(name) == nothing {
			return nil // a visitor's header, which its proxy lets through: it is none here
		}
		return p
	}
	value = bytes.Trim(value, " \t")
	switch meaningOf(name) {
	case host:
		return h.host(line)
	case contentLength:
		return h.contentLength(value)
	case transferEncoding:
		return h.transferEncoding(value)
	case connection:
		h.connection(value)
	case contentType:
		h.json = isJSON(value)
	case expect:
		h.expect = h.http11 && bytes.EqualFold(value, []byte("100-continue"))
	case nothing:
		h.keepField(line, name)
	}
	return nil
}

// host keeps the Host line. A second one is a fault.
func (h *head) host(line []byte) *api.Problem {
	if h.hosted {
		return badHead("has two Hosts")
	}
	h.hosted, h.hostAt = true, h.kept
	h.keep(line)
	h.hostEnd = h.kept
	return nil
}

// contentLength and transferEncoding make sure that a body has one end, whoever reads it: RFC
// 9112, sections 6.1 and 6.3.
func (h *head) contentLength(value []byte) *api.Problem {
	length, ok := parseLength(value)
	if h.measured || h.length == chunkedLength || !ok {
		return badHead("has an ambiguous Content-Length")
	}
	h.measured, h.length = true, length
	return nil
}

// transferEncoding accepts chunked alone, in HTTP/1.1 and without a Content-Length.
func (h *head) transferEncoding(value []byte) *api.Problem {
	if h.measured || h.length == chunkedLength || !h.http11 || !bytes.EqualFold(value, []byte("chunked")) {
		return badHead("has an ambiguous Transfer-Encoding")
	}
	h.length = chunkedLength
	return nil
}

// connection parses a comma-separated list of words, in any case. Unknown words are ignored.
func (h *head) connection(value []byte) {
	for len(value) > 0 {
		var word []byte
		word, value, _ = bytes.Cut(value, []byte{','})
		word = bytes.Trim(word, " \t")
		h.close = h.close || bytes.EqualFold(word, []byte("close"))
		h.keepAlive = h.keepAlive || bytes.EqualFold(word, []byte("keep-alive"))
	}
}

const (
	// The ends of a written head, by the fate of the connection.
	endPlain     = "\r\n\r\n"
	endClose     = "\r\nConnection: close\r\n\r\n"
	endKeepAlive = "\r\nConnection: keep-alive\r\n\r\n"
	endMost      = len(endKeepAlive) + len("\r\n")
)

// write writes the head for the HTTP library to b and returns its size. b must have
// headSize+endMost bytes. The library sees the request line, the Host and at most one Connection
// header, and never a body.
func (h *head) write(b []byte) int {
	n := copy(b, h.buf[:h.line])
	if h.hosted {
		n += copy(b[n:], "\r\n")
		n += copy(b[n:], h.buf[h.hostAt:h.hostEnd])
	}
	switch {
	case h.close:
		return n + copy(b[n:], endClose)
	case !h.http11 && h.keepAlive:
		return n + copy(b[n:], endKeepAlive)
	}
	return n + copy(b[n:], endPlain)
}
