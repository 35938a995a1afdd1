package edge_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2/hpack"
)

const allDoors = `udp: "127.0.0.1:0", http: "127.0.0.1:0", admin: "127.0.0.1:0", grpc: "127.0.0.1:0", spop: "127.0.0.1:0", resp: "127.0.0.1:0"`

const fullConfig = `
rules: [{name: login, limit: 5, window: 1m}]
policies:
  - {name: exports, match: {path: /export}, kind: concurrency, limit: 1}
`

// TestErrorsByDoor: each door says the same fault in its own words, and none of them by a denial.
// The length of a message of gRPC is no fault: a visitor chooses the length of its headers.
func TestErrorsByDoor(t *testing.T) {
	t.Parallel()
	r := startAt(t, allDoors, fullConfig)
	for _, tt := range []struct{ fault, door, got, want string }{
		{"grammar", "lines", r.send("check login"), "error bad-request"},
		{"grammar", "HTTP", r.visit("/v1/check?rule=login"), "400"},
		{"grammar", "gRPC", r.call("\xff"), "3"},
		{"grammar", "SPOE", r.notify("\x09ask"), "disconnect 4"},
		{"grammar", "RESP", r.redis("HEADGATE.CHECK", "login", "k", "many"), "-ERR bad-request"},
		{"unknown rule", "lines", r.send("check nosuch k"), "error unknown-rule"},
		{"unknown pool", "lines", r.send("load nosuch 0.5"), "error unknown-pool"},
		{"unknown rule", "HTTP", r.visit("/v1/check?rule=nosuch&key=k"), "404"},
		{"unknown pool", "HTTP", r.visit("/v1/load?pool=nosuch&utilisation=0.5"), "404"},
		{"unknown rule", "gRPC", r.call(descriptor("rule", "nosuch", "k", "v")), "5"},
		{
			"unknown rule", "SPOE", r.ask("rule", "nosuch", "key", "k"),
			"\x01\x03\x02\x05error\x08\x0cunknown-rule",
		},
		{"unknown rule", "RESP", r.redis("HEADGATE.CHECK", "nosuch", "k"), "-ERR unknown-rule"},
		{"too long", "lines", r.send("check login " + strings.Repeat("k", 257)), "error too-long"},
		{
			"too long", "HTTP", r.visit("/v1/check?rule=login&key=" + strings.Repeat("k", 20<<10)),
			"414",
		},
		// OVER_LIMIT: the visitor's doing
		{"too long", "gRPC", r.call(strings.Repeat("x", 65<<10)), "0 \x08\x02"},
		{"too long", "SPOE", r.notify(strings.Repeat("x", 17<<10)), "disconnect 3"},
		{
			"too long", "RESP", r.redis("HEADGATE.CHECK", "login", strings.Repeat("k", 65<<10)),
			"-ERR Protocol error",
		},
		{"no policy", "lines", r.send("ask path=/"), "allow why=none"},
		{"no policy", "HTTP", r.visit("/v1/auth/envoy/"), "200"},
		// OK, one status, OK
		{"no policy", "gRPC", r.call(descriptor("path", "/")), "0 \x08\x01\x12\x02\x08\x01"},
		{"no policy", "SPOE", r.ask("path", "/"), "\x01\x03\x02\x04deny\x01"},
		{
			"no policy", "RESP", r.redis("HEADGATE.ASK", "path", "/"),
			"*4\r\n$7\r\nverdict\r\n$5\r\nallow\r\n$3\r\nwhy\r\n$4\r\nnone\r\n",
		},
	} {
		if !strings.HasPrefix(tt.got, tt.want) {
			t.Errorf("%s, %s: %.60q, want %q", tt.fault, tt.door, tt.got, tt.want)
		}
	}
}

// TestNoLeaseByDoor: where all leases are taken the failure mode decides, and each door says so.
func TestNoLeaseByDoor(t *testing.T) {
	t.Parallel()
	r := startAt(t, allDoors, fullConfig)
	for n, taken := 0, ""; !strings.Contains(taken, "full=1"); n++ {
		var lines strings.Builder
		for i := range 40 {
			fmt.Fprintf(&lines, "acquire exports k%d-%d\n", n, i)
		}
		if taken = r.send(strings.TrimSuffix(lines.String(), "\n")); n > 3000 {
			t.Fatal("the leases do not end")
		}
	}
	for _, tt := range []struct{ door, got, want string }{
		{"lines", r.send("acquire exports other"), "allow full=1 "},
		{"lines", r.send("ask path=/export"), "allow full=1 "},
		{"HTTP", r.visit("/v1/acquire?rule=exports&key=other"), "200 full"},
		{"HTTP", r.visit("/v1/auth/envoy/export"), "200 full"},
		{"gRPC", r.call(descriptor("path", "/export")), "0 \x08\x01"},
		{"gRPC", r.call(descriptor("path", "/export")), "\x0a\x0dHeadgate-Full\x12\x011"},
		{"SPOE", r.ask("path", "/export"), "\x04deny\x01"},
		{"SPOE", r.ask("path", "/export"), "\x04full\x11"},
		{"RESP", r.redis("HEADGATE.ASK", "path", "/export"), "$4\r\nfull\r\n:1\r\n"},
	} {
		if !strings.Contains(tt.got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.door, tt.got, tt.want)
		}
	}
}

