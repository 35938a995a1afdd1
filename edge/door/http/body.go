package http

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/door/http/head"
)

// readBody reads the request body into x.received. On success the connection may stay open, as no
// byte is left to be taken for the next request.
func (x *exchange) readBody() *api.Problem {
	c := x.c
	switch {
	case !c.head.Is(head.JSON):
		return api.NewProblem(http.StatusUnsupportedMediaType, "content-type",
			"must be application/json")
	// By the announced length: nothing of such a body is read.
	case c.left > maxHTTPBody:
		return tooLarge()
	}
	if p := x.receive(); p != nil {
		return p
	}
	x.last = c.isLast()
	return nil
}

// receive reads the body. A body arrived behind the head is only copied; any other reserves
// maxHTTPRequest bytes of the budget first.
func (x *exchange) receive() *api.Problem {
	c := x.c
	if c.left != head.Chunked && int64(len(c.head.Pending())) >= c.left {
		x.received = append(x.received[:0], c.head.Pending()[:c.left]...)
		c.head.Skip(int(c.left))
		c.left = 0
		return nil
	}
	if !x.loan.Add(maxHTTPRequest) {
		return noRoom()
	}
	if c.askForBody(x); !x.send() {
		return badBody()
	}
	if c.left == head.Chunked {
		return x.readChunks()
	}
	return x.fill(io.LimitReader(restOf{c}, c.left), c.left)
}

// fill reads from to the end into x.received. most is the expected size in bytes, at most
// maxHTTPBody; the buffer grows towards it as bytes arrive. The size a client claims is not
// allocated in advance: it grows as the bytes come.
func (x *exchange) fill(from io.Reader, most int64) *api.Problem {
	x.received = x.received[:0]
	for {
		if len(x.received) == cap(x.received) && !x.grow(most) {
			return noRoom()
		}
		n, err := from.Read(x.received[len(x.received):cap(x.received)])
		x.received = x.received[:len(x.received)+n]
		var slow net.Error
		switch {
		case len(x.received) > maxHTTPBody:
			return tooLarge()
		case errors.Is(err, io.EOF):
			x.c.left = 0
			return nil
		case errors.As(err, &slow) && slow.Timeout():
			x.cut.Add(1)
			return tooSlow()
		case err != nil:
			return badBody()
		}
	}
}

// grow enlarges x.received fourfold, up to most+1 bytes. Above maxHTTPSmall the growth is reserved
// from the budget; false: there was no room. Fourfold, so a megabyte takes four copies and not
// twelve.
func (x *exchange) grow(most int64) bool {
	const factor = 4
	have := int64(cap(x.received))
	size := min(max(factor*have, maxHTTPSmall), most+1)
	if size > maxHTTPSmall && !x.loan.Add(size-have) {
		return false
	}
	x.received = append(make([]byte, 0, max(size, have+1)), x.received...)
	return true
}

// readChunks reads a chunked body and drops the trailer. Bytes behind stay for the next request.
func (x *exchange) readChunks() *api.Problem {
	c := x.c
	br := bufio.NewReader(restOf{c})
	if p := x.fill(httputil.NewChunkedReader(br), maxHTTPBody); p != nil {
		// Bytes may be left on the connection, which must end.
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

// endOfTrailer reads the trailer up to the empty line, at most head.MaxHeaders bytes. It reports
// whether that line came and every header before it was well formed. Trailers are read for their
// end and dropped, and checked all the same: a line that looks like a trailer may be the next
// request.
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
// The end of the connection is io.ErrUnexpectedEOF: never the end of a body.
type restOf struct{ c *conn }

// Read reads within the deadline of the request.
func (r restOf) Read(b []byte) (int, error) {
	c := r.c
	if n := c.head.Drain(b); n > 0 {
		return n, nil
	}
	n, err := c.ReadWithin(b, c.Patience())
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// badBody answers a body that ends early or has malformed chunks.
func badBody() *api.Problem {
	return api.BadParameter("body", "is cut short or badly chunked")
}

// tooLarge answers a body above maxHTTPBody.
func tooLarge() *api.Problem {
	return api.NewProblem(http.StatusRequestEntityTooLarge, "body", "exceeds 1 MiB")
}
