package client_test

import (
	"context"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/config"
)

// waitRules are a queue, as a rule and as a policy, and a limit that pretends.
const waitRules = `[{name: line, limit: 1, window: 20s, burst: 1, delay: 1m}]
policies:
  - {name: queue, match: {path: /queue}, limit: 1, window: 20s, burst: 1, delay: 1m}
  - {name: trap, match: {path: /trap}, limit: 1, window: 1h, on_deny: {deceive: true}}
`

// eachLimiter runs f with a client of a daemon, and with a node in the program.
func eachLimiter(t *testing.T, rules string, f func(*testing.T, client.Limiter)) {
	t.Helper()
	t.Run("client", func(t *testing.T) { f(t, dialNode(t, rules, client.WithTimeout(patience))) })
	t.Run("node", func(t *testing.T) {
		cfg, err := config.Parse("test", []byte("node: test\nmemory: 4MiB\nrules: "+rules))
		if err != nil {
			t.Fatal(err)
		}
		cfg.Listen = config.Listen{}
		node, err := edge.New(context.Background(),
			edge.Options{Config: &cfg, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = node.Close() })
		f(t, node)
	})
}

// TestWaits: who can wait is told for how long, each longer than the one before; who cannot is
// denied.
func TestWaits(t *testing.T) {
	t.Parallel()
	eachLimiter(t, waitRules, func(t *testing.T, l client.Limiter) {
		for name, ask := range map[string]func(canWait bool) (client.Answer, error){
			"rule": func(canWait bool) (client.Answer, error) {
				answers, err := l.Batch(t.Context(),
					[]client.Query{{Rule: "line", Key: "k", CanWait: canWait}})
				return answers[0], err
			},
			"policy": func(canWait bool) (client.Answer, error) {
				return l.Ask(t.Context(), client.Request{
					Path:   "/queue",
					Client: netip.MustParseAddr("192.0.2.1"), CanWait: canWait,
				})
			},
		} {
			const each = 20 * time.Second
			for n := range 4 {
				a, err := ask(n < 3)
				most := time.Duration(n) * each
				if n < 3 && (!a.Allowed() || a.Delay > most || a.Delay <= most-each && n > 0) ||
					n == 3 && (a.Allowed() || a.Delay > 0) || err != nil {
					t.Errorf("%s, request %d: %+v, %v", name, n+1, a, err)
				}
			}
		}
	})
}

// TestDeceives: who can pretend is told to, without a word of the limit; who cannot is denied.
func TestDeceives(t *testing.T) {
	t.Parallel()
	eachLimiter(t, waitRules, func(t *testing.T, l client.Limiter) {
		for n, want := range []client.Answer{
			{Rule: "trap"},
			{Deceive: true},
			{Status: 1, Rule: "trap", HTTP: 429},
		} {
			a, err := l.Ask(t.Context(), client.Request{
				Path:   "/trap",
				Client: netip.MustParseAddr("192.0.2.1"), CanDeceive: n < 2,
			})
			if err != nil || a.Status != want.Status || a.Deceive != want.Deceive ||
				a.Rule != want.Rule || a.HTTP != want.HTTP {
				t.Errorf("request %d: %+v, %v, want %+v", n+1, a, err, want)
			}
		}
	})
}
