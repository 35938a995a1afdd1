package h2_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/h2"
)

// FuzzFrames: no bytes of a peer make a connection panic, write what is no frame, or keep more than
// its bounds; and the same bytes in other parts have the same answers.
func FuzzFrames(f *testing.F) {
	p := newPeer(f, false)
	whole := append(p.call(1, "/echo", "abc"), p.call(3, "/fail", "")...)
	f.Add(whole, 7)
	f.Add(append(raw(headers, 0, 1, p.head("/long")),
		raw(continuation, endHeaders, 1, p.fields("a", "b"))...), 1)
	f.Add(append(raw(settings, 0, 0, "\x00\x04"+number(3)+"\x00\x01"+number(0)),
		p.call(1, "/long", "abc")...), 50)
	f.Add(append(raw(ping, 0, 0, "12345678"), raw(reset, 0, 1, number(8))...), 3)
	f.Add(append(raw(window, 0, 0, number(5)), raw(priority, 0, 1, number(3)+"x")...), 9)
	f.Add(append(raw(headers, endHeaders, 1, p.head("/echo", "grpc-encoding", "gzip")),
		raw(data, endStream|padded, 1, "\x01\x01"+number(9)+"\x1f\x8b\x08")...), 100)
	f.Fuzz(func(t *testing.T, bytes []byte, part int) {
		p, q := newPeer(t, false), newPeer(t, false)
		one := p.send(bytes)
		parts := ""
		for part = min(max(part, 1), 1000); len(bytes) > 0; bytes = bytes[min(part, len(bytes)):] {
			if out := q.send(bytes[:min(part, len(bytes))]); out != "" && parts != "" {
				parts += "|" + out
			} else {
				parts += out
			}
		}
		if one, parts = withoutCredit(one), withoutCredit(parts); one != parts ||
			(p.err == nil) != (q.err == nil) {
			t.Errorf("whole %s, %v\nparts %s, %v", one, p.err, parts, q.err)
		}
		if n := p.c.Streams(); n > h2.MaxStreams {
			t.Errorf("%d streams", n)
		}
		if p.echo.begun != p.echo.ended {
			t.Errorf("%+v", p.echo)
		}
		_ = p.c.Expire(time.Hour)
		if n := p.c.Streams(); n != 0 {
			t.Errorf("%d streams are never forgotten", n)
		}
		if p.c.Close(); p.echo.lent != 0 {
			t.Errorf("%d bytes are never given back", p.echo.lent)
		}
	})
}

// withoutCredit leaves out what is sent once a read.
func withoutCredit(words string) string {
	all := strings.Split(words, "|")
	return strings.Join(slices.DeleteFunc(all,
		func(w string) bool { return strings.HasPrefix(w, "WINDOW_UPDATE") }), "|")
}

// FuzzBlocks: a header block that is the one before again means what it means, whatever the blocks
// do to the table: a connection on which they stand beside each other answers as one on which
// another block stands between them, so that each is decoded.
func FuzzBlocks(f *testing.F) {
	p := newPeer(f, false)
	p.head("/echo") // puts its fields into the table
	f.Add([]byte(p.head("/echo")), []byte(p.head("/echo", "a", "b")))
	f.Add([]byte("\x83\x86\x04\x05/echo\x5f\x10application/grpc\x00\x02te\x08trailers"),
		[]byte("\x83\x86\x04\x05/long\x40\x01a\x01b"))
	f.Add([]byte("\x83\x86\x04\x05/echo\x0f\x10\x10application/grpc\xbe"), []byte("\x40\x01a\x01b"))
	f.Add([]byte("\x83\x86\x14\x05/echo\x0f\x10\x10application/grpc\xff\x00"),
		[]byte("\x3f\xe1\x1f\x20"))
	f.Add([]byte("\x83\x86\x04\x05/echo\x40\x01a\x01b"), []byte("\x83\x86\x04\x05/echo\xbf"))
	f.Add([]byte("\x83\x86\x04\x85/echo"), []byte("\x0f\xff\xff\xff\x7f"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		p, q := newPeer(t, false), newPeer(t, false)
		for n, block := range [][]byte{a, a, b, a, b, b} {
			if len(block) == 0 || len(block) > 1<<12 {
				return
			}
			id := uint32(4*n + 1)
			beside := p.send(raw(headers, endHeaders|endStream, id, string(block)))
			apart := q.send(raw(headers, endHeaders|endStream, id, string(block)))
			if beside != apart || (p.err == nil) != (q.err == nil) {
				t.Fatalf("block %d: %s, %v; apart from the one before: %s, %v", n, beside,
					p.err, apart, q.err)
			}
			if p.err != nil {
				return
			}
			// no request; it changes no table
			q.send(raw(headers, endHeaders|endStream, id+2, "\x00\x01x\x01y"))
		}
	})
}
