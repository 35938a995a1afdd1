// Command calls asks a gRPC server by unary calls over raw HTTP/2 frames, as a proxy would that
// traces: each call may have a traceparent of its own, so that no header block is like the one
// before.
//
//	calls -at 127.0.0.1:4294 -body FILE -conns 2 -streams 32 -n 200000 -traceparent
//
// It prints the calls answered a second. h2load, which bench/grpc.sh uses beside it, sends the same
// headers with each request.
package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2/hpack"
)

// The parts of HTTP/2 that a caller needs.
// RFC 9113, 6; the other types never reach a caller that sends nothing else.
const (
	frameData, frameHeaders, frameReset, frameSettings, framePing, frameGoAway,
	frameWindow = 0, 1, 3, 4, 6, 7, 8
	endStream, endHeaders, ack = 1, 4,
		1
	// So large that flow control is never met: its price is not what is measured here.
	wide = 1 << 30 // bytes of a window
)

type options struct {
	at, body, method string
	conns, streams   int
	calls            int
	traced           bool
}

func main() {
	log.SetFlags(0)
	var o options
	flag.StringVar(&o.at, "at", "127.0.0.1:4294", "address of the server")
	// With its five bytes of length in front, as bench/grpc.sh writes it.
	flag.StringVar(&o.body, "body", "", "file with the message of a call, in its gRPC frame")
	flag.StringVar(&o.method, "method",
		"/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", "path of the method")
	flag.IntVar(&o.conns, "conns", 2, "connections")
	flag.IntVar(&o.streams, "streams", 32, "calls under way on each")
	flag.IntVar(&o.calls, "n", 200000, "calls in all")
	flag.BoolVar(&o.traced, "traceparent", false, "send a traceparent of its own with each call")
	flag.Parse()
	body, err := os.ReadFile(o.body)
	if err != nil {
		log.Fatal(err)
	}
	var all sync.WaitGroup
	began := time.Now()
	for range o.conns {
		all.Go(func() {
			// A run with an error has no figure, so the first one ends the program.
			if err := o.connection(body); err != nil {
				log.Fatal(err)
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	fmt.Printf("%.0f calls/s, %d calls in %v\n", float64(o.calls/o.conns*o.conns)/took.Seconds(),
		o.calls/o.conns*o.conns, took.Round(time.Millisecond))
}

// caller is one connection.
// It reads and writes in turn, on one goroutine: calls under way are those of one write.
type caller struct {
	*options
	body    []byte
	in      *bufio.Reader
	out     []byte
	encoder *hpack.Encoder
	block   strings.Builder
	last    uint32 // stream
}

// connection makes the calls of one connection.
func (o *options) connection(body []byte) error {
	c, err := net.Dial("tcp", o.at)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	k := &caller{options: o, body: body, in: bufio.NewReaderSize(c, 64<<10)}
	k.encoder = hpack.NewEncoder(&k.block)
	k.out = append(k.out, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"...)
	k.frame(frameSettings, 0, 0, binary.BigEndian.AppendUint32([]byte{0, 4}, wide))
	k.frame(frameWindow, 0, 0, binary.BigEndian.AppendUint32(nil, wide))
	// Each connection makes its part, and the figure is of the calls that were made in all.
	left := o.calls / o.conns
	for range min(o.streams, left) {
		k.call()
	}
	for sent := min(o.streams, left); left > 0; {
		if _, err := c.Write(k.out); err != nil {
			return err
		}
		k.out = k.out[:0]
		// All answers of one read are taken before the next calls are written, as a proxy's event
		// loop does.
		for first := true; first || k.in.Buffered() > 0; first = false {
			answered, err := k.read()
			if err != nil {
				return err
			}
			if !answered {
				continue
			}
			if left--; sent < o.calls/o.conns {
				k.call()
				sent++
			}
		}
	}
	return nil
}

// frame appends a frame to what is sent next.
func (k *caller) frame(kind, flags byte, stream uint32, payload []byte) {
	k.out = append(k.out, byte(len(payload)>>16), byte(len(payload)>>8),
		byte(len(payload)), kind, flags)
	k.out = append(binary.BigEndian.AppendUint32(k.out, stream), payload...)
}

// call appends a call.
// Streams of a client have odd numbers: 1, 3, 5 (RFC 9113, 5.1.1).
func (k *caller) call() {
	if k.last += 2; k.last == 2 {
		k.last = 1
	}
	k.block.Reset()
	for _, f := range [...][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":path", k.method},
		{":authority", "headgate"},
		{"content-type", "application/grpc"},
		{"te", "trailers"},
	} {
		_ = k.encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	// The value differs each time, so the server's table of header fields changes with each call:
	// what a comparison with the last block cannot save.
	if k.traced {
		_ = k.encoder.WriteField(hpack.HeaderField{Name: "traceparent", Value: fmt.Sprintf("00-%016x%016x-%016x-01", rand.Uint64(), rand.Uint64(), rand.Uint64())}) //nolint:gosec // no secret
	}
	k.frame(frameHeaders, endHeaders, k.last, []byte(k.block.String()))
	k.frame(frameData, endStream, k.last, k.body)
}

// read reads one frame and reports whether it is the end of an answer.
// Nothing of an answer is looked at but its end: the tests check answers.
func (k *caller) read() (answered bool, err error) {
	var head [9]byte
	if _, err := io.ReadFull(k.in, head[:]); err != nil {
		return false, err
	}
	payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
	if _, err := io.ReadFull(k.in, payload); err != nil {
		return false, err
	}
	switch kind, flags := head[3], head[4]; kind {
	case frameReset, frameGoAway:
		return false, errors.New("the server ended a call")
	// Both must be acknowledged, or a server ends the connection.
	case frameSettings, framePing:
		if flags&ack == 0 {
			k.frame(kind, ack, 0, payload[:len(payload)*int(kind/framePing)] /* SETTINGS are empty */)
		}
	case frameHeaders, frameData:
		return flags&endStream != 0, nil
	}
	return false, nil
}
