package h2_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/h2"
)

func openEcho(p *peer) []byte { return raw(headers, endHeaders, 1, p.head("/echo")) }

var faults = []struct {
	name   string
	frames func(p *peer) []byte
	want   string // the last frame
}{
	{
		"even stream", func(p *peer) []byte { return raw(headers, endHeaders, 2, p.head("/echo")) },
		"GOAWAY 0 1",
	},
	{
		"stream 0", func(p *peer) []byte { return raw(headers, endHeaders, 0, p.head("/echo")) },
		"GOAWAY 0 1",
	},
	{"lower stream", func(p *peer) []byte {
		return append(raw(headers, endHeaders, 5, p.head("/echo")),
			raw(headers, endHeaders, 3, p.head("/echo"))...)
	}, "GOAWAY 5 1"},
	{"ended stream", func(p *peer) []byte {
		return append(p.call(1, "/echo", "x"),
			openEcho(p)...)
	}, "GOAWAY 1 5"},
	{"data of stream 0", func(*peer) []byte { return raw(data, 0, 0, "x") }, "GOAWAY 0 1"},
	{"data of an idle stream", func(*peer) []byte { return raw(data, 0, 1, "x") }, "GOAWAY 0 1"},
	{"data of an ended stream", func(p *peer) []byte {
		return append(p.call(1, "/echo", "x"),
			raw(data, 0, 1, "y")...)
	}, "RST_STREAM 1 5"},
	{"padding", func(p *peer) []byte {
		return append(openEcho(p),
			raw(data, padded, 1, "\x05abcd")...)
	}, "GOAWAY 1 1"},
	{"padding of headers", func(p *peer) []byte {
		return raw(headers, padded|endHeaders, 1,
			"\xff"+p.head("/echo"))
	}, "GOAWAY 0 1"},
	{"no padding length", func(p *peer) []byte {
		return append(openEcho(p),
			raw(data, padded, 1, "")...)
	}, "GOAWAY 1 1"},
	{"depends on itself", func(p *peer) []byte {
		return raw(headers, endHeaders|0x20, 1, number(1)+"\x00"+p.head("/echo"))
	}, "GOAWAY 0 1"},
	{
		"short priority",
		func(*peer) []byte { return raw(headers, endHeaders|0x20, 1, "\x00\x00") },
		"GOAWAY 0 6",
	},
	{
		"frame too long", func(*peer) []byte { return raw(data, 0, 1, strings.Repeat("x", 16385)) },
		"GOAWAY 0 6",
	},
	{
		"continuation alone", func(*peer) []byte { return raw(continuation, endHeaders, 1, "") },
		"GOAWAY 0 1",
	},
	{"interrupted headers", func(p *peer) []byte {
		return append(raw(headers, 0, 1, p.head("/echo")), raw(ping, 0, 0, "12345678")...)
	}, "GOAWAY 0 1"},
	{"continuation of another", func(p *peer) []byte {
		return append(raw(headers, 0, 1, p.head("/echo")), raw(continuation, endHeaders, 3, "")...)
	}, "GOAWAY 0 1"},
	{"push", func(*peer) []byte { return raw(push, 0, 1, number(2)) }, "GOAWAY 0 1"},
	{
		"HPACK", func(*peer) []byte { return raw(headers, endHeaders, 1, "\xff\xff\xff\x7f") },
		"GOAWAY 1 9",
	},
	{
		"HPACK cut",
		func(p *peer) []byte { return raw(headers, endHeaders, 1, p.head("/echo")[:20]) },
		"GOAWAY 1 9",
	},
	{
		"table too large",
		func(*peer) []byte { return raw(headers, endHeaders, 1, "\x3f\xe2\x1f") },
		"GOAWAY 1 9",
	},
	{"reset of stream 0", func(*peer) []byte { return raw(reset, 0, 0, number(8)) }, "GOAWAY 0 1"},
	{
		"reset of an idle stream", func(*peer) []byte { return raw(reset, 0, 1, number(8)) },
		"GOAWAY 0 1",
	},
	{
		"short reset",
		func(p *peer) []byte { return append(openEcho(p), raw(reset, 0, 1, "12")...) },
		"GOAWAY 1 6",
	},
	{"settings of a stream", func(*peer) []byte { return raw(settings, 0, 1, "") }, "GOAWAY 0 1"},
	{"settings cut", func(*peer) []byte { return raw(settings, 0, 0, "12345") }, "GOAWAY 0 6"},
	{
		"settings in an ack", func(*peer) []byte { return raw(settings, ack, 0, "123456") },
		"GOAWAY 0 6",
	},
	{
		"push 2", func(*peer) []byte { return raw(settings, 0, 0, "\x00\x02"+number(2)) },
		"GOAWAY 0 1",
	},
	{
		"frame size", func(*peer) []byte { return raw(settings, 0, 0, "\x00\x05"+number(16383)) },
		"GOAWAY 0 1",
	},
	{
		"initial window",
		func(*peer) []byte { return raw(settings, 0, 0, "\x00\x04"+number(1<<31)) },
		"GOAWAY 0 3",
	},
	{"initial window on top", func(p *peer) []byte {
		return append(append(openEcho(p), raw(window, 0, 1, number(1<<31-1-65535))...),
			raw(settings, 0, 0, "\x00\x04"+number(65536))...)
	}, "GOAWAY 1 3"},
	{"ping of a stream", func(*peer) []byte { return raw(ping, 0, 1, "12345678") }, "GOAWAY 0 1"},
	{"short ping", func(*peer) []byte { return raw(ping, 0, 0, "1234") }, "GOAWAY 0 6"},
	{
		"goaway of a stream", func(*peer) []byte { return raw(goAway, 0, 1, "12345678") },
		"GOAWAY 0 1",
	},
	{
		"window of an idle stream", func(*peer) []byte { return raw(window, 0, 1, number(1)) },
		"GOAWAY 0 1",
	},
	{"window by 0", func(*peer) []byte { return raw(window, 0, 0, number(0)) }, "GOAWAY 0 1"},
	{"window of a stream by 0", func(p *peer) []byte {
		return append(openEcho(p),
			raw(window, 0, 1, number(0))...)
	}, "RST_STREAM 1 1"},
	{
		"window too large", func(*peer) []byte { return raw(window, 0, 0, number(1<<31-1)) },
		"GOAWAY 0 3",
	},
	{
		"window of a stream too large",
		func(p *peer) []byte { return append(openEcho(p), raw(window, 0, 1, number(1<<31-1))...) },
		"RST_STREAM 1 3",
	},
	{"short window", func(*peer) []byte { return raw(window, 0, 0, "12") }, "GOAWAY 0 6"},
	{
		"priority of stream 0", func(*peer) []byte { return raw(priority, 0, 0, number(1)+"x") },
		"GOAWAY 0 1",
	},
	{"priority cut", func(p *peer) []byte {
		return append(openEcho(p),
			raw(priority, 0, 1, "1234")...)
	}, "RST_STREAM 1 6"},
	{"priority of itself", func(p *peer) []byte {
		return append(openEcho(p),
			raw(priority, 0, 1, number(1)+"x")...)
	}, "RST_STREAM 1 1"},
	{"second headers", func(p *peer) []byte {
		return append(openEcho(p),
			raw(headers, endHeaders, 1, p.fields("a", "b"))...)
	}, "RST_STREAM 1 1"},
	{"pseudo trailers", func(p *peer) []byte {
		return append(openEcho(p), raw(headers, endHeaders|endStream, 1, p.fields(":path", "/"))...)
	}, "RST_STREAM 1 1"},
	{"length", func(p *peer) []byte {
		return append(raw(headers, endHeaders, 1, p.head("/echo", "content-length", "9")),
			raw(data, endStream, 1, message("x"))...)
	}, "RST_STREAM 1 1"},
	{"length without a body", func(p *peer) []byte {
		return raw(headers, endHeaders|endStream, 1, p.head("/echo", "content-length", "9"))
	}, "RST_STREAM 1 1"},
	{"two lengths", func(p *peer) []byte {
		return raw(headers, endHeaders, 1,
			p.head("/echo", "content-length", "6", "content-length", "7"))
	}, "RST_STREAM 1 1"},
	{"upper case", func(p *peer) []byte {
		return raw(headers, endHeaders, 1,
			p.head("/echo", "X-A", "b"))
	}, "RST_STREAM 1 1"},
	{"line break", func(p *peer) []byte {
		return raw(headers, endHeaders, 1,
			p.head("/echo", "a", "b\nc"))
	}, "RST_STREAM 1 1"},
	{"connection", func(p *peer) []byte {
		return raw(headers, endHeaders, 1,
			p.head("/echo", "connection", "close"))
	}, "RST_STREAM 1 1"},
	{"te", func(p *peer) []byte {
		return raw(headers, endHeaders, 1,
			p.head("/echo", "te", "gzip"))
	}, "RST_STREAM 1 1"},
	{"unknown pseudo", func(p *peer) []byte {
		return raw(headers, endHeaders, 1,
			p.fields(":method", "POST", ":who", "x"))
	}, "RST_STREAM 1 1"},
	{"status", func(p *peer) []byte {
		return raw(headers, endHeaders, 1,
			p.fields(":status", "200"))
	}, "RST_STREAM 1 1"},
	{"pseudo behind", func(p *peer) []byte {
		return raw(headers, endHeaders, 1,
			p.head("/echo", ":path", "/x"))
	}, "RST_STREAM 1 1"},
	{"path twice", func(p *peer) []byte {
		return raw(headers, endHeaders, 1,
			p.fields(":path", "/", ":path", "/", ":method", "POST", ":scheme", "http"))
	}, "RST_STREAM 1 1"},
	{"no path", func(p *peer) []byte {
		return raw(headers, endHeaders, 1, p.fields(":method", "POST", ":scheme", "http"))
	}, "RST_STREAM 1 1"},
	{"empty path", func(p *peer) []byte {
		return raw(headers, endHeaders, 1,
			p.fields(":path", "", ":method", "POST", ":scheme", "http"))
	}, "RST_STREAM 1 1"},
	{"no scheme", func(p *peer) []byte {
		return raw(headers, endHeaders, 1,
			p.fields(":path", "/", ":method", "POST"))
	}, "RST_STREAM 1 1"},
}

