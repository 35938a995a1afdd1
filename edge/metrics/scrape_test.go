package metrics_test

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	doorhttp "github.com/headgate-dev/headgate/edge/door/http"
	"github.com/headgate-dev/headgate/edge/door/udp"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/metrics"
)

// node is a gate, the registry of its metrics and the listener that serves them.
type node struct {
	gate  *gate.Gate
	reg   *prometheus.Registry
	admin *admin.Door
}

// newNode returns a node that shows the metrics of from; from.Gate is there, all else may be
// missing.
func newNode(from metrics.Sources) *node { return newNodeIn(prometheus.NewRegistry(), from) }

// newCheckedNode is newNode with a registry that compares every sample with its family's
// description.
func newCheckedNode(from metrics.Sources) *node {
	return newNodeIn(prometheus.NewPedanticRegistry(), from)
}

func newNodeIn(reg *prometheus.Registry, from metrics.Sources) *node {
	n := &node{gate: from.Gate, reg: reg}
	metrics.Register(n.reg, from)
	n.admin = admin.New(from.Gate,
		admin.Options{Local: true, Registry: n.reg, Log: slog.New(slog.DiscardHandler)})
	return n
}

// fourRules returns a gate with the four kinds of rules.
func fourRules(t testing.TB) *gate.Gate {
	t.Helper()
	return gatetest.New(t, 1<<20, gatetest.Shed, gatetest.Block, gatetest.Shadow, gatetest.Off)
}

// refuse has key ask five times under rule, whose limit is three.
func refuse(g *gate.Gate, rule, key string) {
	for range 5 {
		gatetest.Decide(g, g.Now(), gate.Check, rule, key, 1)
	}
}

// page answers GET /metrics.
func (n *node) page(t testing.TB) string {
	t.Helper()
	r, w := httptest.NewRequest(http.MethodGet, "/metrics", nil), httptest.NewRecorder()
	r.Host = "localhost"
	if n.admin.ServeHTTP(w, r); w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// scrape returns the samples of the page, one a line, without comments.
func (n *node) scrape(t testing.TB) (lines []string) {
	t.Helper()
	for line := range strings.Lines(n.page(t)) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

// sources returns g with two doors of each kind at which something has happened: two datagrams, of
// which one names no rule, and one HTTP request that names none.
func sources(t testing.TB, g *gate.Gate) metrics.Sources {
	t.Helper()
	from := metrics.Sources{Gate: g, Ask: ask.New(g, 1<<20)}
	for range 2 {
		d, err := udp.Listen(t.Context(), g, ask.New(g, 1<<20),
			config.Address{Host: "127.0.0.1"}, 1)
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = d.Serve(t.Context()) }()
		from.UDP = append(from.UDP, d)
		h := doorhttp.New(g, nil, g.Lane(0))
		ln, err := door.Listen(t.Context(), config.Address{Host: "127.0.0.1"})
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = h.Serve(t.Context(), ln) }()
		from.HTTP = append(from.HTTP, h)
		exchange(t, d.Addr(), "ping 1\n")
		exchange(t, d.Addr(), "check 2 nobody k 1\n")
		c := doortest.Dial(t, ln.Addr())
		doortest.Exchange(t, c, "GET /v1/check?rule=nobody&key=k HTTP/1.1\r\nHost: h\r\n\r\n")
		_ = c.Close()
		doortest.WaitFor(t, func() bool { return h.Stats().Open == 0 })
	}
	return from
}

// exchange sends a datagram and waits for the answer.
func exchange(t testing.TB, to net.Addr, datagram string) {
	t.Helper()
	c := doortest.Dial(t, to)
	if _, err := io.WriteString(c, datagram); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1500)); err != nil {
		t.Fatal(err)
	}
}
