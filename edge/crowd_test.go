package edge_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/wire"
)

const crowdConfig = `
node: test
memory: 4MiB
policies: [{name: partner, match: {}, key: host, limit: 1, window: 1h, action: block, block_for: 1h, max_blast: 20}]
`

// TestACrowdIsCounted: a Go program learns about how many clients a block would deny, from a
// daemon, from a node of its own, and by the answer of its handler.
func TestACrowdIsCounted(t *testing.T) {
	t.Parallel()
	node := embed(t, crowdConfig, client.FailOpen)
	for name, l := range map[string]client.Limiter{
		"daemon": daemonOf(t, crowdConfig),
		"node":   node,
	} {
		var last client.Answer
		for n := range 60 {
			is, err := l.Ask(t.Context(),
				client.Request{
					Path: "/", Host: "h.example",
					Client: netip.AddrFrom4([4]byte{203, 0, 113, byte(n)}),
				})
			if err != nil || is.Allowed() != (n == 0) || n < 10 && is.Blast != 0 {
				t.Fatalf("%s, request %d: %+v, %v", name, n, is, err)
			}
			last = is
		}
		if last.Why != wire.WhyShed || last.Blast <= 20 || last.Blast > 120 {
			t.Errorf("%s: %+v", name, last)
		}
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://h.example/", nil)
	node.Handler(http.NotFoundHandler()).ServeHTTP(w, r)
	if body := w.Body.String(); w.Code != http.StatusTooManyRequests ||
		!strings.Contains(body, `"why":"shed"`) || !strings.Contains(body, `"blast":`) {
		t.Errorf("%d %s", w.Code, body)
	}
}
