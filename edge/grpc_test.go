package edge_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// TestRenewedCertificate: a certificate replaced in place holds from the next handshake on.
func TestRenewedCertificate(t *testing.T) {
	t.Parallel()
	cert, key, _ := edgetest.Certificate(t)
	nextCert, nextKey, next := edgetest.Certificate(t)
	n := startAt(t, `udp: "127.0.0.1:0", http: [], admin: [], grpc: "127.0.0.1:0"`, fmt.Sprintf(
		"tls: {cert_file: %s, key_file: %s, client_ca_file: %s}\nrules: []\n", cert, key, cert))
	shake := func() error {
		conn, err := tls.Dial("tcp", n.node.Addresses().Streams["grpc"][0].String(), next)
		if err == nil {
			_ = conn.Close()
		}
		return err
	}
	next.MaxVersion = tls.VersionTLS12 // so that the handshake ends with the server's verdict
	if shake() == nil {
		t.Error("another identity is taken")
	}
	if err := os.WriteFile(key, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if shake() == nil {
		t.Error("with half of a key: another identity is taken")
	}
	for from, to := range map[string]string{nextCert: cert, nextKey: key} {
		content, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := shake(); err != nil {
		t.Errorf("the new identity: %v", err)
	}
}

// listen.grpc is secured by tls over TCP, and plain on a unix socket; clients need a certificate
// where client_ca_file says so.
func TestGRPC(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key, _ := edgetest.Certificate(t)
	n := startAt(t, "udp: '127.0.0.1:0', http: '127.0.0.1:0', grpc: ['127.0.0.1:0', 'unix:"+dir+"/s']",
		fmt.Sprintf("tls: {cert_file: %s, key_file: %s, client_ca_file: %s}\n", cert, key, cert))
	at := n.node.Addresses().Streams["grpc"]
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
		c.Memory = 4 << 20
		c.TLS = config.TLS{CertFile: tt.cert, KeyFile: tt.key, ClientCAFile: tt.ca}
		if _, err := edge.New(t.Context(), edge.Options{Config: &c}); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
}
