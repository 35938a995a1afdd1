package h2_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/h2"
)

// TestCalls: calls of one read are answered in order, by one batch of the handler.
func TestCalls(t *testing.T) {
	t.Parallel()
	p := newPeer(t, false)
	got := p.send(append(p.call(1, "/echo", "one"), p.call(3, "/echo", "two")...))
	p.want(got, ok(1, "one")+"|"+ok(3, "two"))
	p.want(p.send(p.call(5, "/fail", "x")),
		"HEADERS 5 :status=200 content-type=application/grpc grpc-status=5 grpc-message=no rule "+
			"%E2%80%9Cx%E2%80%9D%0A100 %25 END")
	p.want(p.send(p.call(7, "/none", "x")),
		"HEADERS 7 :status=200 content-type=application/grpc grpc-status=12 "+
			"grpc-message=headgate does not have this method grpc-accept-encoding=identity,gzip "+
			"END|RST_STREAM 7 0")
	p.want(p.send(p.call(9, "/echo", "again")), ok(9, "again"))
	if e := p.echo; e.begun != 3 || e.ended != 3 || e.calls != 4 || p.counters.Calls.Load() != 4 {
		t.Errorf("%+v, %d calls", e, p.counters.Calls.Load())
	}
	if n := p.c.Streams(); n != 0 {
		t.Errorf("%d streams are left", n)
	}
}

// TestMessages: everything that a request's body can be.
func TestMessages(t *testing.T) {
	t.Parallel()
	var packed, bomb bytes.Buffer
	pack(&packed, "unpacked")
	pack(&bomb, strings.Repeat("0", h2.MaxMessage+1))
	zip := func(b *bytes.Buffer) string { return "\x01" + number(uint32(b.Len())) + b.String() }
	for _, tt := range []struct{ name, encoding, body, want string }{
		{"empty message", "", message(""), ""},
		{"longest", "", message(strings.Repeat("x", h2.MaxMessage)), ""},
		{"too long", "", message(strings.Repeat("x", h2.MaxMessage+1)), "8"},
		{"says it is too long", "", "\x00" + number(1<<31) + "x", "8"},
		{"none", "", "", "12"},
		{"two", "", message("a") + message("b"), "12"},
		{"cut in the prefix", "", "\x00\x00\x00", "3"},
		{"cut", "", message("abc")[:7], "3"},
		{"bad first byte", "", "\x02" + message("abc")[1:], "3"},
		{"gzip", "gzip", zip(&packed), ""},
		{"plain although gzip", "gzip", message("abc"), ""},
		{"gzip unannounced", "", zip(&packed), "13"},
		{"another encoding", "snappy", zip(&packed), "12"},
		{"no gzip", "gzip", "\x01" + message("abc")[1:], "3"},
		{"gzip bomb", "gzip", zip(&bomb), "8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, false)
			more := []string{}
			if tt.encoding != "" {
				more = append(more, "grpc-encoding", tt.encoding)
			}
			out := p.send(raw(headers, endHeaders, 1, p.head("/echo", more...)))
			for i := 0; i < len(tt.body); i += 16384 { // in frames, the last one empty
				out += p.send(raw(data, 0, 1, tt.body[i:min(i+16384, len(tt.body))]))
			}
			out += p.send(raw(data, endStream, 1, ""))
			out += p.send(raw(window, 0, 0, number(1<<20)), raw(window, 0, 1, number(1<<20)))
			status := "grpc-status=" + tt.want
			if tt.want == "" {
				status = "grpc-status=0 END"
			}
			if !strings.Contains(out, status) || p.err != nil {
				t.Errorf("%.300s, %v; want %s", out, p.err, status)
			}
			if want := tt.want == "8"; want != (p.counters.Faults[h2.TooLong].Load() == 1) {
				t.Errorf("counted as too long: %v", !want)
			}
		})
	}
}

func pack(to *bytes.Buffer, text string) {
	w := gzip.NewWriter(to)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
}

