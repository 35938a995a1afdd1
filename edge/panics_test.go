package edge

import (
	"bufio"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/gate"
)

// spopHi is the HELLO of an engine, and spopCheck a NOTIFY that asks about the rule r and the key
// k.
const (
	spopHi = "\x00\x00\x00\x41\x01\x00\x00\x00\x01\x00\x00\x12supported-versions\x08\x032.0\x0emax-frame-size\x03\xfc\xf0\x06" +
		"\x0ccapabilities\x08\x00"
	spopCheck = "\x00\x00\x00\x1b\x03\x00\x00\x00\x01\x01\x01\x03ask\x02\x04rule\x08\x01r\x03key\x08\x01k"
)

// askers send one question to a door, on a connection of its own, and return what it says.
var askers = map[string]func(t *testing.T, at net.Addr) string{
	"udp": func(t *testing.T, at net.Addr) string {
		return exchange(doortest.Dial(t, at), "check r k id=7\n")
	},
	"http": func(t *testing.T, at net.Addr) string {
		got := exchange(doortest.Dial(t, at),
			"GET /v1/check?rule=r&key=k HTTP/1.1\r\nHost: h\r\n\r\n")
		return strings.SplitN(got, "\r\n", 2)[0]
	},
	"resp": func(t *testing.T, at net.Addr) string {
		return exchange(doortest.Dial(t, at), "HEADGATE.CHECK r k\r\n")
	},
	"spop": func(t *testing.T, at net.Addr) string {
		c := doortest.Dial(t, at)
		_ = readFrame(t, c, spopHi)
		return string(readFrame(t, c, spopCheck))
	},
	"grpc": func(t *testing.T, at net.Addr) string {
		var protocols http.Protocols
		protocols.SetUnencryptedHTTP2(true)
		transport := &http.Transport{Protocols: &protocols}
		defer transport.CloseIdleConnections()
		// attributes, request, http: method and path
		body := "\x0a\x0c\x22\x0a\x12\x08\x12\x03GET\x22\x01/"
		body = string(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body)))) + body
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			"http://"+at.String()+"/envoy.service.auth.v3.Authorization/Check", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/grpc")
		got, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = got.Body.Close() }()
		_, _ = io.Copy(io.Discard, got.Body)
		return got.Header.Get("Grpc-Status") + got.Trailer.Get("Grpc-Status")
	},
}

// exchange sends question over c and returns what comes in one read.
func exchange(c net.Conn, question string) string {
	if _, err := io.WriteString(c, question); err != nil {
		return err.Error()
	}
	b := make([]byte, 1<<10)
	n, err := c.Read(b)
	if err != nil {
		return err.Error()
	}
	return string(b[:n])
}

// readFrame sends a frame of SPOP and returns the next that comes, without its length.
func readFrame(t *testing.T, c net.Conn, frame string) []byte {
	t.Helper()
	if _, err := io.WriteString(c, frame); err != nil {
		t.Fatal(err)
	}
	var length [4]byte
	if _, err := io.ReadFull(c, length[:]); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, binary.BigEndian.Uint32(length[:]))
	if _, err := io.ReadFull(c, b); err != nil {
		t.Fatal(err)
	}
	return b
}

// A question that meets a fault in the code is answered as one, in the words of its door, and
// counted. The node lives on: the next question gets an answer too. No input is known that does
// this, so the lanes lose their gate here.
func TestFaultsOfTheDaemon(t *testing.T) {
	t.Parallel()
	c, err := config.Parse("headgate.yaml", []byte(`
memory: 8MiB
listen: {udp: "127.0.0.1:0", http: "127.0.0.1:0", admin: "127.0.0.1:0", grpc: "127.0.0.1:0", spop: "127.0.0.1:0", resp: "127.0.0.1:0"}
rules: [{name: r, limit: 3, window: 1h}]
policies: [{name: all, match: {}, limit: 3, window: 1h}]
`))
	if err != nil {
		t.Fatal(err)
	}
	n, err := New(t.Context(), Options{Config: &c, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range gate.Lanes {
		lane := reflect.ValueOf(n.gate.Lane(i)).Elem().FieldByName("gate")
		//nolint:gosec // there is no other way to a fault
		*(**gate.Gate)(unsafe.Pointer(lane.UnsafeAddr())) = nil
	}
	doortest.Serve(t, n.Run)
	at := map[string]net.Addr{"udp": n.Addresses().Datagram[0], "http": n.Addresses().HTTP[0]}
	for name, list := range n.Addresses().Streams {
		at[name] = list[0]
	}
	for door, want := range map[string]string{
		"udp":  "id=7 error internal\n",
		"http": "HTTP/1.1 500 Internal Server Error",
		"resp": "-ERR internal\r\n",
		"spop": "status-code\x03\x63",
		"grpc": "13",
	} {
		for range 2 {
			if got := askers[door](t, at[door]); got != want &&
				(door != "spop" || !strings.Contains(got, want)) {
				t.Errorf("%s: %q, want %q", door, got, want)
			}
		}
	}
	metrics, err := http.Get("http://" + n.Addresses().Admin[0].String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = metrics.Body.Close() }()
	for lines := bufio.NewScanner(metrics.Body); lines.Scan(); {
		door, total, found := strings.Cut(strings.TrimPrefix(lines.Text(),
			`headgate_panics_total{door="`), `"} `)
		if _, asked := askers[door]; found && asked && total != "2" {
			t.Errorf("%s counted %s faults, want 2", door, total)
		}
	}
}
