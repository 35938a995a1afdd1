package replay

import (
	"container/heap"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/accesslog"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/lease"
)

// Bounds of the requests with a known start and not decided yet: their number, at about 150 bytes
// each, and the log's time of a wait.
const (
	maxTransit     = 1 << 20
	longestTransit = lease.MaxTime
)

// transit brings the requests of a log into the order of their starts: a log has a line at the end
// of each.
//
//	line ─► end - duration = start ─► waits until no line that began before can follow ─► decided
//
// A request that began before the last decided is decided at once, at the time reached, and so is
// the oldest of maxTransit. Not safe for concurrent use.
type transit struct {
	lease time.Duration // a request that took longer gives up its place before it ends
	whole bool          // requests are asked about as a whole
	ended window.Instant
	waits starts
}

// begun is a request with the time of the start.
type begun struct {
	at window.Instant
	// Client and Took alone, and the digits of the time; of a whole request everything
	rec accesslog.Record
	key []byte
}

// add takes the next line of the log, and calls decide with the requests let go.
func (t *transit) add(rec *accesslog.Record, key []byte, decide func(*begun) error) error {
	took := min(rec.Took, int64(t.lease))
	start := rec.Time - rec.Took
	b := begun{
		window.Instant(start),
		accesslog.Record{Time: start, Digits: 3, Client: slices.Clone(rec.Client), Took: took},
		slices.Clone(key),
	}
	if t.whole {
		b.rec.Method, b.rec.Path, b.rec.Status = slices.Clone(rec.Method),
			slices.Clone(rec.Path), rec.Status
	}
	heap.Push(&t.waits, b)
	t.ended = max(t.ended, window.Instant(rec.Time))
	for len(t.waits) > 0 && (t.ended.Sub(t.waits[0].at) >= longestTransit ||
		len(t.waits) > maxTransit) {
		if err := t.next(decide); err != nil {
			return err
		}
	}
	return nil
}

// next calls decide with the request first begun.
func (t *transit) next(decide func(*begun) error) error {
	b := heap.Pop(&t.waits).(begun) // the heap holds nothing else
	return decide(&b)
}

// flush calls decide with the requests left, at the end of the log.
func (t *transit) flush(decide func(*begun) error) error {
	for len(t.waits) > 0 {
		if err := t.next(decide); err != nil {
			return err
		}
	}
	return nil
}

// starts is a heap of requests by their start, for container/heap.
type starts []begun

// Len, Less, Swap, Push and Pop are container/heap's interface.

func (s starts) Len() int           { return len(s) }
func (s starts) Less(i, j int) bool { return s[i].at < s[j].at }
func (s starts) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *starts) Push(x any)        { *s = append(*s, x.(begun)) } // only add pushes

func (s *starts) Pop() any {
	last := len(*s) - 1
	b := (*s)[last]
	(*s)[last] = begun{}
	*s = (*s)[:last]
	return b
}
