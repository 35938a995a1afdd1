package client_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/config"
)

// startNode runs a node with rules, in YAML, on a free port until stop is called.
func startNode(rules string) (address string, stop func()) {
	cfg, err := config.Parse("test", []byte(
		"node: test\nmemory: 4MiB\nlisten: {udp: \"127.0.0.1:0\", http: [], admin: []}\nrules: "+
			""+rules+"\n",
	))
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	node, err := edge.New(ctx, edge.Options{Config: &cfg, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	done := make(chan error, 1)
	go func() { done <- node.Run(ctx) }()
	return node.Addresses().Datagram[0].String(), func() {
		cancel()
		if err := <-done; err != nil {
			panic(err)
		}
	}
}

// dialNode returns a client of a node with rules. Both end with the test.
func dialNode(t *testing.T, rules string, options ...client.Option) *client.Client {
	t.Helper()
	address, stop := startNode(rules)
	t.Cleanup(stop)
	return dial(t, address, options...)
}

func dial(t *testing.T, address string, options ...client.Option) *client.Client {
	t.Helper()
	c, err := client.Dial(address, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// okHandler answers every request with "ok".
var okHandler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	_,
		_ = w.Write([]byte("ok"))
})

// Every key that a visitor can choose is counted: none passes under FailOpen because the daemon
// rejects it.
func TestEveryKeyIsCounted(t *testing.T) {
	c := dialNode(t, "[{name: r, limit: 2, window: 1m}]", client.WithTimeout(patience))
	long := strings.Repeat("k", 300)
	for _, key := range []string{
		"", "\x00", "a b", "%", "\xff\xfe", "check r k\ncheck r k",
		strings.Repeat("\x01", 256), long, long + "x",
		strings.Repeat("k", 100_000),
	} {
		for n := range 4 {
			answer, err := c.Check(t.Context(), "r", key, 1)
			if err != nil || answer.Allowed() != (n < 2) {
				t.Errorf("key %.20q of %d bytes, request %d of 2: %+v, %v", key,
					len(key), n+1, answer, err)
			}
		}
	}
	if answer, err := c.Check(t.Context(), "r", "big", 1<<31); err != nil || answer.Allowed() {
		t.Errorf("a cost of 2^31: %+v, %v", answer, err)
	}
	if s := c.Stats(); s.Unanswered != 0 || s.Queries != 41 {
		t.Errorf("%+v", s)
	}
}

// The digest of a long key has a fixed form, by which operators find the key in lists.
func TestLongKeyIsItsDigest(t *testing.T) {
	c := dialNode(t, "[{name: r, limit: 1, window: 1m}]", client.WithTimeout(patience))
	if ok, err := c.Allow(t.Context(), "r", strings.Repeat("a", 257)); !ok || err != nil {
		t.Fatal("denied at once")
	}
	// printf 'a%.0s' $(seq 257) | sha256sum
	const digest = "sha256:e8d95cc2b4bc198c54b40bd214df958afb65f5e73d2c2eafe0593cf5c635c1f0"
	if ok, err := c.Allow(t.Context(), "r", digest); ok || err != nil {
		t.Error("the key is not counted as " + digest)
	}
}
