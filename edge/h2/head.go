package h2

import (
	"golang.org/x/net/http2/hpack"
)

// block is a header block whose frames are arriving. While a block is open no other frame may come,
// of any stream (RFC 9113, 6.10): so a single block is enough for the connection.
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
	// Even numbers are a server's, 0 is the connection: RFC 9113, 5.1.1.
	if f.id%2 == 0 || !f.unpad() {
		return fault{protocolError, Protocol}
	}
	// Five bytes, deprecated by RFC 9113, 5.3. A stream depending on itself was an error in RFC
	// 7540, and h2spec still tries.
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
	c.block = block{open: true, id: f.id, end: f.has(flagEndStream)}
	return c.block.keep(c, f.payload)
}

// continuation takes another part of a header block.
func (c *Conn) continuation(f *frame) error {
	b := &c.block
	b.frames++
	// Undecoded bytes end the connection, not the stream: the table of the peer is not known any
	// more (RFC 9113, 4.3).
	if b.frames > maxContinuations || len(b.bytes)+len(f.payload) > MaxBlock {
		return fault{calmDown, HeadTooLong}
	}
	if err := b.keep(c, f.payload); err != nil || !f.has(flagEndHeaders) {
		return err
	}
	b.open = false
	err := c.request(b.id, b.end, b.bytes)
	c.lend(-len(b.bytes))
	b.bytes = nil // one large head does not stay in memory for as long as the connection lasts
	return err
}

// keep adds a part to the block.
func (b *block) keep(c *Conn, part []byte) error {
	if !c.lend(len(part)) {
		return noRoom
	}
	b.bytes = append(b.bytes, part...)
	return nil
}

// request takes a whole header block: the head of a request, or its trailers. Each block is
// decoded, also for a refused stream: blocks change the table for all later blocks (RFC 9113, 4.3).
func (c *Conn) request(id uint32, end bool, block []byte) error {
	if s := c.find(id); s != nil {
		return c.trailers(s, end, block)
	}
	if id <= c.last {
		reset, known := c.closedStream(id)
		switch {
		case reset: // it was on its way
			return c.head.read(c.decoder, block, true)
		// The peer had ended the stream, or this side had answered the call: RFC 9113, 5.1,
		// "closed".
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
	// REFUSED_STREAM tells the peer of no effect, so the peer may try again safely (RFC 9113, 8.7).
	case len(c.streams) >= MaxStreams:
		return c.resetUnknown(id, refusedStream, TooMany)
	// A body announced and not sent makes the request malformed: RFC 9113, 8.1.1.
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
	switch {
	case end:
		return c.finish(s, nil)
	case s.kind != noCall && s.method < 0:
		return c.early(s, noMethod)
	}
	return nil
}

// trailers takes the header block behind a request's body.
// A second block without END_STREAM would be an informational response, which requests do not have
// (RFC 9113, 8.1).
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

// head is the meaning of a header block. Kept from block to block: nearly all requests of a
// connection have the same head, and a comparison of bytes is cheaper than decoding.
type head struct {
	// "May be compared" means a second decoding would leave the table the same; else a skip would
	// make all later indices wrong.
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

// read decodes block, unless the same as the last without change of a table. The bytes go to the
// decoder in parts, so a block which expands without end is noticed before all of the block has.
func (h *head) read(d *hpack.Decoder, block []byte, trailer bool) error {
	if len(h.block) > 0 && string(h.block) == string(block) && !trailer {
		return nil
	}
	*h = head{block: h.block[:0], trailer: trailer, length: -1}
	for rest := block; len(rest) > 0; {
		// bytes of a block between two looks at maxDecoded
		n := min(len(rest), 1<<10)
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
	if !trailer && len(block) < keptHead && keepsTable(block) {
		h.block = append(h.block, block...)
	}
	return nil
}

// valid reports whether the block is the head of a request. A too long block was not read to the
// end, so not all is known.
func (h *head) valid() bool {
	return !h.malformed && (h.tooLong || h.method != "" && h.path != "" && h.scheme)
}

// resolve decides the fate of the request. Once for each head and not for each request: compares
// texts.
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

// isCall reports whether contentType is gRPC with protobuf. "application/grpc",
// "application/grpc+proto" and either with parameters. Other subtypes (+json) name other encodings
// of messages, which are not read here.
func isCall(contentType string) bool {
	const plain = "application/grpc"
	if len(contentType) < len(plain) || contentType[:len(plain)] != plain {
		return false
	}
	rest := contentType[len(plain):]
	return rest == "" || rest == "+proto" || rest[0] == ';'
}
