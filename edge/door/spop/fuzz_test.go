package spop_test

import (
	"io"
	"net"
	"testing"

	"github.com/headgate-dev/headgate/edge/door/doortest"
)

// FuzzFrames: whatever arrives behind a HELLO, the answer is whole frames with known types, and the
// door answers the next connection.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		"", helloOf26,
		frameOf(notify, fin, 1, 1, message("ask", "path", "/login", "method",
			"POST", "src", visitor)),
		frameOf(notify, fin, 1, 1, message("ask", "rule", "login", "key", "k")+message("report",
			"ticket", "-", "status", -1)),
		frameOf(notify, fin, 1<<40, 1, message("ask", "hdrs", []byte(str("a")+str("b")+"\x00\x00"),
			"url", "//x/../y?q")),
		frameOf(notify, 0, 1, 1, "x"), frameOf(disconnect, fin, 0, 0, ""),
		"\x00\x00\x00\x01\x03", "\xff\xff\xff\xff",
	} {
		f.Add([]byte(seed))
	}
	a := open(f, policies)
	f.Fuzz(func(t *testing.T, data []byte) {
		c := doortest.Dial(t, a.addr)
		if _, err := c.Write(append([]byte(helloOf26), data...)); err != nil {
			return // it was closed, which is an answer too
		}
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
		out, _ := io.ReadAll(c) // a reset ends it likewise
		for rest := out; len(rest) > 0; {
			if len(rest) < 4 {
				t.Fatalf("%d bytes of a frame", len(rest))
			}
			n := int(rest[0])<<24 | int(rest[1])<<16 | int(rest[2])<<8 | int(rest[3])
			if n > 16380 || n > len(rest)-4 || n < 7 {
				t.Fatalf("a frame of %d bytes in %d", n, len(rest)-4)
			}
			if kind := rest[4]; kind < agentHello || kind > ack {
				t.Fatalf("type %d", kind)
			}
			rest = rest[4+n:]
		}
	})
}
