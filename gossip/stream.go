package gossip

import (
	"errors"
	"net"
	"sync"
	"time"
)

// stream is a connection that is counted, may only be read so far, and is known to its guard while it is open.
type stream struct {
	net.Conn
	g      *guard
	theirs bool
	host   string // where it comes from or goes to
	once   sync.Once
	budget int64 // bytes it may still be read; used by one goroutine
}

var errStreamLong = errors.New("gossip: stream is longer than is taken")

// Read implements net.Conn.
func (s *stream) Read(b []byte) (int, error) {
	if s.budget <= 0 {
		return 0, errStreamLong
	}
	n, err := s.Conn.Read(b[:min(int64(len(b)), s.budget)])
	s.budget -= int64(n)
	s.g.c.streams.inBytes.Add(uint64(n))
	return n, err
}

// Write implements net.Conn.
func (s *stream) Write(b []byte) (int, error) {
	n, err := s.Conn.Write(b)
	s.g.c.streams.outBytes.Add(uint64(n))
	return n, err
}

// Close implements net.Conn.
func (s *stream) Close() error {
	err := s.Conn.Close()
	s.once.Do(func() { s.g.untrack(s) })
	return err
}

// rate is a token bucket. Time is an argument; used by one goroutine.
type rate struct {
	perSecond, burst, tokens float64
	last                     time.Time
}

func (r *rate) take(now time.Time) bool {
	if gone := now.Sub(r.last).Seconds(); gone > 0 {
		r.tokens = min(r.burst, r.tokens+gone*r.perSecond)
	}
	r.last = now
	if r.tokens < 1 {
		return false
	}
	r.tokens--
	return true
}
