package fields_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door/fields"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/wire"
)

// TestFiller: each field reaches the request; those of proxies only from a peer that is trusted, and
// a value that is not proper is a fault.
func TestFiller(t *testing.T) {
	t.Parallel()
	room := ask.New(gatetest.New(t, 1<<20, gatetest.Shed), 1<<20)
	stranger := netip.MustParseAddr("203.0.113.9")
	for _, tt := range []struct {
		name  string
		peer  netip.Addr
		pairs []string // name, value, …
		want  string   // method, path, query, host, client, country, whether End was content
	}{
		{"all", netip.Addr{}, []string{"path", "/a//b?q=1", "host", "H.example:80", "method", "PUT", "client", "192.0.2.1", "country", "DE"}, "PUT /a/b q=1 h.example 192.0.2.1 DE true"},
		{"the least", netip.Addr{}, []string{"path", "/"}, "GET /   invalid IP  true"},
		{"a stranger is the client, and says nothing else", stranger, []string{"path", "/", "country", "DE", "client", "192.0.2.1", "peer", "192.0.2.2"}, "GET /   203.0.113.9  true"},
		{"a number that is none", netip.Addr{}, []string{"path", "/", "asn", "x"}, "GET /   invalid IP  false"},
		{"an address that is none", stranger, []string{"path", "/", "client", "x"}, "GET /   invalid IP  false"},
		{"a path without a slash", netip.Addr{}, []string{"path", "x"}, "GET /x   invalid IP  true"},
	} {
		s := room.NewSession()
		f := fields.Begin(s, tt.peer)
		for i := 0; i < len(tt.pairs); i += 2 {
			p, ok := wire.FieldOf([]byte(tt.pairs[i]), false)
			if !ok {
				t.Fatal(tt.pairs[i])
			}
			p.Value = []byte(tt.pairs[i+1])
			f.Set(&p)
		}
		content := f.End()
		r := &s.Request
		if got := fmt.Sprintf("%s %s %s %s %s %s %t", r.Method, r.Path, r.Query, r.Host, r.Client, r.Country, content); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
