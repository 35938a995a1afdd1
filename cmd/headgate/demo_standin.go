package main

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

// The bounds of what stands in for memcached.
const (
	standInLine     = 512     // bytes of a command
	standInConns    = 16      // at once; others are closed unread
	standInCounters = 1 << 16 // alive at once; one more is refused as by a memcached without memory
)

// standIn is what a ring needs of a memcached, for the demo on a machine that has none: counters that are added to and lapse.
//
//	mn                         ► MN
//	ma KEY N60 J5 D5 v O7      ► VA 1 O7 / 5     add 5, or create with 5 for 60 s
//	ma KEY D0 v O8             ► VA 1 O8 / 5     look; NF O8: no such counter
//	version                    ► VERSION stand-in
//
// Anything else is an ERROR.
type standIn struct {
	ln      net.Listener
	now     func() time.Time
	serving sync.WaitGroup

	mu       sync.Mutex
	counters map[string]standInCounter
	conns    map[net.Conn]bool
	closed   bool
	full     uint64 // counters that were refused for want of room
}

// standInCounter is a counter and when it lapses.
type standInCounter struct {
	total uint64
	until time.Time
}

// openStandIn returns a server on a free port of loopback.
func openStandIn(ctx context.Context, now func() time.Time) (*standIn, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("stand in for memcached: %w", err)
	}
	s := &standIn{ln: ln, now: now, counters: map[string]standInCounter{}, conns: map[net.Conn]bool{}}
	s.serving.Go(s.accept)
	return s, nil
}

// close ends it and returns when no goroutine is left.
func (s *standIn) close() error {
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

func (s *standIn) accept() {
	for {
		conn, err := s.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil && !s.admit(conn) {
			_ = conn.Close() // one too many
		}
	}
}

// admit serves a connection, unless there are too many.
func (s *standIn) admit(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.conns) >= standInConns {
		return false
	}
	s.conns[conn] = true
	s.serving.Go(func() { s.serve(conn) })
	return true
}

// serve answers a connection until either side closes it, or says what is longer than any command.
func (s *standIn) serve(conn net.Conn) {
	defer func() {
		_ = conn.Close() // all is said
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
	}()
	in, out := bufio.NewReaderSize(conn, standInLine), bufio.NewWriter(conn)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		_, _ = out.Write(s.answer(bytes.TrimRight(line, "\r\n"))) // Flush has the error
		if in.Buffered() == 0 && out.Flush() != nil {
			return
		}
	}
}

// answer returns what is said to one command.
func (s *standIn) answer(line []byte) []byte {
	switch {
	case string(line) == "mn":
		return []byte("MN\r\n")
	case string(line) == "version":
		return []byte("VERSION stand-in\r\n")
	case !bytes.HasPrefix(line, []byte("ma ")):
		return []byte("ERROR\r\n")
	}
	command, ok := parseStandIn(line)
	if !ok {
		return []byte("CLIENT_ERROR bad command line format\r\n")
	}
	return s.add(&command)
}

// standInAdd is one `ma` command.
type standInAdd struct {
	key          string
	create       bool // where there is none, with first, for ttl
	ttl          uint64
	first, delta uint64
	opaque       string // with its O; empty: none
}

// parseStandIn reads an `ma` command that asks for the value; false for anything else.
func parseStandIn(line []byte) (c standInAdd, ok bool) {
	words := bytes.Fields(line)
	if len(words) < 2 || string(words[0]) != "ma" || len(words[1]) > 250 {
		return c, false
	}
	c.key = string(words[1])
	c.delta, c.first = 1, 0
	wantsValue := false
	for _, flag := range words[2:] {
		if flag[0] == 'v' {
			wantsValue = true
		} else if !c.flag(flag[0], string(flag[1:])) {
			return standInAdd{}, false
		}
	}
	return c, wantsValue
}

// flag takes in one flag; false if there is none such.
func (c *standInAdd) flag(name byte, value string) bool {
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
func (s *standIn) add(c *standInAdd) []byte {
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
		is = standInCounter{total: c.first, until: now.Add(lifeOf(c.ttl))}
	}
	s.counters[c.key] = is
	text := strconv.FormatUint(is.total, 10)
	return fmt.Appendf(nil, "VA %d%s\r\n%s\r\n", len(text), c.opaque, text)
}

// lifeOf returns how long a counter of that many seconds lives; 0 seconds: for ever.
func lifeOf(ttl uint64) time.Duration {
	if ttl == 0 {
		return math.MaxInt64
	}
	return time.Duration(ttl) * time.Second // of 32 bits: no more than 2^62 ns
}

// room reports whether one more counter fits, once those that lapsed are forgotten.
func (s *standIn) room(now time.Time) bool {
	if len(s.counters) < standInCounters {
		return true
	}
	for key, is := range s.counters {
		if !now.Before(is.until) {
			delete(s.counters, key)
		}
	}
	return len(s.counters) < standInCounters
}