// TestEarly: what no end of the request can change is answered before it. A client that streams, or
// whose message is longer than its window, would wait for it until MaxTime.
func TestEarly(t *testing.T) {
	t.Parallel()
	p := newPeer(t, false)
	p.want(p.send(raw(headers, endHeaders, 1, p.head("/none"))),
		"HEADERS 1 :status=200 content-type=application/grpc grpc-status=12 "+
			"grpc-message=headgate does not have this method "+
			"grpc-accept-encoding=identity,gzip END|RST_STREAM 1 0")
	p.want(p.send(raw(data, 0, 1, message("on its way")), raw(data, endStream, 1, "")), "")
	p.want(p.send(raw(headers, endHeaders, 3, p.head("/echo"))), "")
	out := ""
	for range h2.MaxMessage / 16384 {
		out += p.send(raw(data, 0, 3, strings.Repeat("x", 16384)))
	}
	if strings.Contains(out, "HEADERS") {
		t.Errorf("%s before the message is too long", out)
	}
	out = p.send(raw(data, 0, 3, "beyond"))
	if !strings.HasPrefix(out, "HEADERS 3 :status=200 content-type=application/grpc "+
		"grpc-status=8") || !strings.Contains(out, "RST_STREAM 3 0") {
		t.Error(out)
	}
	out = p.send(raw(data, 0, 3, strings.Repeat("x", 16384)),
		raw(headers, endHeaders|endStream, 3, p.fields("later", "on")))
	if strings.Contains(out, " 3 ") || p.err != nil || p.c.Streams() != 0 {
		t.Errorf("%s, %v, %d streams", out, p.err, p.c.Streams())
	}
	if long, protocol := p.counters.Faults[h2.TooLong].Load(),
		p.counters.Faults[h2.Protocol].Load(); long != 1 || protocol != 0 {
		t.Errorf("counted as too long: %d, as faults: %d", long, protocol)
	}
	// their bytes were credited: this is more than the connection's window
	for id := uint32(5); id < 50; id += 2 {
		p.want(p.send(raw(headers, endHeaders, id, p.head("/echo"))), "")
		_ = p.send(raw(data, 0, id, strings.Repeat("x", 16384)), raw(reset, 0, id, number(8)))
	}
	p.want(p.send(p.call(51, "/echo", "x")), ok(51, "x"))
}

// TestParts: a call may come in any parts, with padding and with trailers.
func TestParts(t *testing.T) {
	t.Parallel()
	p := newPeer(t, false)
	block := p.head("/echo", "x", "y")
	call := raw(headers, padded, 1, "\x02"+block[:3]+"\x00\x00")
	call = append(call, raw(continuation, 0, 1, block[3:9])...)
	call = append(call, raw(continuation, endHeaders, 1, block[9:])...)
	call = append(call, raw(data, padded, 1, "\x01"+message("abc")[:6]+"\x00")...)
	call = append(call, raw(data, 0, 1, message("abc")[6:])...)
	call = append(call, raw(headers, endHeaders|endStream, 1, p.fields("later", "on"))...)
	out := ""
	for i := range call {
		out += p.send(call[i : i+1])
	}
	p.want(out, ok(1, "abc"))
	p.want(p.send(p.call(3, "/echo", "x"), p.call(5, "/echo", "y")), ok(3, "x")+"|"+ok(5, "y"))
}

