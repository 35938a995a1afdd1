package http

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/door/lines"
	"github.com/headgate-dev/headgate/edge/wire"
)

// Unread keeps the unread lines of this door.
func (h *Door) Unread() *lines.Unread { return &h.unread }

// noteRefused counts a request answered with p: in refused, and by kind unless the door itself was
// busy or the client slow.
func (x *exchange) noteRefused(p *api.Problem) {
	h := x.Door
	h.refused.Add(1)
	switch p.Status {
	case http.StatusServiceUnavailable, http.StatusRequestTimeout:
	case http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong,
		http.StatusRequestHeaderFieldsTooLarge:
		h.tooLong.Add(1)
		x.noteUnread(wire.TooLong, p)
	default:
		if p.Unknown {
			h.unknown.Add(1)
			return
		}
		h.malformed.Add(1)
		x.noteUnread(wire.BadRequest, p)
	}
}

// noteUnread notes a request to a path of decisions as the line of the same meaning, with what is
// wrong. Bodies are not shown: some have secrets.
func (x *exchange) noteUnread(code wire.Code, p *api.Problem) {
	verb, ok := bytes.CutPrefix(x.line.path, []byte("/v1/"))
	switch {
	case x.whole:
		verb = []byte("ask")
	case !ok:
		return
	}
	x.unread.Note(code, fmt.Appendf(nil, "%s (%s) %s", verb, p.Error(),
		bytes.ReplaceAll(x.line.query, []byte{'&'}, []byte{' '})))
}
