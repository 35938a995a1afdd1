package live

import (
	"errors"
	"sync"
	"sync/atomic"
)

// Bounds of a Hub. Frames are shared, so what waits in all queues is at most QueueFrames frames of each kind.
const (
	MaxReaders  = 64 // streams at once
	QueueFrames = 8  // frames that may wait for one reader; one more and it is cut
)

// Why somebody cannot join.
var (
	ErrFull   = errors.New("live: as many readers as there may be")
	ErrClosed = errors.New("live: no stream any more")
)

// Hub hands each frame to every reader and waits for none: a reader whose queue is full is cut. Its methods may be called
// concurrently. The zero Hub is open.
type Hub struct {
	mu       sync.Mutex // protects what follows; held for as long as a frame takes into every queue
	readers  map[*Reader]struct{}
	watchers int
	picture  []byte // the last one shown; nil: none of late
	closed   bool

	cut, refused uint64
}

// HubStats is how a Hub stands. Totals are since start.
type HubStats struct {
	Readers  int    // at most MaxReaders
	Watchers int    // of them
	Cut      uint64 // readers that did not keep up
	Refused  uint64 // that found MaxReaders there
}

// Reader is one end of a Hub. Its methods are for the goroutine that joined.
type Reader struct {
	hub     *Hub
	queue   chan []byte
	watches bool
	unblock func()
	gone    atomic.Bool
}

// Join adds a reader: of what is sent, and of the pictures too if it watches; the last picture comes first. unblock is
// called once if the reader is cut or the hub closed, to end a write that waits; it must neither wait itself nor call
// the hub, and may be called from any goroutine. The error is ErrFull or ErrClosed. Who joined must Leave.
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

// Send hands frame to every reader. Nobody may write to it any more.
func (h *Hub) Send(frame []byte) { h.hand(frame, false) }

// Show hands a picture to those who watch, and to who comes to watch before the next one; nil: there is none to be had now.
// Nobody may write to it any more.
func (h *Hub) Show(picture []byte) { h.hand(picture, true) }

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

// end ends r's stream, whatever it does; the caller holds the lock. The queue is closed last: who sees that knows that unblock
// has been called.
func (h *Hub) end(r *Reader) {
	r.gone.Store(true)
	r.unblock()
	h.drop(r)
}

// drop takes r out and ends its queue; the caller holds the lock.
func (h *Hub) drop(r *Reader) {
	delete(h.readers, r)
	if r.watches {
		h.watchers--
	}
	close(r.queue)
}

// Close ends every reader's stream at once, and lets nobody join any more.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed, h.picture = true, nil
	for r := range h.readers {
		h.end(r)
	}
}

// Stats reads how h stands.
func (h *Hub) Stats() HubStats {
	h.mu.Lock()
	defer h.mu.Unlock()
	return HubStats{Readers: len(h.readers), Watchers: h.watchers, Cut: h.cut, Refused: h.refused}
}

// Frames returns the queue. It is closed when the reader is cut or the hub closes.
func (r *Reader) Frames() <-chan []byte { return r.queue }

// Gone reports whether the reader was cut or the hub closed. Who lifts a deadline before it writes asks afterwards: then either it sees that
// it is gone, or unblock is still to come.
func (r *Reader) Gone() bool { return r.gone.Load() }

// Leave ends the reader, if it has not ended yet.
func (r *Reader) Leave() {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	if _, there := r.hub.readers[r]; there {
		r.hub.drop(r)
	}
}