// TestWindows: no byte of an answer is sent beyond the windows of the stream and the connection.
func TestWindows(t *testing.T) {
	t.Parallel()
	p := newPeer(t, false)
	start := func(id uint32) string {
		return fmt.Sprintf("HEADERS %d :status=200 "+
			"content-type=application/grpc", id)
	}
	p.want(p.send(raw(settings, 0, 0, "\x00\x04"+number(3))), "SETTINGS ACK")
	p.want(p.send(p.call(1, "/echo", "abc")), start(1)+`|DATA 1 "\x00\x00\x00"`)
	p.want(p.send(raw(window, 0, 1, number(1))), `DATA 1 "\x00"`)
	// the window is below 0 now
	p.want(p.send(raw(settings, 0, 0, "\x00\x04"+number(0))), "SETTINGS ACK")
	p.want(p.send(raw(window, 0, 1, number(3))), "")
	p.want(p.send(raw(settings, 0, 0, "\x00\x04"+number(100))),
		`SETTINGS ACK|DATA 1 "\x03abc"|HEADERS 1 grpc-status=0 END`)

	p = newPeer(t, false) // the connection's window: 65,535
	p.want(p.send(p.call(1, "/long", "")), start(1)+"|DATA 1 16384 bytes|DATA 1 16384 bytes|DATA "+
		"1 7237 bytes|HEADERS 1 grpc-status=0 END")
	p.want(p.send(p.call(3, "/long", "")), start(3)+"|DATA 3 16384 bytes|DATA 3 9146 bytes")
	p.want(p.send(p.call(5, "/echo", "x")), start(5))
	p.want(p.send(raw(window, 0, 0, number(1<<20))),
		`DATA 3 14475 bytes|HEADERS 3 grpc-status=0 END|DATA 5 "\x00\x00\x00\x00\x01x"|HEADERS 5 grpc-status=0 END`)
	if p.c.Streams() != 0 {
		t.Error("streams are left")
	}
}

// TestCredit: what was read is credited to the peer again, and what is kept is not.
func TestCredit(t *testing.T) {
	t.Parallel()
	p := newPeer(t, false)
	credited := 0
	for id := uint32(1); id < 2000; id += 2 {
		out := p.send(p.call(id, "/echo", strings.Repeat("x", 1000)),
			raw(window, 0, 0, number(1005)))
		if _, more, ok := strings.Cut(out, "WINDOW_UPDATE 0 "); ok {
			n := 0
			_, _ = fmt.Sscan(more, &n)
			credited += n
		}
	}
	if sent := 1000 * 1005; p.err != nil || credited > sent || credited < sent-256<<10 {
		t.Errorf("%d of %d bytes are credited, %v", credited, sent, p.err)
	}
	p = newPeer(t, false)
	for id := uint32(1); p.err == nil && id < 100; id += 2 {
		p.send(raw(headers, endHeaders, id, p.head("/echo")),
			raw(data, 0, id, strings.Repeat("x", 16000)))
	}
	if n := p.c.Streams(); p.err == nil || n > 17 {
		t.Errorf("%d requests of 16,000 bytes are kept, %v", n, p.err)
	}
}

// TestTableOff: where the peer's table is small nothing is put into it.
func TestTableOff(t *testing.T) {
	t.Parallel()
	p := newPeer(t, false)
	p.want(p.send(p.call(1, "/echo", "x")), ok(1, "x"))
	p.send(raw(settings, 0, 0, "\x00\x01"+number(0)))
	p.dec.SetMaxDynamicTableSize(0)
	p.want(p.send(p.call(3, "/echo", "x"), p.call(5, "/fail", "")), ok(3, "x")+
		"|HEADERS 5 :status=200 content-type=application/grpc grpc-status=5 grpc-message=no rule "+
		"%E2%80%9Cx%E2%80%9D%0A100 %25 END")
}

// TestNoCall: requests that are not gRPC are answered by HTTP.
func TestNoCall(t *testing.T) {
	t.Parallel()
	p := newPeer(t, false)
	body := "|DATA %d \"this port answers gRPC calls only\\n\" END"
	get := p.fields(":method", "GET", ":scheme", "http", ":path", "/", ":authority", "h")
	p.want(p.send(raw(headers, endHeaders|endStream, 1, get)),
		fmt.Sprintf("HEADERS 1 :status=405 content-type=text/plain content-length=34"+body, 1))
	post := p.fields(":method", "POST", ":scheme", "http", ":path", "/echo", "content-type",
		"application/json", "content-length", "2")
	p.want(p.send(raw(headers, endHeaders, 3, post), raw(data, endStream, 3, "{}")),
		fmt.Sprintf("HEADERS 3 :status=415 content-type=text/plain content-length=34"+body, 3))
	long := p.head("/echo", "a", strings.Repeat("x", 30_000), "b", strings.Repeat("y", 36_000))
	frames := raw(headers, 0, 5, long[:16000])
	for at := 16000; at < len(long); at += 16000 {
		flags := byte(0)
		if at+16000 >= len(long) {
			flags = endHeaders
		}
		frames = append(frames, raw(continuation, flags, 5, long[at:min(at+16000, len(long))])...)
	}
	p.want(p.send(frames, raw(data, endStream, 5, message("x"))),
		fmt.Sprintf("HEADERS 5 :status=431 content-type=text/plain content-length=34"+body, 5))
	p.want(p.send(p.call(7, "/echo", "x")), ok(7, "x"))
}

