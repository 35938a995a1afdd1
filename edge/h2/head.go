package h2

import (
	"strconv"

	"golang.org/x/net/http2/hpack"
)

// block is a header block whose frames are arriving.
type block struct {
	open   bool // CONTINUATION follows
	id     uint32
	end    bool // the request ends with it
	frames int
	bytes  []byte
}

// headers takes a HEADERS or CONTINUATION frame.
func (c *Conn) headers(f *frame) error {
	if f.kind == frameContinuation {
		return c.continuation(f)
	}
	if f.id%2 == 0 || !f.unpad() {
		return fault{protocolError, Protocol}
	}
	if f.has(flagPriority) {
		if len(f.payload) < 5 {
			return fault{sizeError, Protocol}
		}
		if dependsOn(f.payload) == f.id {
			return fault{protocolError, Protocol}
		}
		f.payload = f.payload[5:]
	}
	if f.has(flagEndHeaders) {
		return c.request(f.id, f.has(flagEndStream), f.payload)
	}
	c.block = block{open: true, id: f.id, end: f.has(flagEndStream), bytes: append(c.block.bytes[:0], f.payload...)}
	return nil
}

// continuation takes one more part of a header block.
func (c *Conn) continuation(f *frame) error {
	b := &c.block
	b.frames++
	if b.frames > maxContinuations || len(b.bytes)+len(f.payload) > MaxBlock {
		return fault{calmDown, HeadTooLong}
	}
	b.bytes = append(b.bytes, f.payload...)
	if !f.has(flagEndHeaders) {
		return nil
	}
	b.open = false
	err := c.request(b.id, b.end, b.bytes)
	if cap(b.bytes) > keptBody {
		b.bytes = nil
	}
	return err
}

// request takes a whole header block: the head of a request, or its trailers.
func (c *Conn) request(id uint32, end bool, block []byte) error {
	if s := c.find(id); s != nil {
		return c.trailers(s, end, block)
	}
	if id <= c.last {
		reset, known := c.closedStream(id)
		switch {
		case reset: // it was on its way
			return c.head.read(c.decoder, block, true)
		case known:
			return fault{streamClosed, Protocol}
		}
		return fault{protocolError, Protocol}
	}
	c.last = id
	if err := c.head.read(c.decoder, block, false); err != nil {
		return err
	}
	h := &c.head
	switch {
	case len(c.streams) >= MaxStreams:
		return c.resetUnknown(id, refusedStream, TooMany)
	case !h.valid() || end && h.length > 0:
		return c.resetUnknown(id, protocolError, Protocol)
	}
	if !h.resolved {
		h.resolve(c.handler)
	}
	s := c.open(id)
	s.method, s.kind, s.status, s.length = h.number, h.kind, h.status, h.length
	if h.tooLong {
		c.count(HeadTooLong)
	}
	if end {
		return c.finish(s, nil)
	}
	return nil
}

// trailers takes the header block behind a request's body.
func (c *Conn) trailers(s *stream, end bool, block []byte) error {
	ended := s.ended
	if err := c.head.read(c.decoder, block, true); err != nil {
		return err
	}
	switch {
	case ended:
		c.reset(s, streamClosed, Protocol)
		return nil
	case !end || c.head.malformed || s.length >= 0 && int64(s.size) != s.length:
		c.reset(s, protocolError, Protocol)
		return nil
	}
	return c.finish(s, s.body)
}

// head is what a header block means.
type head struct {
	block    []byte // as sent; only if it may be compared: see read
	trailer  bool
	resolved bool // number, kind and status are set

	size                  int // as HPACK counts
	method, path          string
	contentType, encoding string
	scheme, regular       bool // a :scheme, or a field that is no pseudo-field, was there
	length                int64
	malformed, tooLong    bool

	number int
	kind   kind
	status int
}

// read decodes block, unless it is the last one again and changes no table.
func (h *head) read(d *hpack.Decoder, block []byte, trailer bool) error {
	if len(h.block) > 0 && string(h.block) == string(block) && !trailer {
		return nil
	}
	*h = head{block: h.block[:0], trailer: trailer, length: -1}
	for rest := block; len(rest) > 0; {
		n := min(len(rest), decodedAtOnce)
		if _, err := d.Write(rest[:n]); err != nil {
			return fault{compressionFail, Protocol}
		}
		if rest = rest[n:]; h.size > maxDecoded {
			return fault{calmDown, HeadTooLong}
		}
	}
	if err := d.Close(); err != nil {
		return fault{compressionFail, Protocol}
	}
	if !trailer && len(block) < keptBody && keepsTable(block) {
		h.block = append(h.block, block...)
	}
	return nil
}

// field takes one field of the block that is being decoded.
func (h *head) field(f hpack.HeaderField) {
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

// pseudo takes a pseudo-field.
func (h *head) pseudo(name, value string) {
	is := &h.method
	switch name {
	case ":method":
	case ":path":
		is = &h.path
	case ":scheme":
		h.malformed = h.malformed || h.scheme
		h.scheme = true
		is = new(string)
	case ":authority":
		is = new(string)
	default:
		h.malformed = true
	}
	h.malformed = h.malformed || h.trailer || h.regular || *is != "" || value == "" && name != ":authority"
	*is = value
}

// plain takes a field that is no pseudo-field.
func (h *head) plain(name, value string) {
	switch name {
	case "content-type":
		h.contentType = value
	case "grpc-encoding":
		h.encoding = value
	case "content-length":
		n, err := strconv.ParseUint(value, 10, 62)
		h.malformed = h.malformed || err != nil || h.length >= 0 && h.length != int64(n) // 62 bits
		h.length = int64(n)                                                              // as above
	case "te":
		h.malformed = h.malformed || value != "trailers"
	case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade":
		h.malformed = true
	}
}

// validName reports whether name may be the name of a field of HTTP/2: a token in lower case.
func validName(name string) bool {
	for i := range len(name) {
		if b := name[i]; b <= ' ' || b >= 0x7f || b >= 'A' && b <= 'Z' || b == ':' && i > 0 {
			return false
		}
	}
	return name != ""
}

// validValue reports whether value may be the value of a field.
func validValue(value string) bool {
	for i := range len(value) {
		if b := value[i]; b < ' ' && b != '\t' || b == 0x7f {
			return false
		}
	}
	return true
}

// valid reports whether the block is the head of a request. One that is too long was not read to its
// end, so that not all of it is known.
func (h *head) valid() bool {
	return !h.malformed && (h.tooLong || h.method != "" && h.path != "" && h.scheme)
}

// resolve sets what is to become of the request.
func (h *head) resolve(handler Handler) {
	h.resolved, h.number, h.kind, h.status = true, -1, noCall, 0
	switch {
	case h.tooLong:
		h.status = statusHeadTooLong
	case h.method != "POST":
		h.status = statusMethod
	case !isCall(h.contentType):
		h.status = statusType
	default:
		h.number, h.kind = handler.Method(h.path), encodingOf(h.encoding)
	}
}

// isCall reports whether contentType is that of gRPC with protobuf.
func isCall(contentType string) bool {
	const plain = "application/grpc"
	if len(contentType) < len(plain) || contentType[:len(plain)] != plain {
		return false
	}
	rest := contentType[len(plain):]
	return rest == "" || rest == "+proto" || rest[0] == ';'
}

// encodingOf returns how messages are encoded.
func encodingOf(name string) kind {
	switch name {
	case "", "identity":
		return identity
	case "gzip":
		return gzipped
	}
	return otherEncoding
}
