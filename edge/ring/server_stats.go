package ring

import (
	"errors"
	"net"
	"os"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

// Kind is why an Op failed.
type Kind uint8

// The kinds of errors.
const (
	// The order is that of kindNames; metrics show the names, so a new kind is added before kinds.
	KindTimeout    Kind = iota // no answer in time
	KindConnection             // refused, reset, closed, unreachable
	KindReply                  // not an answer: ErrReply
	// the counter is no number, wrapped, or comes and goes: the server is well
	KindCounter
	KindServer    // the server, or one behind a proxy, gave up: ErrServer
	KindDown      // not sent: the breaker is open, ErrDown
	KindLate      // not sent: no time left, ErrLate
	KindCancelled // the context ended, or the Ring was closed
	kinds
)

var kindNames = [kinds]string{
	"timeout", "connection", "reply", "counter", "server", "down",
	"late", "cancelled",
}

// String returns the kind's name as in metrics, a lower-case word.
func (k Kind) String() string {
	if k >= kinds {
		return "unknown"
	}
	return kindNames[k]
}

// kindOf returns the kind of an error of an Op. The errors of this package come first: they may
// wrap an error of the network, which says less.
func kindOf(err error) Kind {
	is := func(target error) bool { return errors.Is(err, target) }
	switch {
	case is(ErrDown):
		return KindDown
	case is(ErrLate):
		return KindLate
	case is(errCancelled):
		return KindCancelled
	case is(ErrReply):
		return KindReply
	case is(ErrValue), is(ErrWrapped), is(ErrVanishing):
		return KindCounter
	case is(ErrServer):
		return KindServer
	case timedOut(err):
		return KindTimeout
	default:
		return KindConnection
	}
}

// timedOut reports whether err is that of a deadline.
func timedOut(err error) bool {
	var connecting *memcache.ConnectTimeoutError
	var network net.Error
	return errors.As(err, &connecting) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.As(err, &network) && network.Timeout()
}

// ServerStats is the state of a server. Counts are since New and only grow.
type ServerStats struct {
	Address  string // host:port, or the path of a socket
	Up       bool   // as Ring.Up
	Protocol string // "meta" or "classic"; the last one spoken; empty before the first connection

	Ops      uint64        // operations, failed ones included, invalid ones not
	Errors   [kinds]uint64 // failed operations by Kind
	Timeouts uint64        // exchanges, of many operations each, that took too long
	Opened   uint64        // times the breaker opened

	LastSuccess time.Time // zero: never
	// of the server, not of single counters; printable ASCII, at most 200 bytes; empty: none yet
	LastError string
}

// lastErrorBytes bounds ServerStats.LastError, part of which the server chooses.
const lastErrorBytes = 200

// printable returns the beginning of s, without characters that could do harm in a log or on a
// terminal.
// A server could send escape sequences otherwise, and a terminal would obey them.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s[:min(len(s), lastErrorBytes)])
}

// count adds the operations of a round to the statistics.
func (s *server) count(ops []*Op) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally.Ops += uint64(len(ops))
	for _, op := range ops {
		if op.Err != nil {
			s.tally.Errors[kindOf(op.Err)]++
		}
	}
}

func (s *server) speaks(protocol string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally.Protocol = protocol
}

// up is an atomic besides, so who asks for it waits for no lock.
func (s *server) succeeded() {
	s.up.Store(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally.LastSuccess = time.Now()
}

func (s *server) failed(err error, opened bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally.LastError = printable(err.Error())
	if timedOut(err) {
		s.tally.Timeouts++
	}
	if opened {
		s.tally.Opened++
		s.up.Store(false)
	}
}

func (s *server) stats() ServerStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.tally
	stats.Address, stats.Up = s.address, s.up.Load()
	return stats
}
