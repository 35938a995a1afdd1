package resp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/door/resp"
	"github.com/headgate-dev/headgate/edge/door/stream"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

const policies = `
rules: [{name: login, limit: 2, window: 1m}, {name: shy, limit: 1, window: 1m, mode: shadow}, {name: closed, limit: 1, window: 1m, failure_mode: deny}]
policies:
  - {name: scanners, match: {path: "/.env"}, deny: 403}
  - {name: failures, match: {path: "/login"}, count_when: {path: "/login", status: 401}, limit: 2, window: 1m}
  - {name: api, match: {path: "/v2/**", header.x-plan: gold}, limit: 1, window: 1m}
  - {name: quiet, match: {path: "/quiet"}, limit: 1, window: 1m, on_deny: {status: 503, announce: false, body: later}}
  - {name: trap, match: {path: "/trap"}, limit: 1, window: 1m, on_deny: {deceive: true}}
`

// node is a door with the connection of one client to it.
type node struct {
	testing.TB
	door *resp.Door
	room *ask.Room
	gate *gate.Gate
	addr net.Addr
	stop func() // ends the door, and waits
	net.Conn
	in *bufio.Reader
}

// open serves the policies until the test ends, with rule as CL.THROTTLE's, and connects.
func open(t testing.TB, rule string, bytes int64) *node {
	t.Helper()
	return openWith(t, policies, rule, bytes)
}

// openWith is open for other policies.
func openWith(t testing.TB, policies, rule string, bytes int64) *node {
	t.Helper()
	return openOptions(t, policies, resp.Options{Rule: rule, Bytes: bytes})
}

// openOptions is openWith for other options; their Room is the policies'.
func openOptions(t testing.TB, policies string, o resp.Options) *node {
	t.Helper()
	g, room := gatetest.Policies(t, 1<<20, policies)
	o.Room = room
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &node{TB: t, room: room, gate: g, addr: ln.Addr(), door: resp.New(g, o, g.Lane(0))}
	n.stop = doortest.Serve(t, func(ctx context.Context) error { return n.door.Serve(ctx, ln) })
	n.connect()
	return n
}

// connect begins a fresh connection.
func (n *node) connect() {
	n.Helper()
	n.Conn = doortest.Dial(n, n.addr)
	n.in = bufio.NewReader(n.Conn)
}

// held fails the test unless a connection that is at fault since began keeps its place for a while,
// and then leaves those that are left.
func (n *node) held(began time.Time, left int) {
	n.Helper()
	doortest.WaitFor(n, func() bool { return n.door.Stats().Open == left })
	if kept := time.Since(began); kept < stream.FaultPause {
		n.Errorf("a connection at fault kept its place for %v", kept)
	}
}

// command is a command as clients send it.
func command(args ...string) string {
	b := fmt.Sprintf("*%d\r\n", len(args))
	for _, a := range args {
		b += fmt.Sprintf("$%d\r\n%s\r\n", len(a), a)
	}
	return b
}

// send sends text as it is.
func (n *node) send(text string) {
	n.Helper()
	if _, err := io.WriteString(n.Conn, text); err != nil {
		n.Fatal(err)
	}
}

// receive reads one answer as text: lists in brackets, maps in braces.
func (n *node) receive() string {
	n.Helper()
	line, err := n.in.ReadString('\n')
	if errors.Is(err, io.EOF) {
		return "closed"
	}
	if err != nil || !strings.HasSuffix(line, "\r\n") || len(line) < 3 {
		n.Fatalf("%q, %v", line, err)
	}
	kind, rest := line[0], line[1:len(line)-2]
	switch kind {
	case '+', '-', ':':
		return rest
	case '_':
		return "null"
	}
	size, err := strconv.Atoi(rest)
	if err != nil || strconv.Itoa(size) != rest {
		n.Fatalf("%q", line)
	}
	switch {
	case kind == '$' && size < 0:
		return "null"
	case kind == '$':
		b := make([]byte, size+2)
		if _, err := io.ReadFull(n.in, b); err != nil || string(b[size:]) != "\r\n" {
			n.Fatalf("%q, %v", b, err)
		}
		return string(b[:size])
	case kind == '*':
		return "[" + n.several(size) + "]"
	case kind == '%':
		return "{" + n.several(2*size) + "}"
	}
	n.Fatalf("%q", line)
	return ""
}

func (n *node) several(size int) string {
	n.Helper()
	all := make([]string, size)
	for i := range all {
		all[i] = n.receive()
	}
	return strings.Join(all, " ")
}

// do sends a command and returns the answer.
func (n *node) do(args ...string) string {
	n.Helper()
	n.send(command(args...))
	return n.receive()
}

// want compares the answer to a command in one line, with words between spaces; "…" ends a prefix.
func (n *node) want(line, want string) (got string) {
	n.Helper()
	got = n.do(strings.Fields(line)...)
	start, more := strings.CutSuffix(want, "…")
	if got != want && (!more || !strings.HasPrefix(got, start)) {
		n.Errorf("%s\n got %s\nwant %s", line, got, want)
	}
	return got
}

// wants is want for each line of script: a command, an arrow and the answer.
func (n *node) wants(script string) {
	n.Helper()
	for command, answer := range doortest.Script(script) {
		n.want(command, answer)
	}
}