// TestExpire: a request or a frame that does not end within MaxTime is not waited for, nor a
// greeting after MaxGreeting.
func TestExpire(t *testing.T) {
	t.Parallel()
	p := newPeer(t, false)
	if _, ok := p.c.Until(); ok {
		t.Error("an idle connection has a deadline")
	}
	p.now = time.Second
	p.send(raw(headers, endHeaders, 1, p.head("/echo")), raw(data, 0, 1, "x"))
	p.now = 5 * time.Second
	p.send(raw(headers, endHeaders, 3, p.head("/echo")))
	if at, ok := p.c.Until(); !ok || at != 11*time.Second {
		t.Errorf("until %v, %v", at, ok)
	}
	if err := p.c.Expire(11 * time.Second); err != nil {
		t.Error(err)
	}
	p.want(p.send(), "RST_STREAM 1 8")
	p.want(p.send(raw(data, endStream, 1, "late")), "") // it was on its way
	p.want(p.send(raw(data, endStream, 3, message("x"))), ok(3, "x"))
	p.send(p.call(5, "/echo", "x")[:20])
	if at, ok := p.c.Until(); !ok || at != 15*time.Second {
		t.Errorf("until %v, %v", at, ok)
	}
	if err := p.c.Expire(15 * time.Second); err == nil {
		t.Error("half a frame is waited for")
	}
	if n := p.counters.Faults[h2.TooLate].Load(); n != 3 {
		t.Errorf("%d late", n)
	}
	p = newPeer(t, true)
	p.now = time.Second // a part of the greeting does not put the end off
	p.send([]byte("PRI"))
	if at, ok := p.c.Until(); !ok || at != h2.MaxGreeting {
		t.Errorf("a silent peer is waited for until %v, %v", at, ok)
	}
	if err := p.c.Expire(h2.MaxGreeting); err == nil {
		t.Error("half a greeting is waited for")
	}
}

// TestGoAway: a connection that ends says so, and goes on answering until it is done.
func TestGoAway(t *testing.T) {
	t.Parallel()
	p := newPeer(t, false)
	p.send(raw(headers, endHeaders, 1, p.head("/echo")))
	p.c.GoAway(false)
	p.want(p.send(raw(data, endStream, 1, message("x"))), "GOAWAY 2147483647 0|"+ok(1, "x"))
	p.c.GoAway(true)
	p.want(p.send(raw(goAway, 0, 0, number(0)+number(0))), "GOAWAY 1 0")
	if !p.c.Done() {
		t.Error("not done")
	}
}

