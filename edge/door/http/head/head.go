package head

import (
	"bytes"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/request"
)

// Size is the buffer of an arriving head, in bytes: 4 KiB of request line and the longest header
// the door reads. A small body behind the head arrives into the same buffer.
const Size = 8 << 10

// Head parses the heads of a connection, one after another, keeping the request line and the Host.
// Of each other header only the meaning for framing is kept. A complete line is checked and
// dropped; a long line without meaning is dropped in parts. So 64 KiB of headers take no more
// memory than none.
//
//	buf: | line | host |  (free)  | arrived, not read yet |  (free)  |
//	     0      line   kept       next                    end        Size
//
// Of a request asking about a whole request the headers of policies and of the profile are kept as
// well. Such a head has no fault: a part a visitor can choose is read, passed over, or makes the
// request unfit.
//
// No I/O, no allocation. Other malformed heads are refused, as by nginx: a guess at their meaning
// is how requests are smuggled past the proxy in front.
type Head struct {
	buf      *[Size]byte // nil while nothing has arrived
	line     int         // length of the request line
	kept     int         // end of the kept bytes
	next     int         // first byte not parsed
	end      int         // end of the bytes that arrived
	searched int         // buf[next:searched] has no line feed
	size     int         // bytes of this head before next, dropped lines included
	dropping bool        // the line at next has no meaning, and its beginning is gone
	hostEnd  int         // end of the Host line, which begins at hostAt
	hostAt   int
	// the headers policies look at, and whether all are kept; nil: no whole requests
	Source func() (names *request.Names, all bool)
	All    bool           // as Source said; headers beyond request.MaxOthers are left out
	extra  int            // of fields, those no policy looks at
	names  *request.Names // headers policies look at, as of the request line
	// the request line asks about a whole request, which needs headers
	authed   bool
	fields   []Field         // those that policies look at
	profiles [profiles]Field // by their numbers; that of none stays empty
	Framing
}

// Begin prepares for the next head. Arrived bytes stay.
func (h *Head) Begin() {
	*h = Head{
		buf: h.buf, next: h.next, end: h.end, searched: h.next, Source: h.Source,
		fields: h.fields[:0],
	}
}

// RequestLine returns the request line. Valid until the next change of h.
func (h *Head) RequestLine() []byte { return h.buf[:h.line] }

// Host returns the value of the Host, empty where there is none.
func (h *Head) Host() []byte {
	return trim(h.buf[min(h.hostAt+len("host:"), h.hostEnd):h.hostEnd])
}

// IsWhole reports whether the request line asks about a whole request, so headers are kept.
func (h *Head) IsWhole() bool { return h.authed }

// Fields returns the headers policies look at, of a whole request.
func (h *Head) Fields() []Field { return h.fields }

// Begun reports whether a byte of the next request has arrived.
func (h *Head) Begun() bool { return h.size > 0 || len(h.Pending()) > 0 }

// HasBuffer reports whether h has a buffer.
func (h *Head) HasBuffer() bool { return h.buf != nil }

// Lend gives h the buffer needed before the first byte arrives.
func (h *Head) Lend(buf *[Size]byte) { h.buf = buf }

// GiveBack returns the buffer, and nil while a byte of a request is inside or where there is none.
func (h *Head) GiveBack() *[Size]byte {
	if h.buf == nil || h.Begun() {
		return nil
	}
	buf := h.buf
	h.buf, h.next, h.end, h.searched = nil, 0, 0, 0
	return buf
}

// Skip drops n pending bytes.
func (h *Head) Skip(n int) { h.next += n }

// Pending returns the arrived bytes not read. Valid until the next change of h.
func (h *Head) Pending() []byte {
	if h.buf == nil {
		return nil
	}
	return h.buf[h.next:h.end]
}

// Room returns the free bytes behind the arrived bytes. There must be a buffer.
func (h *Head) Room() []byte { return h.buf[h.end:] }

// Arrived notes that n bytes were read into room.
func (h *Head) Arrived(n int) { h.end += n }

// Drain moves pending bytes to b and returns their number.
func (h *Head) Drain(b []byte) int {
	n := copy(b, h.Pending())
	h.next += n
	return n
}

