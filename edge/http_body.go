package edge

import (
	"bytes"
	"errors"
	"io"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

const mediaJSON = "application/json"

// slimHeaders is the size of headers, in bytes, up to which their parsed form may stay with the connection.
const slimHeaders = 4 << 10

// slim replaces large headers by what is needed of them, before the body is waited for. The library keeps each parsed
// header, and its memory for the next request: 64 KiB of the shortest headers come to 1.2 MiB a connection.
func slim(header *fasthttp.RequestHeader) (none fasthttp.RequestConfig) {
	if len(header.RawHeaders()) <= slimHeaders {
		return none
	}
	var kept fasthttp.RequestHeader
	kept.SetMethodBytes(header.Method())
	kept.SetRequestURIBytes(header.RequestURI())
	kept.SetProtocolBytes(header.Protocol())
	kept.SetHostBytes(header.Host())
	kept.SetContentTypeBytes(header.ContentType())
	if n := header.ContentLength(); n >= 0 || n == chunkedLength {
		kept.SetContentLength(n)
	}
	if expect := header.Peek(fasthttp.HeaderExpect); len(expect) > 0 {
		kept.SetBytesV(fasthttp.HeaderExpect, expect)
	}
	if header.ConnectionClose() {
		kept.SetConnectionClose()
	}
	*header = fasthttp.RequestHeader{} // lets go of the memory; Reset would keep it
	kept.CopyTo(header)
	return none
}

// takePlace takes one of maxHTTPPlaces for the connection of ctx, which gives it back when its answer is written, and
// reports whether there was one. A connection never holds two.
func (h *HTTP) takePlace(ctx *fasthttp.RequestCtx) bool {
	c, ok := ctx.Conn().(*httpConn)
	if !ok || c.placed {
		return true
	}
	late := time.NewTimer(httpPlaceWait)
	defer late.Stop()
	select {
	case h.places <- struct{}{}:
		c.placed = true
	case <-late.C:
	}
	return c.placed
}

// leavePlace gives back the place c holds, if it does. Like takePlace it is called by c's own goroutine only.
func (c *httpConn) leavePlace() {
	if c.placed {
		c.placed = false
		<-c.door.places
	}
}

// readBody reads a request's body into s. Slow clients cannot fill the memory with large ones: they need a place.
func (h *HTTP) readBody(ctx *fasthttp.RequestCtx, s *scratch) *problem {
	length := ctx.Request.Header.ContentLength()
	large := length == chunkedLength || length > maxHTTPSmall
	switch {
	case !isJSON(ctx.Request.Header.ContentType()):
		return &problem{
			status: fasthttp.StatusUnsupportedMediaType, parameter: "content-type", detail: "must be application/json",
		}
	case length > maxHTTPBody:
		return tooLarge()
	case large && !h.takePlace(ctx):
		return noPlace()
	}
	if p := h.fill(ctx, s); p != nil {
		return p
	}
	ctx.Response.Header.ResetConnectionClose() // all of it was read
	return nil
}

// fill reads a body up to its end or its bound.
func (h *HTTP) fill(ctx *fasthttp.RequestCtx, s *scratch) *problem {
	body := bytes.NewBuffer(s.body[:0])
	_, err := body.ReadFrom(io.LimitReader(ctx.RequestBodyStream(), maxHTTPBody+1))
	s.body = body.Bytes()
	var slow net.Error
	switch {
	case errors.As(err, &slow) && slow.Timeout():
		h.cut.Add(1)
		return tooSlow()
	case err != nil:
		return &problem{status: badRequest, parameter: "body", detail: "is cut short or badly chunked"}
	case len(s.body) > maxHTTPBody:
		return tooLarge()
	}
	return nil
}

func tooLarge() *problem {
	return &problem{status: fasthttp.StatusRequestEntityTooLarge, parameter: "body", detail: "exceeds 1 MiB"}
}

// isJSON reports whether a content type is application/json, whatever its parameters: JSON is UTF-8.
func isJSON(contentType []byte) bool {
	media, _, _ := bytes.Cut(contentType, []byte{';'})
	return bytes.EqualFold(bytes.TrimSpace(media), []byte(mediaJSON))
}