// TestAllocations: a call by a header block seen before allocates nothing.
func TestAllocations(t *testing.T) {
	p := newPeer(t, false)
	id := uint32(1)
	for range 3 {
		p.send(p.call(id, "/echo", "x"))
		id += 2
	}
	call := p.call(id, "/echo", "some message")
	bump := func() {
		id += 2
		for _, at := range []int{5, len(call) - 17 - 4} {
			call[at], call[at+1], call[at+2], call[at+3] = byte(id>>24), byte(id>>16),
				byte(id>>8), byte(id)
		}
	}
	credit := raw(window, 0, 0, number(100))
	p.send(call)
	allocs := testing.AllocsPerRun(1000, func() {
		bump()
		p.c.Arrived(copy(p.c.Room(), call))
		p.c.Arrived(copy(p.c.Room(), credit))
		if _, err := p.c.Advance(0); err != nil {
			t.Fatal(err)
		}
		p.c.Written()
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// TestLend: what is under way and does not lie in the first buffers is lent by the handler, to the
// byte, and given back when it is over.
func TestLend(t *testing.T) {
	t.Parallel()
	p := newPeer(t, false)
	lent := func(want int) {
		t.Helper()
		if p.echo.lent != want {
			t.Errorf("%d bytes lent, want %d", p.echo.lent, want)
		}
	}
	p.send(p.call(1, "/echo", "abc"))
	lent(0)
	block := p.head("/echo")
	p.send(raw(headers, 0, 3, block[:4]))
	lent(4)
	p.send(raw(continuation, endHeaders, 3, block[4:]),
		raw(data, 0, 3, message("in two parts")[:10]))
	lent(10)
	p.want(p.send(raw(data, endStream, 3, message("in two parts")[10:])), ok(3, "in two parts"))
	lent(0)
	p.send(raw(headers, endHeaders, 5, p.head("/echo")), raw(data, 0, 5, "\x00\x00\x00"),
		raw(reset, 0, 5, number(8)))
	lent(0)
	p.send(raw(settings, 0, 0, "\x00\x04"+number(3)), p.call(7, "/echo", "abcdef"))
	lent(8) // of eleven
	p.send(raw(window, 0, 7, number(8)))
	lent(0)
	p.send(p.call(9, "/echo", "abcdef"))
	p.c.Close()
	lent(0)
}

// TestNoRoom: a peer for whose request or answer there is no memory is told so, and its connection
// ends.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		frames func(p *peer) [][]byte
		want   string
	}{
		"a message in parts": {
			func(p *peer) [][]byte {
				return [][]byte{
					raw(headers, endHeaders, 1, p.head("/echo")),
					raw(data, 0, 1, message(strings.Repeat("x", 100))),
				}
			},
			"HEADERS 1 :status=200 content-type=application/grpc grpc-status=8 grpc-message=the " +
				"node has no memory for a message in parts END|RST_STREAM 1 0|GOAWAY 1 11",
		},
		"a head in parts": {
			func(p *peer) [][]byte {
				return [][]byte{raw(headers, 0, 1, p.head("/echo", "a", strings.Repeat("!", 100)))}
			},
			"GOAWAY 0 11",
		},
		"an answer": {
			func(p *peer) [][]byte {
				return [][]byte{
					raw(settings, 0, 0, "\x00\x04"+number(3)),
					p.call(1, "/echo", strings.Repeat("x", 100)),
				}
			},
			"SETTINGS ACK|HEADERS 1 :status=200 content-type=application/grpc|DATA 1 " +
				"\"\\x00\\x00\\x00\"|GOAWAY 1 11",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, false)
			p.echo.most = 50
			p.want(p.send(c.frames(p)...), c.want)
			if p.err == nil || p.counters.Faults[h2.NoRoom].Load() != 1 {
				t.Errorf("%v, %v", p.err, &p.counters)
			}
			if p.c.Close(); p.echo.lent != 0 {
				t.Errorf("%d bytes are never given back", p.echo.lent)
			}
		})
	}
}

// TestRoom: a connection that has sent nothing holds little memory; with the first bytes, which
// stay, there is room for a frame.
func TestRoom(t *testing.T) {
	t.Parallel()
	var counters h2.Counters
	c := h2.New(&echo{}, &counters, 0)
	first := c.Room()
	if len(first) > 1<<10 {
		t.Errorf("%d bytes before the first", len(first))
	}
	const begin = "PRI * HTTP/2.0\r\n"
	c.Arrived(copy(first, begin))
	if more := c.Room(); len(more) < 16<<10 {
		t.Errorf("%d bytes after the first", len(more))
	}
	c.Arrived(copy(c.Room(), "\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
	if more, err := c.Advance(0); more || err != nil {
		t.Errorf("what came in two parts: %v, %v", more, err)
	}
}
