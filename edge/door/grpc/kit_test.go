package grpc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/door/grpc"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

// house is a door that serves, and the gate behind it.
type house struct {
	gate *gate.Gate
	door *grpc.Door
	room *ask.Room
	addr net.Addr
	stop func()
}

// open serves a door with the rules and policies of a configuration until the test ends.
func open(t testing.TB, yaml string) *house {
	t.Helper()
	h := &house{}
	h.gate, h.room = gatetest.Policies(t, 1<<20, yaml)
	h.door = grpc.New(h.gate, grpc.Options{Room: h.room}, h.gate.Lane(0), h.gate.Lane(1))
	h.serve(t, config.Address{Host: "127.0.0.1"}, func(ln net.Listener) net.Listener { return ln })
	return h
}

// serve has the door serve at another address, behind wrap.
func (h *house) serve(t testing.TB, at config.Address, wrap func(net.Listener) net.Listener) {
	t.Helper()
	if h.stop != nil {
		h.stop()
	}
	ln, err := door.Listen(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	h.addr = ln.Addr()
	h.stop = doortest.Serve(t, func(ctx context.Context) error {
		return h.door.Serve(ctx,
			wrap(ln))
	})
}

// client is one connection that asks one call after the other.
type client struct {
	t     testing.TB
	conn  net.Conn
	id    uint32
	enc   *hpack.Encoder
	block strings.Builder
	dec   *hpack.Decoder
}

// dial connects to h and greets.
func (h *house) dial(t testing.TB) *client { return greet(t, doortest.Dial(t, h.addr)) }

func greet(t testing.TB, conn net.Conn) *client {
	c := &client{t: t, conn: conn, id: 1, dec: hpack.NewDecoder(4096, nil)}
	c.enc = hpack.NewEncoder(&c.block)
	c.write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, 0, 0, ""))
	return c
}

func (c *client) write(all ...[]byte) {
	c.t.Helper()
	for _, b := range all {
		if _, err := c.conn.Write(b); err != nil {
			c.t.Fatal(err)
		}
	}
}

// frame returns a frame of HTTP/2.
func frame(kind, flags byte, id uint32, payload string) []byte {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	return append(binary.BigEndian.AppendUint32(b, id), payload...)
}

// send sends a call and returns its stream.
func (c *client) send(method, message string) uint32 {
	c.t.Helper()
	stream, rest := c.begin(method, message)
	c.write(rest)
	return stream
}

// head has block hold the head of a call.
func (c *client) head(method string) {
	c.block.Reset()
	for _, f := range [][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":path", method},
		{":authority", "h"},
		{"content-type", "application/grpc"},
		{"te", "trailers"},
	} {
		_ = c.enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
}

// begin sends the head of a call. It returns its stream, and the frames that are the rest of it.
func (c *client) begin(method, message string) (stream uint32, rest []byte) {
	c.t.Helper()
	c.head(method)
	prefix := string(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))))
	c.write(frame(1, 4, c.id, c.block.String()))
	c.id += 2
	for message = prefix + message; len(message) > 16<<10; message = message[16<<10:] {
		rest = append(rest, frame(0, 0, c.id-2, message[:16<<10])...)
	}
	return c.id - 2, append(rest, frame(0, 1, c.id-2, message)...)
}

// frame reads the next frame.
func (c *client) frame() (kind, flags byte, id uint32, payload []byte) {
	c.t.Helper()
	var head [9]byte
	if _, err := io.ReadFull(c.conn, head[:]); err != nil {
		c.t.Fatal(err)
	}
	payload = make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
	if _, err := io.ReadFull(c.conn, payload); err != nil {
		c.t.Fatal(err)
	}
	return head[3], head[4], binary.BigEndian.Uint32(head[5:]), payload
}

// receive returns the answer of a stream: its message, and its grpc-status with its text.
func (c *client) receive(stream uint32) (message, status string) {
	c.t.Helper()
	for {
		kind, flags, id, payload := c.frame()
		switch {
		case kind == 7:
			c.t.Fatalf("GOAWAY %x", payload)
		case kind == 3 && id == stream:
			c.t.Fatalf("RST_STREAM %x", payload)
		case kind == 0 && id == stream:
			message += string(payload)
		case kind == 1:
			list, err := c.dec.DecodeFull(payload)
			if err != nil {
				c.t.Fatal(err)
			}
			for _, f := range list {
				if f.Name == "grpc-status" || f.Name == "grpc-message" {
					status = strings.TrimSpace(status + " " + f.Value)
				}
			}
			if flags&1 != 0 && id == stream {
				return strings.TrimPrefix(message, message[:min(5, len(message))]), status
			}
		}
	}
}

