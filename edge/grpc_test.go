package edge_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// listen.grpc is secured by tls over TCP, and plain on a unix socket; clients need a certificate
// where client_ca_file says so.
func TestGRPC(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key, _ := edgetest.Certificate(t)
	text := fmt.Sprintf("listen: {udp: [], http: [], admin: [], grpc: ['127.0.0.1:0', "+
		"'unix:%s']}\ntls: {cert_file: %s, key_file: %s, client_ca_file: %s}\n",
		filepath.Join(dir, "s"), cert, key, cert)
	c, err := config.Parse("headgate.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	n, err := edge.New(t.Context(), edge.Options{Config: &c})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	at := n.Addresses().Streams["grpc"]
	plain, err := net.Dial("unix", at[1].String())
	if err != nil {
		t.Fatal(err)
	}
	greet(t, plain)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(leaf)
	secure, err := tls.Dial("tcp", at[0].String(),
		&tls.Config{
			RootCAs: pool, NextProtos: []string{"h2"},
			Certificates: []tls.Certificate{pair},
		})
	if err != nil {
		t.Fatal(err)
	}
	greet(t, secure)
	without, err := tls.Dial("tcp", at[0].String(),
		&tls.Config{RootCAs: pool, NextProtos: []string{"h2"}})
	if err == nil { // TLS 1.3: the handshake ends before the server has looked
		_, err = without.Read(make([]byte, 1))
	}
	if err == nil {
		t.Error("a client without a certificate is served")
	}
}

// greet begins HTTP/2 and reads the first frame of the answer.
func greet(t *testing.T, c net.Conn) {
	t.Helper()
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c,
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
		t.Error(err)
	}
	head := make([]byte, 9)
	if _, err := io.ReadFull(c, head); err != nil || head[3] != 4 {
		t.Errorf("%x, %v", head, err)
	}
}

// A file of tls that cannot be used stops the start, and is named.
func TestBadTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key, _ := edgetest.Certificate(t)
	for _, tt := range []struct{ cert, key, ca, want string }{
		{dir + "/none", key, "", "tls.cert_file: "},
		{cert, dir + "/none", "", "tls.key_file: "},
		{cert, cert, "", "tls.cert_file " + cert},
		{cert, key, dir + "/none", "tls.client_ca_file: "},
		{cert, key, key, "holds no certificate"},
	} {
		c := config.Default()
		c.Listen = config.Listen{GRPC: []config.Address{{Host: "127.0.0.1"}}}
		c.TLS = config.TLS{CertFile: tt.cert, KeyFile: tt.key, ClientCAFile: tt.ca}
		if _, err := edge.New(t.Context(), edge.Options{Config: &c}); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
}
