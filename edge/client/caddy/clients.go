package caddy

import (
	"crypto/tls"
	"fmt"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/headgate-dev/headgate/edge/client"
)

// versionsTLS are the names of versions, as policies know them.
var versionsTLS = map[uint16]string{
	tls.VersionTLS10: "TLSv1", tls.VersionTLS11: "TLSv1.1", tls.VersionTLS12: "TLSv1.2",
	tls.VersionTLS13: "TLSv1.3",
}

// clients are those in use: handlers with the same settings share one, and so does the
// configuration that replaces theirs.
var clients = caddy.NewUsagePool()

// pooled is a client that the pool closes when no handler uses it.
type pooled struct{ *client.Client }

// Destruct closes the client.
func (p pooled) Destruct() error { return p.Close() }

// takeClient sets the handler's client.
func (h *Handler) takeClient() error {
	mode := client.FailOpen
	if h.FailClosed {
		mode = client.FailClosed
	}
	name := fmt.Sprint(h.Address, " ", time.Duration(h.Timeout), " ", mode)
	shared, _, err := clients.LoadOrNew(name, func() (caddy.Destructor, error) {
		c, err := client.Dial(h.Address, client.WithTimeout(time.Duration(h.Timeout)),
			client.WithFailMode(mode))
		return pooled{c}, err
	})
	if err != nil {
		return err
	}
	h.client, h.pooled = shared.(pooled).Client, name //nolint:forcetypeassert // nothing else is in it
	return nil
}

// dropClient gives the client back to the pool.
func (h *Handler) dropClient() error {
	if h.pooled == "" {
		return nil
	}
	_, err := clients.Delete(h.pooled)
	h.pooled = ""
	return err
}
