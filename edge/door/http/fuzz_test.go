package http

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/door/stream"
)

// FuzzHTTP sends whatever bytes on a connection and holds every answer to the contract: a known
// status, nothing of the client's in a header, and no query for an answer that is a problem.
func FuzzHTTP(f *testing.F) {
	for _, bad := range slices.Concat(badQueries, badRequests[:len(badRequests)-1], badJSON,
		ambiguousLengths, oddNames) {
		f.Add([]byte(bad.raw))
	}
	for _, raw := range cutBodies {
		f.Add([]byte(raw))
	}
	f.Add([]byte(okRequest + okRequest))
	f.Add([]byte(post("/v1/check", jsonType,
		`{"checks":[{"rule":"login","key":"shed"},{"rule":"per-ip","key":"b","cost":2}]}`)))
	f.Add([]byte("POST /v1/count HTTP/1.1\r\nHost: h\r\nContent-Type: " +
		"application/json\r\nTransfer-Encoding: chunked\r\n" +
		"Expect: 100-continue\r\n\r\n1b\r\n{\"rule\":\"login\",\"key\":\"a\"} \r\n0\r\nX: " +
		"y\r\n\r\n"))
	f.Add([]byte("GET /v1/check?rule=login&key=a&status=401 HTTP/1.0\r\nConnection: " +
		"keep-alive\r\n" + cookies(5000) + "\r\nGET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if bytes.Contains(raw, []byte("HEAD ")) {
			t.Skip("answers without their bodies cannot be told apart")
		}
		j := newFakeDecider()
		h := newDoor(j, testLimits())
		answered, counts := 0, 0
		for _, r := range converse(t, h, raw) {
			if r.StatusCode == http.StatusNoContent {
				counts++ // and does not say how many
			}
			answered += checkReply(t, r)
		}
		asked := len(j.queries())
		if asked < answered+counts || counts == 0 && asked > answered {
			t.Errorf("the gate was asked %d times for %d checks and %d counts",
				asked, answered, counts)
		}
		if n := h.Stats().UnderWay; n != 0 {
			t.Errorf("%d bytes under way", n)
		}
	})
}

// converse serves one connection that sends raw and then no more, and returns the answers.
func converse(t *testing.T, h *Door, raw []byte) []doortest.Reply {
	t.Helper()
	answers := answersTo(t, h, raw)
	var replies []doortest.Reply
	br := bufio.NewReader(bytes.NewReader(answers))
	for br.Buffered() > 0 || len(replies) == 0 {
		resp, err := http.ReadResponse(br, nil)
		if errors.Is(err, io.ErrUnexpectedEOF) && len(answers) == 0 {
			break // nothing was asked
		}
		if err != nil {
			t.Fatalf("%v in %q", err, answers)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatalf("%v in %q", err, answers)
		}
		if resp.StatusCode != http.StatusContinue {
			replies = append(replies, doortest.Reply{Response: resp, Text: string(body)})
		}
		if _, err := br.Peek(1); err != nil {
			break
		}
	}
	return replies
}

// answersTo serves one connection that sends raw and then no more, and returns all that is
// answered.
func answersTo(t *testing.T, h *Door, raw []byte) []byte {
	t.Helper()
	client, server := net.Pipe()
	defer func() { _ = client.Close() }()
	if err := client.SetDeadline(time.Now().Add(doortest.Patience)); err != nil {
		t.Fatal(err)
	}
	ln := make(oneConn, 1)
	ln <- &halfClosed{Conn: server, raw: bytes.NewReader(raw)}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- h.Serve(ctx, ln) }()
	answers, err := io.ReadAll(client)
	stop()
	if err := errors.Join(err, <-served); err != nil {
		t.Fatalf("read answers: %v", err)
	}
	return answers
}

// oneConn is a listener of one connection. Close ends the wait for another.
type oneConn chan net.Conn

func (l oneConn) Accept() (net.Conn, error) {
	if c := <-l; c != nil {
		return c, nil
	}
	return nil, net.ErrClosed
}

// Close is called twice.
func (l oneConn) Close() error {
	select {
	case l <- nil:
	default:
	}
	return nil
}

func (l oneConn) Addr() net.Addr { return &net.UnixAddr{} }

// connOn returns a connection of h on nc, which nobody serves.
func connOn(t testing.TB, h *Door, nc net.Conn) *conn {
	t.Helper()
	conns, done := make(chan *conn), make(chan struct{})
	h.server.Handle = func(sc *stream.Conn) {
		conns <- h.newConn(sc)
		<-done
	}
	ln := make(oneConn, 1)
	ln <- nc
	stop := doortest.Serve(t, func(ctx context.Context) error { return h.Serve(ctx, ln) })
	t.Cleanup(stop)
	t.Cleanup(func() { close(done) })
	return <-conns
}

// halfClosed is a connection whose other end sends raw and then closes its half.
type halfClosed struct {
	net.Conn
	raw *bytes.Reader
}

func (c *halfClosed) Read(b []byte) (int, error) { return c.raw.Read(b) }

// checkReply holds one answer to the contract and returns how many checks it answers.
func checkReply(t *testing.T, r doortest.Reply) int {
	t.Helper()
	for name, values := range r.Header {
		for _, v := range values {
			if strings.ContainsAny(name+v, "\r\n\x00") {
				t.Errorf("header %q: %q", name, v)
			}
		}
	}
	verdict := r.Header.Get("Headgate-Verdict")
	switch r.StatusCode {
	case 200:
		if verdict == "deny" {
			t.Errorf("a refusal with status 200")
		}
		var batch struct{ Results []json.RawMessage }
		if err := json.Unmarshal([]byte(r.Text), &batch); err != nil {
			t.Errorf("%v in %q", err, r.Text)
		}
		return max(1, len(batch.Results))
	case 204:
		return 0
	case 401, 403, 429:
		if verdict != "deny" {
			t.Errorf("status %d without a verdict", r.StatusCode)
		}
	case 400, 404, 405, 413, 414, 415, 431, 503:
	default:
		t.Errorf("status %d: %s", r.StatusCode, r.Text)
	}
	if !json.Valid([]byte(r.Text)) {
		t.Errorf("not JSON: %q", r.Text)
	}
	if verdict == "deny" {
		return 1
	}
	return 0
}
