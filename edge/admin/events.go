package admin

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/live"
)

// Bounds of a stream.
const (
	streamEndTimeout = 100 * time.Millisecond // for the last bytes of a stream
)

// events answers with a stream of the changes of flags and, with live=1, of pictures of the node.
// The stream ends when the client goes, is too slow, or the node stops.
func (a *Door) events(w http.ResponseWriter, r *http.Request) *api.Problem {
	query := r.URL.Query()
	watches := query.Get("live") == "1"
	switch {
	case query.Has("live") && !watches && query.Get("live") != "0":
		return api.BadParameter("live", "must be 1 or 0")
	case !sameSite(r): // that page could not read it, but would use up a place
		return forbidden("Sec-Fetch-Site", "names a page of another site")
	case r.Method == http.MethodHead:
		streamHeaders(w.Header())
		return nil
	}
	return a.stream(w, r.Context().Done(), watches)
}

// streamHeaders sets the headers of a stream.
func streamHeaders(h http.Header) {
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // nginx would buffer it
	h.Set("Connection", "close")     // its deadlines would not suit another request
}

// stream writes every frame on arrival, until left is closed. The server's write deadline, meant
// for answers with an end, is replaced. A write deadline in the past is how the hub cuts off a too
// slow reader: the deadline interrupts a write under way, which closing a channel would not.
func (a *Door) stream(w http.ResponseWriter, left <-chan struct{}, watches bool) *api.Problem {
	control := http.NewResponseController(w)
	if control.SetWriteDeadline(time.Time{}) != nil {
		return api.NewProblem(http.StatusNotImplemented, "connection", "cannot carry a stream")
	}
	reader, err := a.live.hub.Join(watches,
		func() { _ = control.SetWriteDeadline(time.Unix(1, 0)) })
	if err != nil {
		w.Header().Set("Retry-After", "5")
		return api.NewProblem(http.StatusServiceUnavailable, "request",
			"cannot be served: the maximum number of streams is open, or the node is "+
				"stopping")
	}
	defer reader.Leave()
	// So a page which has just been opened does not wait for the next second.
	if watches {
		a.live.request()
	}
	streamHeaders(w.Header())
	s := streamWriter{w, control, reader}
	if s.write(a.live.hello()) && s.run(left) {
		// if not the stream just breaks off
		_ = control.SetWriteDeadline(time.Now().Add(streamEndTimeout))
	}
	return nil
}

// streamWriter writes frames to a client.
type streamWriter struct {
	http.ResponseWriter
	control *http.ResponseController // sets the deadline of each write
	reader  *live.Reader             // the queue of frames
}

// run writes frames until the queue is closed, and then returns true. False once left is closed or
// a write fails.
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

// write sends frame, and reports whether the stream can continue.
func (s *streamWriter) write(frame []byte) bool {
	// for a frame
	if s.control.SetWriteDeadline(time.Now().Add(5*time.Second)) != nil || s.reader.Gone() {
		return false // cut before the deadline was set: nothing would interrupt the write
	}
	_, err := s.Write(frame)
	if err == nil {
		err = s.control.Flush()
	}
	// Only a too slow client counts as cut; a client gone does not.
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		s.reader.Cut()
	}
	return err == nil
}

// hello returns the first frame of every stream.
func (w *feed) hello() []byte {
	return frameOf(0, api.EventHello,
		api.HelloView{Node: w.gate.Node(), PoP: w.options.PoP, Version: w.options.Build.Version})
}

// frameOf returns the event called name, with v as data.
func frameOf(id uint64, name string, v any) []byte { return appendFrame(nil, id, name, v) }

// appendFrame appends the event called name, with v as data, to dst.
func appendFrame(dst []byte, id uint64, name string, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil { // only NaN or infinity
		return dst
	}
	return live.AppendEvent(dst, id, name, data)
}

// unbounded lifts the deadlines of a request, until bound sets the answer's deadline: sets of a
// million entries take seconds to read, on a slow disk minutes, and who asked waits for the faults.
func unbounded(w http.ResponseWriter) (bound func(time.Duration)) {
	control := http.NewResponseController(w)
	// A connection without deadlines, as in a test, needs none lifted.
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(time.Time{})
	return func(d time.Duration) { _ = control.SetWriteDeadline(time.Now().Add(d)) }
}
