package oracle

import (
	"time"

	"github.com/headgate-dev/headgate/window"
)

// Decided is a request with the limiter's answer.
type Decided struct {
	At       window.Instant // never before that of an earlier request
	Key      []byte
	Cost     int64
	Estimate int64 // the limiter's figure for the offered cost, this request included
	Refused  bool
	ByFlag   bool // refused by a flag
	Settled  bool // the key had held an exact slot for a window or longer
}

// Book keeps an exact log of every key and scores each decision thereby. Memory grows with the keys
// and with the requests of a window. Not safe for concurrent use.
type Book struct {
	window time.Duration
	score  *Score
	keys   map[string]*history
}

// history is the record of a key.
type history struct {
	log     *window.Log
	peak    int64 // highest offered cost of a trailing window
	refused bool
}

// NewBook returns an empty book for a rule of limit per window.
func NewBook(limit int64, window time.Duration) *Book {
	return &Book{window: window, score: NewScore(limit), keys: make(map[string]*history)}
}

// Take scores d and records the outcome.
func (b *Book) Take(d Decided) {
	h := b.history(d.Key)
	admitted := h.log.Admitted(d.At)
	h.log.Offer(d.At, d.Cost)
	offered := h.log.Offered(d.At)
	if d.Refused {
		h.refused = true
	} else {
		h.log.Admit(d.At, d.Cost)
	}
	h.peak = max(h.peak, offered)
	b.score.Take(Seen{
		Cost: d.Cost, Admitted: admitted, Offered: offered, Estimate: d.Estimate,
		Refused: d.Refused, ByFlag: d.ByFlag, Settled: d.Settled,
	})
}

// Close adds the keys to the score and returns the score; the book is used up.
func (b *Book) Close() *Score {
	for _, h := range b.keys {
		b.score.TakeKey(h.peak, h.refused)
	}
	b.keys = nil
	return b.score
}

func (b *Book) history(key []byte) *history {
	h := b.keys[string(key)]
	if h == nil {
		h = &history{log: window.NewLog(b.window, window.Tick(b.window))}
		b.keys[string(key)] = h
	}
	return h
}
