package edge

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/headgate-dev/headgate/edge/live"
)

// Bounds of one stream.
const (
	streamWriteTimeout = 5 * time.Second        // for what is sent at once to be taken
	streamLastWord     = 100 * time.Millisecond // to end a stream in form
)

// events answers a stream of what happens to the flags and, with live=1, of how the node stands, until the client goes, does
// not keep up, or the node stops.
func (a *Admin) events(w http.ResponseWriter, r *http.Request) *problem {
	query, p := adminQuery(r, "live")
	if p != nil {
		return p
	}
	watches := query.Get("live") == "1"
	switch {
	case query.Has("live") && !watches && query.Get("live") != "0":
		return badParam("live", "must be 1 or 0")
	case !sameSite(r): // it could not be read there, and would keep others out
		return forbidden("Sec-Fetch-Site", "says that a page of another site sent this")
	case r.Method == http.MethodHead:
		streamHeaders(w.Header())
		return nil
	}
	return a.stream(w, r.Context().Done(), watches)
}

func streamHeaders(h http.Header) {
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // nginx would wait for more
	h.Set("Connection", "close")     // its deadlines are not those of another request
}

// stream writes every frame as it comes, until left is closed. The server's own deadline is for answers that end.
func (a *Admin) stream(w http.ResponseWriter, left <-chan struct{}, watches bool) *problem {
	control := http.NewResponseController(w)
	if control.SetWriteDeadline(time.Time{}) != nil {
		return &problem{status: http.StatusNotImplemented, parameter: "connection", detail: "cannot carry a stream"}
	}
	reader, err := a.live.hub.Join(watches, func() { _ = control.SetWriteDeadline(time.Unix(1, 0)) })
	if err != nil {
		w.Header().Set("Retry-After", "5")
		return &problem{status: http.StatusServiceUnavailable, parameter: "request", detail: "found as many streams open as there may be, or the node stopping"}
	}
	defer reader.Leave()
	if watches {
		a.live.come()
	}
	streamHeaders(w.Header())
	s := streamWriter{w, control, reader}
	if s.write(a.live.hello()) && s.run(left) {
		_ = control.SetWriteDeadline(time.Now().Add(streamLastWord)) // failing that it ends without form
	}
	return nil
}

// streamWriter writes frames to one client.
type streamWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	reader  *live.Reader
}

// run writes frames until there are no more, which it reports, or left is closed or a write fails.
func (s *streamWriter) run(left <-chan struct{}) bool {
	for {
		select {
		case <-left:
			return false
		case frame, more := <-s.reader.Frames():
			if !more {
				return true
			}
			if !s.write(frame) {
				return false
			}
		}
	}
}

// write sends frame, and reports whether to go on.
func (s *streamWriter) write(frame []byte) bool {
	if s.control.SetWriteDeadline(time.Now().Add(streamWriteTimeout)) != nil || s.reader.Gone() {
		return false // gone before the deadline was lifted: nothing would end the write at once
	}
	if _, err := s.Write(frame); err != nil {
		return false
	}
	return s.control.Flush() == nil
}

// hello is what every stream begins with.
func (w *watching) hello() []byte {
	return frameOf(0, EventHello, HelloView{Node: w.edge.Node(), PoP: w.pop, Version: w.build.Version})
}

// frameOf returns the event called name, with v as its data.
func frameOf(id uint64, name string, v any) []byte { return appendFrame(nil, id, name, v) }

func appendFrame(dst []byte, id uint64, name string, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil { // only a number that is none would do it
		return dst
	}
	return live.AppendEvent(dst, id, name, data)
}
