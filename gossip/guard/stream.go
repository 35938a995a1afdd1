package guard

import (
	"io"
	"net"
	"sync"
)

// stream is a counted connection delivering a checked message, known to the guard while open.
type stream struct {
	net.Conn
	g      *Guard
	theirs bool
	// host is the peer's host.
	host string
	once sync.Once
	// large: the stream holds a place for a large message; protected by g.mu.
	large bool

	// read: the message was read.
	read bool
	// left is the unread rest.
	left []byte
	// err is the error afterwards.
	err error
}

// Read implements net.Conn.
func (s *stream) Read(b []byte) (int, error) {
	if !s.read {
		s.read, s.err = true, io.EOF
		whole, err := s.message()
		if err != nil {
			s.err = err
			return 0, err
		}
		s.left = whole
	}
	if len(s.left) == 0 {
		s.left = nil
		return 0, s.err
	}
	n := copy(b, s.left)
	s.left = s.left[n:]
	return n, nil
}

// source is the connection as a counted reader.
func (s *stream) source() io.Reader { return countedReader{s} }

// countedReader counts read bytes.
type countedReader struct{ s *stream }

// Read implements io.Reader.
func (r countedReader) Read(b []byte) (int, error) {
	n, err := r.s.Conn.Read(b)
	r.s.g.c.Streams.Read(n)
	return n, err
}

// Write implements net.Conn.
func (s *stream) Write(b []byte) (int, error) {
	n, err := s.Conn.Write(b)
	s.g.c.Streams.Wrote(n)
	return n, err
}

// Close implements net.Conn.
func (s *stream) Close() error {
	err := s.Conn.Close()
	s.once.Do(func() { s.g.untrack(s) })
	return err
}
