package seam

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"testing"
)

// maxHead is how much of a head the site reads.
const maxHead = 1 << 20

// Site is the site behind a proxy. It reads heads as bytes, refuses none, and notes each.
type Site struct {
	net.Listener
	note func(Served)
}

// OpenSite serves a site on loopback until the test ends. note is called for each request, at any
// time and by several at once.
func OpenSite(t testing.TB, note func(Served)) *Site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s := &Site{l, note}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return s
}

// serve answers the requests of a connection.
func (s *Site) serve(conn net.Conn) {
	defer conn.Close() //nolint:errcheck // of a test
	in := bufio.NewReaderSize(conn, 4096)
	for {
		served, version, err := readHead(in)
		if err != nil {
			return
		}
		s.note(served)
		r := Request{Headers: served.Headers}
		ended := readBody(in, &r) != nil || version != "HTTP/1.1" ||
			strings.EqualFold(r.Get("Connection"), "close")
		answer := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
		if ended {
			answer += "Connection: close\r\n"
		}
		answer += "\r\n"
		if served.Method != "HEAD" {
			answer += "ok"
		}
		if _, err := io.WriteString(conn, answer); err != nil || ended {
			return
		}
	}
}

// readHead reads a request's head.
func readHead(in *bufio.Reader) (served Served, version string, err error) {
	size := 0
	for first := true; ; first = false {
		line, err := in.ReadString('\n')
		if size += len(line); err != nil || size > maxHead {
			return served, "", errors.Join(io.ErrUnexpectedEOF, err)
		}
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if first {
			served.Method, served.Target, _ = strings.Cut(line, " ")
			if at := strings.LastIndexByte(served.Target, ' '); at >= 0 {
				served.Target, version = served.Target[:at], served.Target[at+1:]
			}
			continue
		}
		if line == "" {
			return served, version, nil
		}
		served.header(line)
	}
}

// header notes a line of the head.
func (s *Served) header(line string) {
	name, value, _ := strings.Cut(line, ":")
	value = strings.Trim(value, " \t")
	switch {
	case strings.EqualFold(name, "X-Row"):
		s.Row = value
	case strings.EqualFold(name, "X-Served-Uri"): // between marks: its blanks are a path's
		s.URI = strings.Trim(value, "<>")
	default:
		s.Headers = append(s.Headers, Header{name, value})
	}
}

// readBody passes over a body.
func readBody(in *bufio.Reader, r *Request) error {
	if strings.EqualFold(r.Get("Transfer-Encoding"), "chunked") {
		if _, err := io.Copy(io.Discard, httputil.NewChunkedReader(in)); err != nil {
			return err
		}
		for {
			if line, err := in.ReadString('\n'); err != nil || strings.TrimSpace(line) == "" {
				return err
			}
		}
	}
	length, err := strconv.ParseInt(r.Get("Content-Length"), 10, 64)
	if err != nil || length <= 0 {
		return nil //nolint:nilerr // a length that is none is no body
	}
	_, err = io.CopyN(io.Discard, in, length)
	return err
}

// Received is what a handler of net/http was asked to serve, as the server reads it.
func Received(r *http.Request) Served {
	s := Served{
		Row: r.Header.Get("X-Row"), Method: r.Method, Target: r.URL.RequestURI(),
		Headers: []Header{{"Host", r.Host}},
	}
	for name, values := range r.Header {
		for _, value := range values {
			s.Headers = append(s.Headers, Header{name, value})
		}
	}
	return s
}
