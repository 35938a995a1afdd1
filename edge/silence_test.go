package edge_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// A connection that does not show what it is in time ends, so that its place is free for a client
// that does.
func TestSilenceEnds(t *testing.T) {
	t.Parallel()
	cert, key, _ := edgetest.Certificate(t)
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("a-secret-of-enough-letters\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const listen = `udp: "127.0.0.1:0", http: [], admin: [], spop: "127.0.0.1:0", resp: "127.0.0.1:0", grpc: "127.0.0.1:0"`
	secret := "resp: {password_file: " + password + "}\n"
	plain := startAt(t, listen, secret)
	secured := startAt(t, listen,
		secret+fmt.Sprintf("tls: {cert_file: %s, key_file: %s, client_ca_file: %s}\n", cert, key,
			cert))
	const hello, auth = 2 * time.Second, 5 * time.Second
	for _, tt := range []struct {
		of         *running
		door, says string
		after      time.Duration // from the connection's begin to its end
	}{
		{plain, "spop", "", hello},
		{plain, "spop", "\x00\x00", hello},
		{plain, "grpc", "", hello},
		{plain, "grpc", "PRI * HTTP", hello},
		{plain, "resp", "", auth},
		{plain, "resp", "PING\r\nPING\r\n", auth},
		{secured, "grpc", "", hello},
		{secured, "grpc", "\x16\x03\x01", hello}, // the begin of a handshake
		{secured, "resp", "\x16\x03\x01", hello},
	} {
		t.Run(fmt.Sprintf("%s %q", tt.door, tt.says), func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			c, err := net.Dial("tcp", tt.of.node.Addresses().Streams[tt.door][0].String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			_ = c.SetDeadline(begin.Add(20 * time.Second))
			if _, err := io.Copy(c, strings.NewReader(tt.says)); err != nil {
				t.Fatal(err)
			}
			_, err = io.Copy(io.Discard, c)
			if took := time.Since(begin); took < tt.after-100*time.Millisecond ||
				took > tt.after+10*time.Second {
				t.Errorf("ended after %v by %v, want %v", took, err, tt.after)
			}
		})
	}
}
