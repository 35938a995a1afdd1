package http

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http/httputil"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/door/http/head"
	"github.com/valyala/fasthttp"
)

// continues is the interim response to a client that waits for it before it sends its body.
var continues = []byte("HTTP/1.1 100 Continue\r\n\r\n")

// connOf returns the connection of ctx, nil in tests without one. The methods used on it accept
// nil.
func connOf(ctx *fasthttp.RequestCtx) *httpConn {
	c, _ := ctx.Conn().(*httpConn)
	return c
}

// hasBody reports whether c has body bytes that the handler has not read.
func (c *httpConn) hasBody() bool { return c != nil && c.left != 0 }

// charge reserves n bytes of the shared budget for the request under way. It reports whether there
// was room. They are returned after the answer.
func (c *httpConn) charge(n int64) bool { return c == nil || c.charged.Add(n) }

// readBody reads the request body into s.body. On success the connection may stay open, as no byte
// is left that could be taken for the next request.
func (h *Door) readBody(ctx *fasthttp.RequestCtx, s *scratch) *api.Problem {
	c := connOf(ctx)
	switch {
	case !c.head.JSON:
		return &api.Problem{
			Status: fasthttp.StatusUnsupportedMediaType, Parameter: "content-type",
			Detail: "must be application/json",
		}
	// By the length that was announced: nothing of such a body is read.
	case c.left > maxHTTPBody:
		return tooLarge()
	}
	if p := c.readInto(s); p != nil {
		return p
	}
	ctx.Response.Header.ResetConnectionClose() // no byte of it is left
	return nil
}

// readInto reads the body of c into s. A body that arrived behind its head is only copied; any
// other reserves maxHTTPRequest bytes of the budget first.
func (c *httpConn) readInto(s *scratch) *api.Problem {
	if c.left != head.Chunked && int64(len(c.head.Pending())) >= c.left {
		s.body = append(s.body[:0], c.head.Pending()[:c.left]...)
		c.head.Skip(int(c.left))
		c.left = 0
		return nil
	}
	if !c.charge(maxHTTPRequest) {
		return noRoom()
	}
	if p := c.askForBody(); p != nil {
		return p
	}
	if c.left == head.Chunked {
		return c.readChunks(s)
	}
	return c.fill(s, io.LimitReader(restOf{c}, c.left), c.left)
}

// askForBody sends 100 Continue once, to a client that waits for it.
func (c *httpConn) askForBody() *api.Problem {
	if !c.head.Expect {
		return nil
	}
	c.head.Expect = false
	_, err := c.Write(continues)
	c.answering = false // the answer has its own deadline
	if err != nil {
		return badBody()
	}
	return nil
}

// fill reads from until its end into s.body. most is the expected size in bytes, at most
// maxHTTPBody; the buffer grows towards it as bytes arrive.
// The size that a client claims is not allocated in advance: it grows as the bytes come.
func (c *httpConn) fill(s *scratch, from io.Reader, most int64) *api.Problem {
	s.body = s.body[:0]
	for {
		if len(s.body) == cap(s.body) && !c.grow(s, most) {
			return noRoom()
		}
		n, err := from.Read(s.body[len(s.body):cap(s.body)])
		s.body = s.body[:len(s.body)+n]
		var slow net.Error
		switch {
		case len(s.body) > maxHTTPBody:
			return tooLarge()
		case errors.Is(err, io.EOF):
			c.left = 0
			return nil
		case errors.As(err, &slow) && slow.Timeout():
			c.door.cut.Add(1)
			return tooSlow()
		case err != nil:
			return badBody()
		}
	}
}

// grow enlarges s.body fourfold, up to most+1 bytes. Above maxHTTPSmall the growth is reserved
// from the budget; false means that there was no room.
// Fourfold, so that a megabyte takes four copies and not twelve.
func (c *httpConn) grow(s *scratch, most int64) bool {
	const factor = 4
	size := min(max(factor*int64(cap(s.body)), maxHTTPSmall), most+1)
	if size > maxHTTPSmall && !c.charge(size-int64(cap(s.body))) {
		return false
	}
	s.body = append(make([]byte, 0, max(size, int64(cap(s.body))+1)), s.body...)
	return true
}

// readChunks reads a chunked body into s and drops its trailer. Bytes behind it stay for the next
// request.
func (c *httpConn) readChunks(s *scratch) *api.Problem {
	br := bufio.NewReader(restOf{c})
	if p := c.fill(s, httputil.NewChunkedReader(br), maxHTTPBody); p != nil {
		// Bytes may be left on the connection, and it must end.
		c.left = head.Chunked
		return p
	}
	if !endOfTrailer(br) {
		c.left = head.Chunked
		return badBody()
	}
	rest, _ := br.Peek(br.Buffered())
	c.head.Unread(rest)
	return nil
}

// endOfTrailer reads the trailer up to its empty line, at most head.MaxHeaders bytes. It reports
// whether that line came and every header before it was well formed.
// Trailers are read for their end and dropped, and checked all the same: what looks like one may be
// the next request.
func endOfTrailer(br *bufio.Reader) bool {
	for size := 0; size < head.MaxHeaders; {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return false
		}
		size += len(line)
		line = bytes.TrimSuffix(line[:len(line)-1], []byte{'\r'})
		if len(line) == 0 {
			return true
		}
		name, value, found := bytes.Cut(line, []byte{':'})
		if !found || !head.IsToken(name) || head.CheckValue(value) != nil {
			return false
		}
	}
	return false
}

// restOf reads the bytes after the head of a request, first from the buffer, then from the socket.
// The end of the connection is io.ErrUnexpectedEOF: it never ends a body.
type restOf struct{ c *httpConn }

// Read reads within the deadline of the request.
func (r restOf) Read(b []byte) (int, error) {
	c := r.c
	if n := c.head.Drain(b); n > 0 {
		return n, nil
	}
	if err := c.limitRead(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(b)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// badBody answers a body that ends early or has malformed chunks.
func badBody() *api.Problem {
	return &api.Problem{
		Status: badRequest, Parameter: "body",
		Detail: "is cut short or badly chunked",
	}
}

// tooLarge answers a body above maxHTTPBody.
func tooLarge() *api.Problem {
	return &api.Problem{
		Status: fasthttp.StatusRequestEntityTooLarge, Parameter: "body",
		Detail: "exceeds 1 MiB",
	}
}
