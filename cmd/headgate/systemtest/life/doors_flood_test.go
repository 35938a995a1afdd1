//go:build linux && !race

package life

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
)

// flood is what a hostile client sends to one door: open once a connection, then wave after wave,
// on several connections at once. When a connection is lost it opens another.
type flood struct {
	door, name string
	open       string
	wave       func(n int) string // the n-th of a connection, from 0
	conns      int                // at once
	every      time.Duration      // between two waves of a connection; 0: as fast as they are taken
	deaf       bool               // it reads nothing, like a client that is stopped
	counted    bool               // the door counts an error for it
}

// repeated is the same wave each time.
func repeated(wave string) func(int) string { return func(int) string { return wave } }

// The frames of HTTP/2 that the floods send.
const (
	h2Data, h2Headers, h2Reset, h2Settings, h2Ping, h2Continuation = 0, 1, 3, 4, 6, 9
	h2EndStream, h2EndHeaders                                      = 1, 4
	preface                                                        = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
)

// h2Frame is one frame of HTTP/2.
func h2Frame(kind, flags byte, stream int, payload string) string {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	return string(binary.BigEndian.AppendUint32(b, uint32(stream))) + payload
}

// h2Header is a header as a literal that changes no table.
func h2Header(name, value string) string {
	return "\x00" + string([]byte{byte(len(name))}) + name +
		string([]byte{byte(len(value))}) + value
}

var (
	h2Open = preface + h2Frame(h2Settings, 0, 0, "")
	h2Call = "\x83\x86" + h2Header(":path",
		"/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit") + h2Header(":authority",
		"h") +
		h2Header("content-type", "application/grpc") + h2Header("te", "trailers")
	h2Message = "\x00\x00\x00\x00\x1c\x0a\x01d\x12\x17\x0a\x0d\x0a\x04rule\x12\x05login\x0a\x06\x0a\x01k\x12\x01v"
)

// h2Streams returns a wave of 100 streams, each of which is what each makes of its number.
func h2Streams(each func(stream int) string) func(int) string {
	return func(n int) string {
		var b strings.Builder
		for i := range 100 {
			b.WriteString(each(2*(100*n+i) + 1))
		}
		return b.String()
	}
}

// h2Bomb is a header block that is 16 KiB as sent and 60 MB as headers: an entry of 3.7 KiB, 16,000
// times.
func h2Bomb() string {
	value := strings.Repeat("x", 3700)
	entry := "\x40\x01a" + "\x7f" +
		string(binary.AppendUvarint(nil, uint64(len(value)-127))) + value
	return entry + strings.Repeat("\xbe", 12000)
}

// spopFrame is one frame of SPOP.
func spopFrame(kind byte, ids, payload string) string {
	b := string([]byte{kind, 0, 0, 0, 1}) + ids + payload
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(b)))) + b
}

// spopText is a text of SPOP below 240 bytes with its length.
func spopText(s string) string { return string([]byte{byte(len(s))}) + s }

var (
	spopOpen = spopFrame(1, "\x00\x00", spopText("supported-versions")+"\x08"+spopText("2.0")+
		spopText("max-frame-size")+"\x03\xfc\xf0\x06"+spopText("capabilities")+"\x08\x00")
	spopAsk = spopFrame(3, "\x01\x01", spopText("ask")+"\x02"+spopText("rule")+"\x08"+
		spopText("login")+spopText("key")+"\x08"+spopText("k"))
	respAsk = "*3\r\n$14\r\nHEADGATE.CHECK\r\n$5\r\nlogin\r\n$1\r\nk\r\n"
	httpAsk = "GET /v1/check?rule=login&key=k HTTP/1.1\r\nHost: h\r\n\r\n"
)

// noise returns the same 16 KiB of random bytes each time.
func noise() string {
	from := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 16<<10)
	for i := range b {
		b[i] = byte(from.Uint32())
	}
	return string(b)
}