// TestFaults: a fault of the peer ends the stream, or the connection with the code that RFC 9113
// names.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range faults {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, false)
			out := p.send(tt.frames(p))
			if last := out[strings.LastIndex(out, "|")+1:]; last != tt.want ||
				(p.err != nil) != strings.HasPrefix(tt.want, "GOAWAY") {
				t.Errorf("%s, %v; want %s", out, p.err, tt.want)
			}
			if n := p.counters.Faults[h2.Protocol].Load(); n != 1 {
				t.Errorf("%d faults are counted", n)
			}
			if p.err == nil {
				p.want(p.send(p.call(7, "/echo", "x")), ok(7, "x"))
			}
		})
	}
}

// TestGreeting: what is not HTTP/2 from its first byte on is not answered as if it were.
func TestGreeting(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{
		"HTTP/1": "GET / HTTP/1.1\r\n\r\n", "nothing of it": "\x00",
		"late":        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r \n",
		"no settings": preface + string(raw(ping, 0, 0, "12345678")),
		"only an ack": preface + string(raw(settings, ack, 0, "")),
	} {
		p := newPeer(t, true)
		if out := p.send([]byte(first)); p.err == nil || !strings.HasSuffix(out, "GOAWAY 0 1") {
			t.Errorf("%s: %s, %v", name, out, p.err)
		}
	}
}

