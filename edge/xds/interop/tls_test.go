package interop

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// identity is a certificate that signs itself, of a server and of its client.
type identity struct{ cert, key string }

// server returns the credentials of a server that takes only clients of the same identity.
func (i identity) server(t *testing.T) grpc.ServerOption {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(i.cert, i.key)
	if err != nil {
		t.Fatal(err)
	}
	public, err := os.ReadFile(i.cert)
	if err != nil {
		t.Fatal(err)
	}
	known := x509.NewCertPool()
	known.AppendCertsFromPEM(public)
	return grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert,
		ClientCAs: known,
	}))
}

// put copies the files of i to dir.
func (i identity) put(t *testing.T, dir string) {
	t.Helper()
	for to, from := range map[string]string{"ca.pem": i.cert, "cert.pem": i.cert, "key.pem": i.key} {
		content, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestCertificates: certificate, key and authority of rls.xds are read again at each connection, and
// so are headers.
func TestCertificates(t *testing.T) {
	t.Parallel()
	var one, two identity
	one.cert, one.key, _ = edgetest.Certificate(t)
	two.cert, two.key, _ = edgetest.Certificate(t)
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	write := func(text string) {
		if err := os.WriteFile(token, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	one.put(t, dir)
	write("Bearer one")
	m := manage(t, "", one.server(t))
	n := startNode(t, dir, "rls: {xds: {server: '"+m.at+"', headers: {authorization: {file: "+
		token+"}, x-a: b}, tls: {ca_file: "+dir+"/ca.pem, cert_file: "+dir+"/cert.pem, key_file: "+
		dir+"/key.pem}}}\n")
	m.send("1", domain("shop", limit("plan", "free", 100)))
	n.await("1")
	if got := m.header("authorization") + m.header("x-a"); got != "Bearer oneb" {
		t.Errorf("headers %q", got)
	}
	m.stop()
	m.listen(m.at, two.server(t))
	m.send("2", domain("shop", limit("plan", "free", 50)))
	edgetest.Await(t, "a refused certificate", edgetest.Patience, func() bool {
		return n.RLS().XDS.Lost != "" && !n.RLS().XDS.Connected
	})
	if got := n.remaining("shop", "plan", "free"); got != 99 {
		t.Errorf("meanwhile: %d left", got)
	}
	two.put(t, dir)
	write("Bearer two")
	n.await("2")
	if got := m.header("authorization"); got != "Bearer two" {
		t.Errorf("header %q", got)
	}
}
