package guard

import (
	"net"
	"time"
)

// accept passes a stream on, or closes it.
func (g *Guard) accept(conn net.Conn) {
	s, why, ok := g.admitStream(conn)
	if !ok {
		g.c.Dropped.Add(why)
		_ = conn.Close()
		return
	}
	select {
	case g.streams <- s:
	case <-g.ctx.Done():
		_ = s.Close()
	}
}

// admitStream checks the address, the rate and the number of incoming streams.
func (g *Guard) admitStream(conn net.Conn) (*stream, Reason, bool) {
	if !g.allowed(conn.RemoteAddr()) {
		return nil, Foreign, false
	}
	if !g.accepts.Take(time.Now()) {
		return nil, Accepts, false
	}
	s := g.track(conn, true)
	if s == nil {
		return nil, Streams, false
	}
	g.c.Streams.Came(0)
	return s, 0, true
}

// track registers a stream; it returns nil if too many incoming streams are open.
func (g *Guard) track(conn net.Conn, theirs bool) *stream {
	s := &stream{Conn: conn, g: g, theirs: theirs, host: hostOf(conn.RemoteAddr())}
	g.mu.Lock()
	defer g.mu.Unlock()
	if theirs && g.crowded(s.host) {
		return nil
	}
	g.open[s] = struct{}{}
	return s
}

// crowded reports whether there is no room for a stream from host. The caller holds mu.
func (g *Guard) crowded(host string) bool {
	all, same := 0, 0
	for s := range g.open {
		all += number(s.theirs)
		same += number(s.theirs && s.host == host)
	}
	return all >= MaxStreams || same >= MaxHostStreams
}

// hostOf returns the host part of an address.
func hostOf(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return host
}

// untrack removes a closed stream, and wakes those that wait for its place.
func (g *Guard) untrack(s *stream) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.open, s)
	if s.large {
		close(g.freed)
		g.freed = make(chan struct{})
	}
}

// number is 1 for true, else 0.
func number(b bool) int {
	if b {
		return 1
	}
	return 0
}