var floods = []struct {
	name   string
	reason h2.Reason
	most   int // of the frames, until the connection ends
	next   func(p *peer, n uint32) []byte
}{
	{"rapid reset", h2.ResetFlood, h2.MaxResets, func(p *peer, n uint32) []byte {
		return append(raw(headers, endHeaders, 2*n+1, p.head("/echo")),
			raw(reset, 0, 2*n+1, number(8))...)
	}},
	{
		"ping", h2.ControlFlood, h2.MaxControl,
		func(*peer, uint32) []byte { return raw(ping, 0, 0, "12345678") },
	},
	{
		"settings", h2.ControlFlood, h2.MaxControl,
		func(*peer, uint32) []byte { return raw(settings, 0, 0, "") },
	},
	{
		"priority", h2.ControlFlood, h2.MaxControl,
		func(*peer, uint32) []byte { return raw(priority, 0, 9, number(1)+"x") },
	},
	{
		"unknown frames", h2.ControlFlood, h2.MaxControl,
		func(*peer, uint32) []byte { return raw(0xbe, 0, 0, "") },
	},
	{
		"window updates", h2.ControlFlood, h2.MaxControl,
		func(*peer, uint32) []byte { return raw(window, 0, 0, number(1)) },
	},
	{"empty data", h2.ControlFlood, h2.MaxControl, func(p *peer, n uint32) []byte {
		if n == 0 {
			return raw(headers, endHeaders, 1, p.head("/echo"))
		}
		return raw(data, 0, 1, "")
	}},
	{"data after the end", h2.ControlFlood, h2.MaxControl, func(p *peer, n uint32) []byte {
		if n == 0 {
			return p.call(1, "/none", "")
		}
		return raw(data, 0, 1, "")
	}},
	{"malformed requests", h2.ControlFlood, h2.MaxControl, func(p *peer, n uint32) []byte {
		return raw(headers, endHeaders, 2*n+1, p.fields(":status", "200"))
	}},
	{
		"too many streams",
		h2.ControlFlood,
		h2.MaxStreams + h2.MaxControl,
		func(p *peer, n uint32) []byte {
			return raw(headers, endHeaders, 2*n+1, p.head("/echo"))
		},
	},
	{"continuation", h2.HeadTooLong, 20, func(p *peer, n uint32) []byte {
		if n == 0 {
			return raw(headers, 0, 1, p.head("/echo"))
		}
		return raw(continuation, 0, 1, "")
	}},
	{"long continuation", h2.HeadTooLong, 5, func(_ *peer, n uint32) []byte {
		if n == 0 {
			return raw(headers, 0, 1, "")
		}
		return raw(continuation, 0, 1, strings.Repeat("\x82", 16384))
	}},
	{
		"windows never opened", h2.Unsent, 30,
		func(p *peer, n uint32) []byte { return p.call(2*n+1, "/long", "") },
	},
}

