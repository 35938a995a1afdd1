package edgetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Certificate returns the files of a certificate for 127.0.0.1, which signs itself, and of its key,
// and the settings of a client that has both and trusts the certificate.
func Certificate(t testing.TB) (cert, key string, client *tls.Config) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	template.IPAddresses = append(template.IPAddresses,
		netip.AddrFrom4([4]byte{127, 0, 0, 1}).AsSlice())
	der, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
	must(err)
	inside, err := x509.MarshalPKCS8PrivateKey(secret)
	must(err)
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: inside})
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	must(os.WriteFile(cert, public, 0o600))
	must(os.WriteFile(key, private, 0o600))
	both, err := tls.X509KeyPair(public, private)
	must(err)
	client = &tls.Config{
		RootCAs: x509.NewCertPool(), Certificates: []tls.Certificate{both},
		MinVersion: tls.VersionTLS12,
	}
	client.RootCAs.AppendCertsFromPEM(public)
	return cert, key, client
}