// visit returns the status of a GET, and " full" where the answer says that no lease was left.
func (r *running) visit(target string) string {
	r.Helper()
	is, err := http.Get("http://" + r.node.Addresses().HTTP[0].String() + target)
	if err != nil {
		r.Fatal(err)
	}
	_ = is.Body.Close()
	if is.Header.Get("Headgate-Full") == "1" {
		return fmt.Sprint(is.StatusCode, " full")
	}
	return fmt.Sprint(is.StatusCode)
}

// dial connects to a door of connections.
func (r *running) dial(door string) net.Conn {
	r.Helper()
	at := r.node.Addresses().Streams[door][0]
	c, err := net.Dial(at.Network(), at.String())
	if err != nil {
		r.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	return c
}

// redis returns the begin of the answer to a command.
func (r *running) redis(args ...string) string {
	r.Helper()
	c := r.dial("resp")
	defer func() { _ = c.Close() }()
	text := fmt.Sprintf("*%d\r\n", len(args))
	for _, a := range args {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(a), a)
	}
	// it fails where the door has closed the connection before the end
	_, _ = io.WriteString(c, text)
	b := make([]byte, 4<<10)
	n, err := c.Read(b)
	if err != nil {
		r.Fatal(err)
	}
	return string(b[:n])
}

// short is a text of SPOP below 240 bytes with its length.
func short(s string) string { return string([]byte{byte(len(s))}) + s }

// ask returns the variables that an agent sets for a message ask.
func (r *running) ask(pairs ...string) string {
	r.Helper()
	message := short("ask") + string([]byte{byte(len(pairs) / 2)})
	for pair := range slices.Chunk(pairs, 2) {
		message += short(pair[0]) + "\x08" + short(pair[1])
	}
	return r.notify(message)
}

// notify returns the payload of the answer to a NOTIFY, or "disconnect" and its status.
func (r *running) notify(payload string) string {
	r.Helper()
	c := r.dial("spop")
	defer func() { _ = c.Close() }()
	frame := func(kind, ids, payload string) string {
		b := kind + "\x00\x00\x00\x01" + ids + payload
		return string(binary.BigEndian.AppendUint32(nil, uint32(len(b)))) + b // short
	}
	hello := short("supported-versions") + "\x08" +
		short("2.0") + short("max-frame-size") + "\x03\xfc\xf0\x06" +
		short("capabilities") + "\x08\x00"
	// as above
	_, _ = io.WriteString(c, frame("\x01", "\x00\x00", hello)+frame("\x03", "\x01\x01", payload))
	for {
		var length [4]byte
		if _, err := io.ReadFull(c, length[:]); err != nil {
			r.Fatal(err)
		}
		b := make([]byte, binary.BigEndian.Uint32(length[:]))
		if _, err := io.ReadFull(c, b); err != nil {
			r.Fatal(err)
		}
		switch b[0] {
		case 102:
			return fmt.Sprint("disconnect ", b[7+len(short("status-code"))+1])
		case 103:
			return string(b[7:])
		}
	}
}

// descriptor is a RateLimitRequest of one descriptor.
func descriptor(pairs ...string) string {
	all := ""
	for pair := range slices.Chunk(pairs, 2) {
		entry := "\x0a" + short(pair[0]) + "\x12" + short(pair[1])
		all += "\x0a" + short(entry)
	}
	return "\x0a\x01d\x12" + short(all)
}

// call returns the grpc-status and the message of the answer to a call of the rate limit service.
func (r *running) call(message string) string {
	r.Helper()
	c := r.dial("grpc")
	defer func() { _ = c.Close() }()
	frame := func(kind, flags byte, id uint32, payload string) string {
		b := []byte{
			byte(len(payload) >> 16), byte(len(payload) >> 8),
			byte(len(payload)), kind, flags,
		}
		return string(binary.BigEndian.AppendUint32(b, id)) + payload
	}
	var head strings.Builder
	encoder := hpack.NewEncoder(&head)
	for _, f := range [][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":path", "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"},
		{":authority", "h"},
		{"content-type", "application/grpc"},
		{"te", "trailers"},
	} {
		_ = encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	// short
	body := string(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))) + message
	sent := "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, "") + frame(1, 4, 1, head.String())
	for len(body) > 16<<10 {
		sent += frame(0, 0, 1, body[:16<<10])
		body = body[16<<10:]
	}
	_, _ = io.WriteString(c, sent+frame(0, 1, 1, body))
	return r.answer(c)
}

// answer reads the answer to the call of stream 1.
func (r *running) answer(c net.Conn) string {
	r.Helper()
	decoder, message := hpack.NewDecoder(4096, nil), ""
	for {
		var head [9]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			r.Fatal(err)
		}
		b := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(c, b); err != nil {
			r.Fatal(err)
		}
		switch kind, flags := head[3], head[4]; kind {
		case 0:
			message += string(b)
		case 1:
			list, err := decoder.DecodeFull(b)
			if err != nil {
				r.Fatal(err)
			}
			for _, f := range list {
				if f.Name == "grpc-status" && flags&1 != 0 {
					return f.Value + " " + message[min(5, len(message)):]
				}
			}
		}
	}
}
