package edge

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"sync"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/private"
)

// maxPEM bounds a file of certificates or of a key, bytes.
const maxPEM = 1 << 20

// secured returns the TLS of a listener with the files of t; nil: there are none. Certificates are
// renewed in place: files that have changed are read again at the next handshake, and where they
// cannot be used those before stay.
func (n *Node) secured(t *config.TLS, protocols ...string) (*tls.Config, error) {
	now, err := n.readTLS(t, protocols)
	if now == nil || err != nil {
		return nil, err
	}
	var mu sync.Mutex
	files := stampsOf(t)
	outer := now.Clone()
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		mu.Lock()
		defer mu.Unlock()
		is := stampsOf(t)
		if is == files {
			return now, nil
		}
		files = is
		if next, err := n.readTLS(t, protocols); err != nil {
			n.log.Warn("files of tls that changed are not used, those before stay", "error", err)
		} else if next != nil {
			now = next
		}
		return now, nil
	}
	return outer, nil
}

// stampsOf returns the stamps of t's files.
func stampsOf(t *config.TLS) [3]stamp {
	return [...]stamp{stampOf(t.CertFile), stampOf(t.KeyFile), stampOf(t.ClientCAFile)}
}

// readTLS reads the files of t, and warns of who else can get at the key; nil: there are none.
func (n *Node) readTLS(t *config.TLS, protocols []string) (*tls.Config, error) {
	pair, warnings, err := readPair("tls", t.CertFile, t.KeyFile)
	if pair == nil || err != nil {
		return nil, err
	}
	n.warn(prepared{warnings: warnings})
	// TLS 1.2 at least: RFC 9113, 9.2.
	c := &tls.Config{
		Certificates: pair, NextProtos: protocols,
		MinVersion: tls.VersionTLS12,
	}
	if t.ClientCAFile != "" {
		c.ClientAuth = tls.RequireAndVerifyClientCert
		c.ClientCAs, err = readAuthorities("tls.client_ca_file", t.ClientCAFile)
	}
	return c, err
}

// readPair reads a certificate and its key; without names there is none. The warnings are the
// key's: everybody may read a certificate.
func readPair(
	field, certFile, keyFile string,
) (pair []tls.Certificate, warnings []string, err error) {
	if certFile == "" {
		return nil, nil, nil
	}
	cert, _, err := private.Read(certFile, maxPEM)
	if err != nil {
		return nil, nil, fmt.Errorf("%s.cert_file: %w", field, err)
	}
	key, warnings, err := private.Read(keyFile, maxPEM)
	if err != nil {
		return nil, nil, fmt.Errorf("%s.key_file: %w", field, err)
	}
	one, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, nil, fmt.Errorf("%s.cert_file %s, %s.key_file %s: %w",
			field, certFile, field, keyFile, err)
	}
	return []tls.Certificate{one}, warnings, nil
}

// readAuthorities reads certificates; nil without a name.
func readAuthorities(field, path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	content, _, err := private.Read(path, maxPEM)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("%s: %s holds no certificate in PEM", field, path)
	}
	return pool, nil
}