// TestFloods: whatever a peer repeats ends at a bound that is counted.
func TestFloods(t *testing.T) {
	t.Parallel()
	for _, tt := range floods {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, false)
			n := uint32(0)
			last := ""
			for ; p.err == nil && n < 10_000; n++ {
				last = p.send(tt.next(p, n))
			}
			if most := uint32(tt.most) + 6; p.err == nil || n > most || n < most/2 {
				t.Errorf("ended after %d, %v; want at most %d", n, p.err, most)
			}
			if got := p.counters.Faults[tt.reason].Load(); got != 1 ||
				!strings.HasSuffix(last, " 11") {
				t.Errorf("%v counted %d times; %s", tt.reason, got, last)
			}
			if _, err := p.c.Advance(0); err == nil {
				t.Error("it goes on")
			}
		})
	}
}

// TestFloodsForgive: the bounds are for a second, and what belongs to calls does not count.
func TestFloodsForgive(t *testing.T) {
	t.Parallel()
	p := newPeer(t, false)
	id := uint32(1)
	for range 3000 {
		p.now += time.Second / 800
		p.send(raw(ping, 0, 0, "12345678"))
	}
	for range 3000 { // at one time
		p.send(p.call(id, "/echo", "x"), raw(ping, 0, 0, "12345678"), raw(window, 0, 0, number(6)),
			raw(reset, 0, id, number(8)))
		id += 2
	}
	if p.err != nil {
		t.Error(p.err)
	}
}

// TestBomb: a small block that stands for a large list is not taken, and costs its peer the
// request; one that stands for a very large list costs it the connection, and is not decoded to its
// end.
func TestBomb(t *testing.T) {
	t.Parallel()
	p := newPeer(t, false)
	p.send(raw(headers, endHeaders, 1, p.head("/echo", "big", strings.Repeat("x", 3800))))
	out := p.send(raw(headers, endHeaders|endStream, 3, strings.Repeat("\xbe", 200)))
	p.want(out, fmt.Sprintf("HEADERS 3 :status=431 content-type=text/plain "+
		"content-length=34|DATA 3 %q END", "this port answers gRPC calls only\n"))
	if n := p.counters.Faults[h2.HeadTooLong].Load(); n != 1 || p.err != nil {
		t.Errorf("%d, %v", n, p.err)
	}
	out = p.send(raw(headers, endHeaders|endStream, 5, strings.Repeat("\xbe", 16000)))
	p.want(out, "GOAWAY 5 11")
	if n := p.counters.Faults[h2.HeadTooLong].Load(); n != 2 || p.err == nil {
		t.Errorf("%d, %v", n, p.err)
	}
}