// allFloods returns what each door is flooded with.
func allFloods() []flood {
	idle := "\x00\x04\x00\x00\x00\x00" // a setting: windows of 0 bytes
	call := func(stream int) string {
		return h2Frame(h2Headers, h2EndHeaders, stream, h2Call) + h2Frame(h2Data, h2EndStream,
			stream, h2Message)
	}
	return []flood{
		{
			door: "grpc", name: "rapid reset", open: h2Open, counted: true,
			wave: h2Streams(func(stream int) string {
				return h2Frame(h2Headers, h2EndHeaders, stream, h2Call) + h2Frame(h2Reset, 0,
					stream,
					"\x00\x00\x00\x08")
			}),
		},
		{
			door: "grpc", name: "CONTINUATION", open: h2Open + h2Frame(h2Headers, 0, 1, "\x83"),
			counted: true, wave: repeated(strings.Repeat(h2Frame(h2Continuation, 0, 1, ""), 500)),
		},
		{
			door: "grpc", name: "empty frames", open: h2Open + h2Frame(h2Headers, h2EndHeaders, 1,
				h2Call), counted: true,
			wave: repeated(strings.Repeat(h2Frame(h2Data, 0, 1, ""), 500)),
		},
		{
			door: "grpc", name: "SETTINGS", open: h2Open, deaf: true, counted: true,
			wave: repeated(strings.Repeat(h2Frame(h2Settings, 0, 0, "\x00\x04\x00\x00\xff\xff"),
				500)),
		},
		{
			door: "grpc", name: "PING", open: h2Open, deaf: true, counted: true,
			wave: repeated(strings.Repeat(h2Frame(h2Ping, 0, 0, "12345678"), 500)),
		},
		{
			door: "grpc", name: "window never opened", open: preface + h2Frame(h2Settings, 0, 0,
				idle),
			counted: true, wave: h2Streams(call),
		},
		{
			door: "grpc", name: "HPACK bomb", open: h2Open, counted: true,
			wave: func(n int) string {
				return h2Frame(h2Headers, h2EndHeaders|h2EndStream, 2*n+1,
					h2Bomb())
			},
		},
		{door: "grpc", name: "stopped", open: h2Open, deaf: true, wave: h2Streams(call)},
		{door: "grpc", name: "garbage", wave: repeated(noise())},
		{
			door: "spop", name: "broken grammar", open: spopOpen, counted: true,
			wave: repeated(spopFrame(3, "\x01\x01", "\x09ask")),
		},
		{
			door: "spop", name: "endless names", open: spopOpen, counted: true,
			wave: repeated(spopFrame(3, "\x01\x01", "\x03ask\xff"+strings.Repeat("\x00", 8<<10))),
		},
		{
			door: "spop", name: "stopped", open: spopOpen, deaf: true,
			wave: repeated(strings.Repeat(spopAsk, 300)),
		},
		{door: "spop", name: "garbage", counted: true, wave: repeated(noise())},
		{door: "resp", name: "array of 10^9", counted: true, wave: repeated("*1000000000\r\n")},
		{
			door: "resp", name: "bulk of 10^9", counted: true,
			wave: repeated("*2\r\n$1000000000\r\n"),
		},
		{door: "resp", name: "stopped", deaf: true, wave: repeated(strings.Repeat(respAsk, 300))},
		{door: "resp", name: "garbage", counted: true, wave: repeated(noise())},
		{
			door: "http", name: "slow loris", open: "GET /v1/check?rule=login&key=k " +
				"HTTP/1.1\r\nHost: h\r\n", conns: 400, every: 50 * time.Millisecond,
			wave: repeated("X-A: b\r\n"),
		},
		{door: "http", name: "stopped", deaf: true, wave: repeated(strings.Repeat(httpAsk, 300))},
		{door: "http", name: "garbage", counted: true, wave: repeated(noise())},
		{door: "udp", name: "garbage", counted: true, wave: repeated(noise()[:1200])},
		{
			door: "udp", name: "stopped", deaf: true,
			wave: repeated(strings.Repeat("check login k\n", 60)),
		},
		{door: "grpc", name: "dead at once"},
		{door: "spop", name: "dead at once"},
		{door: "resp", name: "dead at once"},
		{door: "http", name: "dead at once"},
	}
}

// TestDoorsUnderFlood floods one door after the other for a moment: no flood ends the daemon, or
// another connection of its door; its faults are counted, and memory stays bounded.
func TestDoorsUnderFlood(t *testing.T) {
	const moment = 100 * time.Millisecond
	n := startAllDoors(t)
	for _, f := range allFloods() {
		t.Run(f.door+" "+strings.ReplaceAll(f.name, " ", "_"), func(t *testing.T) {
			w := n.witness(t, f.door)
			before := n.faultsOf(f.door)
			n.flooded(&f, func(connections func() uint64) {
				end := time.NewTimer(moment)
				defer end.Stop()
				<-end.C
				systemtest.Await(t, "the flood comes through",
					func() bool {
						return connections() > 0 &&
							(!f.counted || n.faultsOf(f.door) > before)
					})
			})
			w.asks(t)
		})
	}
	if most := n.MostResident(); most > floodMemory+floodRoom {
		t.Errorf("%d MiB resident at most, with memory %d MiB", most, floodMemory)
	}
	if said := n.Said.String(); strings.Contains(said, "panic") ||
		strings.Contains(said, "goroutine ") {
		t.Error(said)
	}
	for _, door := range []string{"udp", "http", "grpc", "spop", "resp"} {
		n.witness(t, door).asks(t)
	}
}

// The memory of the flooded daemon in MiB: its option, and what floods may take beside it.
const (
	floodMemory = 64
	floodRoom   = 192
)

// String returns the name of f in a table.
func (f *flood) String() string { return fmt.Sprintf("%-4s %s", f.door, f.name) }
