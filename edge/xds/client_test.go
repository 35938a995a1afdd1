package xds_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/pb"
	"github.com/headgate-dev/headgate/edge/xds"
)

const typeURL = "type.googleapis.com/a.B"

// call is a stream as a server has it.
type call struct {
	http.ResponseWriter
	body io.Reader
}

// send sends a message with its head.
func (c call) send(message []byte) {
	head := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))
	c.write(append(head, message...))
}

func (c call) write(b []byte) {
	_, _ = c.Write(b)
	c.ResponseWriter.(http.Flusher).Flush()
}

// receive returns the version and the fault of the next request, "" after the last.
func (c call) receive() (version, fault string) {
	var head [5]byte
	if _, err := io.ReadFull(c.body, head[:]); err != nil {
		return "", ""
	}
	message := make([]byte, binary.BigEndian.Uint32(head[1:]))
	_, _ = io.ReadFull(c.body, message)
	w := pb.Walk(message)
	for w.Next() {
		switch w.Number {
		case 1:
			version = string(w.Data)
		case 6:
			for s := pb.Walk(w.Data); s.Next(); {
				fault += string(s.Data)
			}
		}
	}
	return version, fault
}

// response is a DiscoveryResponse.
func response(version, nonce, kind string, resources ...string) []byte {
	b := pb.AppendBytes(nil, 1, []byte(version))
	for _, r := range resources {
		b = pb.AppendBytes(b, 2, inside(kind, r))
	}
	return pb.AppendBytes(pb.AppendBytes(b, 4, []byte(kind)), 5, []byte(nonce))
}

// inside is a google.protobuf.Any.
func inside(kind, value string) []byte {
	return pb.AppendBytes(pb.AppendBytes(nil, 1, []byte(kind)), 2, []byte(value))
}

// follow runs a client of a server that answers the first stream by first, and those behind by a
// good response. It returns the state once that is in force, and why a connection was lost before.
func follow(t *testing.T, first func(c call)) (is xds.State, lost string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var calls sync.Mutex
	streams := 0
	server := &http.Server{
		ReadHeaderTimeout: time.Minute, Protocols: new(http.Protocols),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c := call{w, r.Body}
			calls.Lock()
			streams++
			number := streams
			calls.Unlock()
			if number == 1 {
				first(c)
				return
			}
			w.Header().Set("Content-Type", "application/grpc")
			c.receive()
			c.send(response("good", "n", typeURL, "x"))
			for version, _ := c.receive(); version != ""; version, _ = c.receive() {
			}
		}),
	}
	server.Protocols.SetUnencryptedHTTP2(true)
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(ln) })
	t.Cleanup(served.Wait)
	t.Cleanup(func() { _ = server.Close() })
	c := xds.New(xds.Options{
		Server: ln.Addr().String(), TypeURL: typeURL, Log: slog.New(slog.DiscardHandler),
		Apply: func(r xds.Response) error {
			if string(r.Resources[0]) == "x" {
				return nil
			}
			return errors.New(strings.Repeat("ä", 1000))
		},
	}, "before")
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() { c.Run(ctx) })
	t.Cleanup(run.Wait)
	t.Cleanup(cancel)
	edgetest.Await(t, "the good response", edgetest.Patience, func() bool {
		if is = c.State(); is.Lost != "" {
			lost = is.Lost
		}
		return is.Version == "good"
	})
	return is, lost
}

// TestHostileServers: whatever a server sends, the stream ends in words, and the next is good.
func TestHostileServers(t *testing.T) {
	for _, tt := range []struct {
		name, lost string
		answer     func(c call)
	}{
		{"an error", "HTTP status 404", func(c call) { c.WriteHeader(http.StatusNotFound) }},
		{"nothing", "the stream ended", func(call) {}},
		{"a status at once", `grpc-status 7 "no"`, func(c call) {
			c.Header().Set("Grpc-Status", "7")
			c.Header().Set("Grpc-Message", "no")
		}},
		{"a status at the end", `grpc-status 13 "later"`, func(c call) {
			c.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
			c.write(nil)
			c.Header().Set("Grpc-Status", "13")
			c.Header().Set("Grpc-Message", "later")
		}},
		{"a part of a head", "the stream ended", func(c call) { c.write([]byte{0, 0, 0}) }},
		{"a part of a message", "the stream ended", func(c call) {
			c.write([]byte{0, 0, 0, 0, 9, 1, 2})
		}},
		{"too much", "a response has 16777217 bytes, more than 16777216", func(c call) {
			c.write([]byte{0, 1, 0, 0, 1})
		}},
		{"compressed", "a response is compressed", func(c call) {
			c.write([]byte{1, 0, 0, 0, 1, 0})
		}},
		{"no message", "no DiscoveryResponse", func(c call) { c.send([]byte{0xff, 0xff, 0xff}) }},
		{"groups", "no DiscoveryResponse", func(c call) { c.send([]byte{0x0b, 0x0c}) }},
		{"a reset", "the stream ended", func(c call) {
			c.write(nil)
			panic(http.ErrAbortHandler)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			is, lost := follow(t, tt.answer)
			if !strings.Contains(lost, tt.lost) || is.NACKs != 0 || is.ACKs != 1 || is.Fault != "" {
				t.Errorf("%q, %+v\nwant %q", lost, is, tt.lost)
			}
		})
	}
}

// TestRefusedInWords: a response of another type, or with another type inside, or not taken by
// Apply, is refused with the version before, and at most 1,024 bytes of whole characters.
func TestRefusedInWords(t *testing.T) {
	for name, tt := range map[string]struct {
		words string
		sent  []byte
	}{
		"another type": {`the response is of type "c"`, response("1", "n", "c")},
		"another type inside": {
			`a resource is of type "c"`,
			pb.AppendBytes(response("1", "n", typeURL, "y"), 2, inside("c", "x")),
		},
		"a resource": {strings.Repeat("ä", 500), response("1", "n", typeURL, "y")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var version, fault string
			is, _ := follow(t, func(c call) {
				c.receive()
				c.send(tt.sent)
				version, fault = c.receive()
			})
			if version != "before" || !strings.Contains(fault, tt.words) || len(fault) > 1025 ||
				!utf8.ValidString(fault) {
				t.Errorf("version %q, fault %q", version, fault)
			}
			if is.NACKs != 1 || is.Fault != "" {
				t.Errorf("%+v", is)
			}
		})
	}
}

// TestSlowResponse: a response that promises 16 MiB and sends a byte at a time takes no more memory
// than what has come.
func TestSlowResponse(t *testing.T) {
	before := heap()
	var during uint64
	follow(t, func(c call) {
		c.receive()
		c.write([]byte{0, 1, 0, 0, 0})
		for range 100 {
			c.write(make([]byte, 100))
		}
		during = heap()
	})
	if during > before+4<<20 {
		t.Errorf("%d bytes of heap before, %d during", before, during)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// FuzzResponse: no bytes are read beyond themselves, and what is read is in them.
func FuzzResponse(f *testing.F) {
	f.Add(response("1", "n", typeURL, "a", "b"))
	f.Add([]byte{0x12, 0x05, 0x0a, 0x01})
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := xds.ReadResponse(raw, typeURL)
		size := len(r.Version)
		for _, one := range r.Resources {
			size += len(one)
		}
		if size > len(raw) || err == nil && len(r.Raw) != len(raw) {
			t.Errorf("%d bytes out of %d: %+v", size, len(raw), r)
		}
	})
}
