package h2_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/h2"
	"golang.org/x/net/http2/hpack"
)

// The types and flags of frames, as RFC 9113 numbers them.
const (
	data, headers, priority, reset, settings, push, ping, goAway, window, continuation = 0, 1,
		2, 3, 4, 5, 6, 7, 8, 9

	endStream, ack, endHeaders, padded = 1, 1, 4, 8
)

// echo answers each call with its message, and /fail with a status.
type echo struct {
	begun, ended, calls int
	lent, most          int // most: bytes that it lends, 0: any number
}

func (*echo) Method(path string) int {
	switch path {
	case "/echo":
		return 0
	case "/fail":
		return 1
	case "/long":
		return 2
	}
	return -1
}
func (e *echo) Begin() { e.begun++ }
func (e *echo) End()   { e.ended++ }

func (e *echo) Lend(bytes int) bool {
	if e.most > 0 && bytes > 0 && e.lent+bytes > e.most {
		return false
	}
	e.lent += bytes
	return true
}

func (e *echo) Call(dst []byte, method int, message []byte) ([]byte, h2.Status) {
	e.calls++
	if message == nil {
		return dst, h2.Status{
			Code:    h2.ResourceExhausted,
			Message: "a message has at most 65536 bytes",
		}
	}
	switch method {
	case 1:
		return append(dst, "partly written"...),
			h2.Status{Code: h2.NotFound, Message: "no rule “x”\n100 %"}
	case 2:
		return append(dst, make([]byte, 40_000)...), h2.Status{}
	}
	return append(dst, message...), h2.Status{}
}

// peer is a client of one connection.
type peer struct {
	t        testing.TB
	c        *h2.Conn
	echo     *echo
	counters h2.Counters
	now      time.Duration
	enc      *hpack.Encoder
	block    strings.Builder
	dec      *hpack.Decoder
	err      error
}

// newPeer returns a client that has greeted, unless bare.
func newPeer(t testing.TB, bare bool) *peer {
	p := &peer{t: t, echo: new(echo)}
	p.c = h2.New(p.echo, &p.counters, 0)
	p.enc = hpack.NewEncoder(&p.block)
	p.dec = hpack.NewDecoder(4096, nil)
	if !bare {
		want := "SETTINGS 3=1000 4=131072 6=65536|WINDOW_UPDATE 0 196609|SETTINGS ACK"
		if got := p.send([]byte(preface), raw(settings, 0, 0, "")); got != want {
			t.Fatalf("greeting %s, want %s", got, want)
		}
	}
	return p
}

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// raw returns a frame.
func raw(kind, flags byte, id uint32, payload string) []byte {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	return append(binary.BigEndian.AppendUint32(b, id), payload...)
}

// number returns n as four bytes.
func number(n uint32) string { return string(binary.BigEndian.AppendUint32(nil, n)) }

// fields returns a header block.
func (p *peer) fields(pairs ...string) string {
	p.block.Reset()
	for pair := range slices.Chunk(pairs, 2) {
		if err := p.enc.WriteField(hpack.HeaderField{Name: pair[0], Value: pair[1]}); err != nil {
			p.t.Fatal(err)
		}
	}
	return p.block.String()
}

// head returns the header block of a call.
func (p *peer) head(path string, more ...string) string {
	return p.fields(append([]string{
		":method", "POST", ":scheme", "http", ":path", path, ":authority", "h", "content-type",
		"application/grpc", "te", "trailers",
	}, more...)...)
}

// message returns a message with its prefix.
func message(text string) string { return "\x00" + number(uint32(len(text))) + text }

// call returns the frames of a call.
func (p *peer) call(id uint32, path, text string) []byte {
	return append(raw(headers, endHeaders, id, p.head(path)),
		raw(data, endStream, id, message(text))...)
}

// send sends frames and returns the answer in words; the error is kept.
func (p *peer) send(frames ...[]byte) string {
	p.t.Helper()
	out := append([]byte(nil), p.c.Output()...)
	p.c.Written()
	for _, f := range frames {
		for len(f) > 0 && p.err == nil {
			n := copy(p.c.Room(), f)
			f = f[n:]
			p.c.Arrived(n)
			for more := true; more && p.err == nil; {
				more, p.err = p.c.Advance(p.now)
				out = append(out, p.c.Output()...)
				p.c.Written()
			}
		}
	}
	return p.words(out)
}

var kinds = [...]string{
	"DATA", "HEADERS", "PRIORITY", "RST_STREAM", "SETTINGS", "PUSH", "PING",
	"GOAWAY", "WINDOW_UPDATE", "CONTINUATION",
}

// words says what frames are in b.
func (p *peer) words(b []byte) string {
	p.t.Helper()
	var all []string
	for len(b) > 0 {
		size := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
		kind, flags, id, payload := b[3], b[4], binary.BigEndian.Uint32(b[5:]), b[9:9+size]
		b = b[9+size:]
		if flags&ack != 0 && (kind == settings || kind == ping) {
			all = append(all, kinds[kind]+" ACK"+string(payload))
			continue
		}
		word := fmt.Sprintf("%s %d", kinds[kind], id)
		switch kind {
		case settings:
			word = "SETTINGS"
			for ; len(payload) > 0; payload = payload[6:] {
				word += fmt.Sprintf(" %d=%d", binary.BigEndian.Uint16(payload),
					binary.BigEndian.Uint32(payload[2:]))
			}
		case headers:
			list, err := p.dec.DecodeFull(payload)
			if err != nil {
				p.t.Fatal(err)
			}
			for _, f := range list {
				word += fmt.Sprintf(" %s=%s", f.Name, f.Value)
			}
		case data:
			word += fmt.Sprintf(" %q", payload)
			if len(payload) > 100 {
				word = fmt.Sprintf("DATA %d %d bytes", id, len(payload))
			}
		case reset:
			word += fmt.Sprintf(" %d", binary.BigEndian.Uint32(payload))
		case goAway:
			word = fmt.Sprintf("GOAWAY %d %d", binary.BigEndian.Uint32(payload),
				binary.BigEndian.Uint32(payload[4:]))
		case window:
			word += fmt.Sprintf(" %d", binary.BigEndian.Uint32(payload))
		}
		if flags&endStream != 0 && kind <= headers {
			word += " END"
		}
		all = append(all, word)
	}
	return strings.Join(all, "|")
}

// want fails the test unless got is want.
func (p *peer) want(got, want string) {
	p.t.Helper()
	if got != want {
		p.t.Errorf("got  %s\nwant %s", got, want)
	}
}

// ok is the answer to a call of /echo.
func ok(id uint32, text string) string {
	return fmt.Sprintf("HEADERS %d :status=200 content-type=application/grpc|DATA %d %q|HEADERS "+
		"%d grpc-status=0 END", id, id, message(text), id)
}