// Unread puts b back before the pending bytes. b must come from this buffer, and the head must
// have been written.
func (h *Head) Unread(b []byte) {
	h.end = len(b) + copy(h.buf[len(b):], h.Pending())
	h.next = 0
	copy(h.buf[:], b)
}

// Pack moves the pending bytes down behind the kept bytes, and reports whether the whole body will
// fit behind.
func (h *Head) Pack() bool {
	if h.Length > int64(Size-h.kept) {
		return false
	}
	h.end = h.kept + copy(h.buf[h.kept:], h.Pending())
	h.next = h.kept
	return true
}

// Advance parses the pending bytes. True: the head is complete. The problem is the fault in the
// head.
func (h *Head) Advance() (complete bool, p *api.Problem) {
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
		if h.size > MaxTarget+MaxHeaders {
			return false, tooLarge()
		}
		complete, p = h.take(line)
	}
	return complete, p
}

// Break ends the head of a whole request at the fault: the request is unfit, and has no body.
func (h *Head) Break() {
	h.Set(Broken, true)
	if h.Length, h.Unfit = 0, request.UnfitHeaders; h.line == 0 {
		h.Unfit = request.UnfitTarget
	}
}

// take parses a line without the line end.
func (h *Head) take(line []byte) (complete bool, p *api.Problem) {
	switch {
	case h.dropping:
		h.dropping = false
		if h.authed {
			return false, nil // any bytes are a value
		}
		return false, CheckValue(line)
	case h.line == 0: // empty ones before it are ignored, by RFC 9112, 2.2
		h.Set(HTTP11, bytes.HasSuffix(line, []byte(" HTTP/1.1")))
		if h.Source != nil && isAuthLine(line) {
			h.authed = true
			h.names, h.All = h.Source()
			if len(line) > Size-reserved {
				return false, LongTarget()
			}
		}
		h.keep(line)
		h.line = len(line)
		return false, nil
	case len(line) > 0:
		return false, h.header(line)
	case h.Is(Hosted) || !h.Is(HTTP11) || h.authed:
		return true, nil
	}
	return false, Malformed("has no Host")
}

// keep appends line, the line just read, to the kept bytes.
func (h *Head) keep(line []byte) { h.kept += copy(h.buf[h.kept:h.next], line) }

// makeRoom makes room for the rest of a line arrived in part. A full buffer is 414 within the
// request line and 431 within a header that matters; any other header begins to be dropped.
func (h *Head) makeRoom() *api.Problem {
	if h.size+h.end-h.next > MaxTarget+MaxHeaders {
		return tooLarge()
	}
	pending := h.Pending()
	if h.extra > 0 && h.kept+len(pending) == Size {
		h.dropExtra()
	}
	h.end = h.kept + copy(h.buf[h.kept:], pending)
	h.next, h.searched = h.kept, h.end
	switch {
	case h.dropping:
		return h.drop(h.Pending())
	case h.end < Size:
		return nil
	case h.line == 0:
		h.authed = h.Source != nil && isAuthLine(h.Pending())
		return LongTarget()
	}
	name, value, found := bytes.Cut(h.Pending(), []byte{':'})
	if p := h.longHeader(name, found); p != nil {
		return p
	}
	h.dropping = true
	return h.drop(value)
}

// longHeader returns the fault of a header called name the buffer has no room for; found says
// whether the name is whole.
func (h *Head) longHeader(name []byte, found bool) *api.Problem {
	m := meaningOf(name)
	framing := m == contentLength || m == transferEncoding || m != nothing && !h.authed
	switch {
	case framing, !found && !h.authed:
		return tooLarge()
	case !found || !IsToken(name):
		return h.noHeader()
	case h.authed:
		if p, named := h.wants(name); p != noProfile || named || m == host {
			h.unfit(p)
		}
	}
	return nil
}

// drop checks and discards part, the arrived end of a line without meaning. A trailing CR is kept,
// as possibly part of the line end.
func (h *Head) drop(part []byte) *api.Problem {
	rest := bytes.TrimSuffix(part, []byte{'\r'})
	h.size += h.end - h.next - (len(part) - len(rest))
	if len(rest) < len(part) {
		h.buf[h.kept] = '\r'
	}
	p := CheckValue(rest)
	if h.authed {
		p = nil // see header
	}
	h.next, h.end = h.kept, h.kept+len(part)-len(rest)
	h.searched = h.end
	return p
}