const limitMethod = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"

// limit asks ShouldRateLimit and returns the answer in words.
func (c *client) limit(message string) string {
	c.t.Helper()
	answer, status := c.receive(c.send(limitMethod, message))
	if status != "0" {
		return "status " + status
	}
	return limitWords(c.t, answer)
}

// The messages of protobuf, put together from fields.

func num(number int, value uint64) string {
	return string(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(number)<<3), value))
}

func msg(number int, parts ...string) string {
	content := strings.Join(parts, "")
	return string(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(number)<<3|2),
		uint64(len(content)))) + content
}

// limits returns a RateLimitRequest of domain with descriptors.
func limits(domain string, parts ...string) string {
	return msg(1, domain) + strings.Join(parts, "")
}

// describe returns a descriptor of keys and values, and of more fields behind "+".
func describe(pairs ...string) string {
	content := ""
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] == "+" {
			content += pairs[i+1]
			continue
		}
		content += msg(1, msg(1, pairs[i]), msg(2, pairs[i+1]))
	}
	return msg(2, content)
}

// field is one field of a message.
type field struct {
	number int
	value  uint64
	data   string
}

// parse reads the fields of a message.
func parse(t testing.TB, message string) (all []field) {
	t.Helper()
	b := []byte(message)
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		b = b[max(n, 0):]
		v, m := binary.Uvarint(b)
		if n <= 0 || m <= 0 || tag&7 != 0 && tag&7 != 2 || tag&7 == 2 && uint64(len(b)-m) < v {
			t.Fatalf("no message: %q", message)
		}
		b = b[m:]
		f := field{number: int(tag >> 3), value: v}
		if tag&7 == 2 {
			f.data, b = string(b[:v]), b[v:]
		}
		all = append(all, f)
	}
	return all
}

// limitWords says what a RateLimitResponse says: OK [OK login 5/MINUTE left 4 reset 60] …
func limitWords(t testing.TB, message string) string {
	t.Helper()
	codes := []string{"?", "OK", "OVER"}
	words := ""
	for _, f := range parse(t, message) {
		switch f.number {
		case 1:
			words += codes[f.value]
		case 2:
			words += " [" + statusWords(t, f.data, codes) + "]"
		case 3:
			header := parse(t, f.data)
			words += fmt.Sprintf(" %s: %s", header[0].data, header[1].data)
		case 4:
			header := parse(t, f.data)
			words += fmt.Sprintf(" ^%s: %s", header[0].data, header[1].data)
		case 5:
			words += " " + f.data
		case 6:
			if _, denied, ok := strings.Cut(f.data, "shadow_denied"); ok {
				words += " dark " + denied[strings.LastIndexAny(denied, "\x1a")+2:]
			} else {
				words += " status " + statusOf(f.data)
			}
		}
	}
	return words
}

// statusOf returns the number status of a google.protobuf.Struct.
func statusOf(message string) string {
	b := []byte(message)
	at := bytes.Index(b, []byte("\x0a\x06status\x12\x09\x11"))
	if at != 2 || len(b) != at+11+8 || b[0] != 1<<3|2 || int(b[1]) != len(b)-2 {
		return fmt.Sprintf("%q", message)
	}
	return fmt.Sprint(math.Float64frombits(binary.LittleEndian.Uint64(b[at+11:])))
}

func statusWords(t testing.TB, message string, codes []string) string {
	t.Helper()
	var code, limit, name, left, reset string
	left = " left 0"
	for _, f := range parse(t, message) {
		switch f.number {
		case 1:
			code = codes[f.value]
		case 2:
			per, unit, times := "0", uint64(0), ""
			for _, f := range parse(t, f.data) {
				switch f.number {
				case 1:
					per = fmt.Sprint(f.value)
				case 2:
					unit = f.value
				case 3:
					name = " " + f.data
				case 4:
					times = fmt.Sprint(parse(t, f.data)[0].value)
				}
			}
			limit = fmt.Sprintf(" %s/%s%s", per, times,
				[]string{"?", "SECOND", "MINUTE", "HOUR", "DAY"}[unit])
		case 3:
			left = fmt.Sprintf(" left %d", f.value)
		case 4:
			reset = " reset 0"
			for _, f := range parse(t, f.data) {
				reset = fmt.Sprintf(" reset %d", f.value)
			}
		}
	}
	if limit == "" {
		left = ""
	}
	return code + name + limit + left + reset
}

// left returns what is left of the limit of rule for key.
func (h *house) left(rule, key string) int64 {
	return gatetest.Decide(h.gate, h.gate.Now(), gate.Peek, rule, key, 1).Remaining
}
