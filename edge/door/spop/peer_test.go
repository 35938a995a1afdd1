package spop_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door/budget"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/door/spop"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

// The types of frames, of values, and the flag of a whole frame.
const (
	hello, disconnect, notify, agentHello, agentDisconnect, ack = 1, 2, 3, 101, 102, 103
	null, boolean, int32s, uint32s, int64s, uint64s             = 0, 1, 2, 3, 4, 5
	ipv4, ipv6, text, binaryText                                = 6, 7, 8, 9
	fin                                                         = 1
)

// varint is the number n as the protocol writes it; this is the oracle of the door's own.
func varint(n uint64) string {
	if n < 240 {
		return string([]byte{byte(n)})
	}
	b := []byte{byte(n) | 0xf0}
	for n = (n - 240) / 16; n >= 128; n = (n - 128) / 128 {
		b = append(b, byte(n)|0x80)
	}
	return string(append(b, byte(n)))
}

// str is a string with its length.
func str(s string) string { return varint(uint64(len(s))) + s }

// val is a typed value of a Go value.
func val(v any) string {
	switch v := v.(type) {
	case nil:
		return string([]byte{null})
	case bool:
		return map[bool]string{true: "\x11", false: "\x01"}[v]
	case int:
		return string([]byte{int32s}) + varint(uint64(int64(v)))
	case uint32:
		return string([]byte{uint32s}) + varint(uint64(v))
	case int64:
		return string([]byte{int64s}) + varint(uint64(v))
	case uint64:
		return string([]byte{uint64s}) + varint(v)
	case netip.Addr:
		return string([]byte{map[bool]byte{true: ipv4, false: ipv6}[v.Is4()]}) + string(v.AsSlice())
	case []byte:
		return string([]byte{binaryText}) + str(string(v))
	case string:
		return string([]byte{text}) + str(v)
	}
	panic(fmt.Sprintf("%T", v))
}

// kvs is a list of names and values.
func kvs(pairs ...any) string {
	var b strings.Builder
	for pair := range slices.Chunk(pairs, 2) {
		b.WriteString(str(pair[0].(string)) + val(pair[1]))
	}
	return b.String()
}

// frameOf is one frame with its length.
func frameOf(kind byte, flags uint32, stream, number uint64, payload string) string {
	b := string([]byte{kind}) + string(binary.BigEndian.AppendUint32(nil,
		flags)) + varint(stream) + varint(number) + payload
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(b)))) + b
}

// message is one message of a NOTIFY.
func message(name string, pairs ...any) string {
	return str(name) + string([]byte{byte(len(pairs) / 2)}) + kvs(pairs...)
}

// helloOf26 is the first frame of HAProxy 2.6.
var helloOf26 = frameOf(hello, fin, 0, 0,
	kvs("supported-versions", "2.0", "max-frame-size", uint32(16380), "capabilities",
		"pipelining,async", "engine-id", "x"))

// reader reads what the agent sends.
type reader struct {
	t testing.TB
	b string
}

func (r *reader) number() uint64 {
	n := uint64(r.byte())
	if n < 240 {
		return n
	}
	for mul := uint64(16); ; mul *= 128 {
		c := uint64(r.byte())
		n += c * mul
		if c < 128 {
			return n
		}
	}
}

func (r *reader) byte() byte {
	if r.b == "" {
		r.t.Fatal("the frame ends too early")
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *reader) str() string {
	n := int(r.number())
	if n > len(r.b) {
		r.t.Fatal("a string is longer than its frame")
	}
	s := r.b[:n]
	r.b = r.b[n:]
	return s
}

func (r *reader) value() any {
	switch c := r.byte(); c & 15 {
	case boolean:
		return c>>4 == 1
	case uint32s:
		return r.number()
	case text:
		return r.str()
	default:
		r.t.Fatalf("a value of type %d", c)
		return nil
	}
}

// agent is a door with the connection of one HAProxy to it.
type agent struct {
	bytes *budget.Budget
	testing.TB
	door *spop.Door
	room *ask.Room
	gate *gate.Gate
	addr net.Addr
	stop func() // ends the door, and waits
	net.Conn
}

// open serves the configuration in text until the test ends, and connects.
func open(t testing.TB, text string) *agent {
	t.Helper()
	g, room := gatetest.Policies(t, 1<<20, text)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	bytes := budget.New(budget.Most)
	a := &agent{
		TB: t, door: spop.New(g, room, bytes, g.Lane(0)), room: room, gate: g,
		addr: ln.Addr(), bytes: bytes,
	}
	a.stop = doortest.Serve(t, func(ctx context.Context) error { return a.door.Serve(ctx, ln) })
	a.Conn = doortest.Dial(t, a.addr)
	return a
}

// send sends frames as they are.
func (a *agent) send(frames ...string) {
	a.Helper()
	if _, err := io.WriteString(a.Conn, strings.Join(frames, "")); err != nil {
		a.Fatal(err)
	}
}

// receive reads one frame and returns it as text: ACKs by their ids and variables, the others by
// their pairs. At the end of the connection it is "closed".
func (a *agent) receive() string {
	a.Helper()
	var length [4]byte
	if _, err := io.ReadFull(a.Conn, length[:]); err != nil {
		return "closed"
	}
	b := make([]byte, binary.BigEndian.Uint32(length[:]))
	if _, err := io.ReadFull(a.Conn, b); err != nil {
		a.Fatal(err)
	}
	if binary.BigEndian.Uint32(b[1:]) != fin {
		a.Errorf("flags %x", b[1:5])
	}
	r := &reader{a, string(b[5:])}
	out := fmt.Sprintf("%s %d/%d",
		map[byte]string{agentHello: "hello", agentDisconnect: "disconnect", ack: "ack"}[b[0]],
		r.number(), r.number())
	for r.b != "" {
		if b[0] == ack {
			// set-var, three arguments, a transaction's
			if head := fmt.Sprint(r.byte(), r.byte(), r.byte()); head != "1 3 2" {
				a.Errorf("action %s", head)
			}
		}
		out += fmt.Sprintf(" %s=%v", r.str(), r.value())
	}
	return out
}

// want receives one frame and compares it.
func (a *agent) want(want string) {
	a.Helper()
	if got := a.receive(); got != want {
		a.Errorf("got  %s\nwant %s", got, want)
	}
}

// greet exchanges HELLOs.
func (a *agent) greet() {
	a.Helper()
	a.send(helloOf26)
	a.want("hello 0/0 version=2.0 max-frame-size=16380 capabilities=pipelining")
}
