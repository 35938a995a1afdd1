package minimal

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"sync"
	"time"
)

// The bounds of a server.
const (
	MaxLine     = 512     // bytes of a command
	maxConns    = 16      // at once; others are closed unread
	maxCounters = 1 << 16 // alive at once; another is refused as by a memcached without memory
)

// Server speaks as much of memcached's meta protocol as a ring needs, on loopback: counters with
// additions and lapses. In memcached's place in tests, and in the demo on a machine without
// memcached. Methods may be called concurrently.
//
//	mn                         ► MN
//	ma KEY N60 J5 D5 v O7      ► VA 1 O7 / 5     add 5, or create with 5 for 60 s
//	ma KEY D0 v O8             ► VA 1 O8 / 5     look; NF O8: no such counter
//	version                    ► VERSION stand-in
//
// Anything else is an ERROR.
type Server struct {
	ln      net.Listener
	now     func() time.Time
	serving sync.WaitGroup

	mu       sync.Mutex
	counters map[string]serverCounter
	conns    map[net.Conn]bool
	closed   bool
	full     uint64 // counters refused for want of room
}

// serverCounter is a counter with the time of the lapse. The life begins at creation and additions
// do not prolong a life, as in memcached without the flag T.
type serverCounter struct {
	total uint64
	until time.Time
}

// Open returns a server on a free port of loopback, whose counters lapse by now. ctx bounds the
// opening only.
func Open(ctx context.Context, now func() time.Time) (*Server, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("minimal: listen: %w", err)
	}
	s := &Server{ln: ln, now: now, counters: map[string]serverCounter{}, conns: map[net.Conn]bool{}}
	s.serving.Go(s.accept)
	return s, nil
}

// Addr returns where the server listens.
func (s *Server) Addr() net.Addr { return s.ln.Addr() }

// Full returns how many counters were refused for want of room.
func (s *Server) Full() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.full
}

// Counter is a counter of a server.
type Counter struct {
	Name  string
	Total uint64
	Until time.Time // when it lapses
}

// Counters returns the live counters, in no order.
func (s *Server) Counters() (all []Counter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for name, c := range s.counters {
		if now.Before(c.until) {
			all = append(all, Counter{Name: name, Total: c.total, Until: c.until})
		}
	}
	return all
}

// Close ends the server and returns when no goroutine is left.
func (s *Server) Close() error {
	err := s.ln.Close()
	s.mu.Lock()
	s.closed = true
	for conn := range s.conns {
		_ = conn.Close() // the end of it either way
	}
	s.mu.Unlock()
	s.serving.Wait()
	return err
}

func (s *Server) accept() {
	for {
		conn, err := s.ln.Accept()
		// Any other error is of a connection, or passes: the listener goes on.
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil && !s.admit(conn) {
			_ = conn.Close() // one too many
		}
	}
}

// admit serves a connection, unless there are too many.
func (s *Server) admit(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.conns) >= maxConns {
		return false
	}
	s.conns[conn] = true
	s.serving.Go(func() { s.serve(conn) })
	return true
}

// serve answers a connection until either side closes, or sends a line longer than any command.
func (s *Server) serve(conn net.Conn) {
	defer func() {
		_ = conn.Close() // all is said
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
	}()
	// The reader's size is the bound of a line: a longer line is an error of ReadSlice.
	in, out := bufio.NewReaderSize(conn, MaxLine), bufio.NewWriter(conn)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		_, _ = out.Write(s.answer(bytes.TrimRight(line, "\r\n"))) // Flush has the error
		// Flushed once a pipeline and not once a command, as answers are read together.
		if in.Buffered() == 0 && out.Flush() != nil {
			return
		}
	}
}

// answer returns the answer to a command.
func (s *Server) answer(line []byte) []byte {
	switch {
	case string(line) == "mn":
		return []byte("MN\r\n")
	case string(line) == "version":
		return []byte("VERSION stand-in\r\n")
	case !bytes.HasPrefix(line, []byte("ma ")):
		return []byte("ERROR\r\n")
	}
	command, ok := parseAdd(line)
	if !ok {
		return []byte("CLIENT_ERROR bad command line format\r\n")
	}
	return s.add(&command)
}

// addCommand is a `ma` command.
type addCommand struct {
	key          string
	create       bool // where there is none, with first, for ttl
	ttl          uint64
	first, delta uint64
	opaque       string // with its O; empty: none
}

// parseAdd reads an `ma` command asking for the value; false for anything else.
func parseAdd(line []byte) (c addCommand, ok bool) {
	words := bytes.Fields(line)
	if len(words) < 2 || string(words[0]) != "ma" || len(words[1]) > 250 {
		return c, false
	}
	c.key = string(words[1])
	// memcached's own defaults of D and J.
	c.delta, c.first = 1, 0
	wantsValue := false
	for _, flag := range words[2:] {
		if flag[0] == 'v' {
			wantsValue = true
		} else if !c.flag(flag[0], string(flag[1:])) {
			return addCommand{}, false
		}
	}
	return c, wantsValue
}

// flag takes in a flag; false if there is none such.
func (c *addCommand) flag(name byte, value string) bool {
	var err error
	switch name {
	case 'N':
		c.create = true
		c.ttl, err = strconv.ParseUint(value, 10, 32)
	case 'J':
		c.first, err = strconv.ParseUint(value, 10, 64)
	case 'D':
		c.delta, err = strconv.ParseUint(value, 10, 64)
	case 'O':
		c.opaque = " O" + value
		if len(value) == 0 || len(value) > 32 {
			return false
		}
	default:
		return false
	}
	return err == nil
}

// add carries out a command.
func (s *Server) add(c *addCommand) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	is, there := s.counters[c.key]
	there = there && now.Before(is.until)
	switch {
	case there:
		is.total += c.delta // wraps, as memcached's do
	case !c.create:
		return fmt.Appendf(nil, "NF%s\r\n", c.opaque)
	default:
		if !s.room(now) {
			s.full++
			return []byte("SERVER_ERROR out of memory storing object\r\n")
		}
		is = serverCounter{total: c.first, until: now.Add(lifeOf(c.ttl))}
	}
	s.counters[c.key] = is
	text := strconv.FormatUint(is.total, 10)
	return fmt.Appendf(nil, "VA %d%s\r\n%s\r\n", len(text), c.opaque, text)
}

// lifeOf returns how long a counter of seconds lives; 0 seconds: for ever.
func lifeOf(ttl uint64) time.Duration {
	if ttl == 0 {
		return math.MaxInt64
	}
	return time.Duration(ttl) * time.Second // of 32 bits: no more than 2^62 ns
}

// room reports whether another counter fits, once lapsed counters are forgotten. Lapsed counters
// are looked for only when full: most runs never come there.
func (s *Server) room(now time.Time) bool {
	if len(s.counters) < maxCounters {
		return true
	}
	for key, is := range s.counters {
		if !now.Before(is.until) {
			delete(s.counters, key)
		}
	}
	return len(s.counters) < maxCounters
}
