package live

import (
	"errors"
	"sync"
	"sync/atomic"
)

// Bounds of a Hub. Frames are shared by all queues, so at most QueueFrames frames of each kind are
// in memory at once.
const (
	MaxReaders  = 64 // streams at once
	QueueFrames = 8  // frames that may wait for a reader; another and it is cut
)

// The reasons why Join fails.
var (
	ErrFull   = errors.New("live: as many readers as there may be")
	ErrClosed = errors.New("live: no stream any more")
)

// Hub gives each frame to every reader and waits for none: a reader whose queue is full is cut. Its
// methods may be called concurrently. The zero Hub is open.
type Hub struct {
	mu       sync.Mutex // guards the fields below; held while a frame enters every queue
	readers  map[*Reader]struct{}
	watchers int
	picture  []byte // the last one shown; nil: none now
	closed   bool

	cut, refused uint64
}

// HubStats are the figures of a Hub. Totals are since start.
type HubStats struct {
	Readers  int    // at most MaxReaders
	Watchers int    // of them
	Cut      uint64 // readers that did not keep up
	Refused  uint64 // that found MaxReaders there
}

// Reader is an end of a Hub. Its methods are for the goroutine that joined.
type Reader struct {
	hub     *Hub
	queue   chan []byte
	watches bool
	unblock func()
	gone    atomic.Bool
}

// Join adds a reader of the frames given to Send. If it watches it also gets the pictures given to
// Show, at once the last. unblock is called once if the reader is cut or the hub closed, to end a
// write in progress. It may be called from any goroutine, and must neither wait nor call the hub.
// The error is ErrFull or ErrClosed. A reader that has joined must Leave.
func (h *Hub) Join(watches bool, unblock func()) (*Reader, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return nil, ErrClosed
	case len(h.readers) >= MaxReaders:
		h.refused++
		return nil, ErrFull
	case h.readers == nil:
		h.readers = make(map[*Reader]struct{}, MaxReaders)
	}
	r := &Reader{hub: h, queue: make(chan []byte, QueueFrames), watches: watches, unblock: unblock}
	h.readers[r] = struct{}{}
	if watches {
		h.watchers++
		if h.picture != nil {
			r.queue <- h.picture
		}
	}
	return r, nil
}

// Send gives frame to every reader. Nobody may write to frame afterwards.
func (h *Hub) Send(frame []byte) { h.hand(frame, false) }

// Show gives a picture to the readers that watch, and to those that join before the next. A nil
// picture means that there is none now. Nobody may write to picture afterwards.
func (h *Hub) Show(picture []byte) { h.hand(picture, true) }

// hand puts frame into the queue of every reader, or of those that watch if it is a picture.
func (h *Hub) hand(frame []byte, picture bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if picture {
		if h.picture = frame; frame == nil {
			return
		}
	}
	for r := range h.readers {
		if picture && !r.watches {
			continue
		}
		select {
		case r.queue <- frame:
		default:
			h.cut++
			h.end(r)
		}
	}
}

// end cuts r. The caller holds the lock. The queue is closed last, so a reader that finds it closed
// knows that unblock has been called.
func (h *Hub) end(r *Reader) {
	r.gone.Store(true)
	r.unblock()
	h.drop(r)
}

// drop removes r and closes its queue. The caller holds the lock.
func (h *Hub) drop(r *Reader) {
	delete(h.readers, r)
	if r.watches {
		h.watchers--
	}
	close(r.queue)
}

// Close ends every reader's stream at once. Later calls of Join fail with ErrClosed.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed, h.picture = true, nil
	for r := range h.readers {
		h.end(r)
	}
}

// Stats returns the present figures of h.
func (h *Hub) Stats() HubStats {
	h.mu.Lock()
	defer h.mu.Unlock()
	return HubStats{Readers: len(h.readers), Watchers: h.watchers, Cut: h.cut, Refused: h.refused}
}

// Frames returns the queue. It is closed when the reader is cut or the hub closes.
func (r *Reader) Frames() <-chan []byte { return r.queue }

// Gone reports whether the reader was cut or the hub closed. A writer that clears its write
// deadline calls it afterwards: either Gone is true already, or unblock is still to come and will
// end the write.
func (r *Reader) Gone() bool { return r.gone.Load() }

// Cut ends the reader, if it has not ended yet, and counts it: its writer waited too long.
func (r *Reader) Cut() {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	if _, here := r.hub.readers[r]; here {
		r.hub.cut++
		r.hub.end(r)
	}
}

// Leave ends the reader, if it has not ended yet.
func (r *Reader) Leave() {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	if _, there := r.hub.readers[r]; there {
		r.hub.drop(r)
	}
}
