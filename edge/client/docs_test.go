package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/config"
)

// TestDocsCompile holds every Go block of docs/go.md to the functions below, which the compiler has
// checked.
func TestDocsCompile(t *testing.T) {
	page, err := os.ReadFile("../../docs/go.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("docs_test.go")
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.ReplaceAll(string(source), " //nolint:errcheck // as a reader would write "+
		"it", "")
	blocks := strings.Split(string(page), "```go\n")[1:]
	if len(blocks) != 7 {
		t.Errorf("%d blocks of Go, want 7", len(blocks))
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		indented := "\n\t" + strings.ReplaceAll(strings.TrimSuffix(block, "\n"),
			"\n", "\n\t") + "\n"
		if !strings.Contains(plain, strings.ReplaceAll(indented, "\n\t\n", "\n\n")) {
			t.Errorf("not in docs_test.go:\n%s", block)
		}
	}
}

var (
	errTooManyRequests = errors.New("too many requests")

	_ = []any{docsDial, docsCheck, docsPolicies, docsHandler, docsKey, docsFailures, docsNode}
)

func docsDial(ctx context.Context, userName string) error {
	c, err := client.Dial("127.0.0.1:4290")
	if err != nil {
		return err // the address is wrong; the daemon need not be up yet
	}
	defer c.Close() //nolint:errcheck // as a reader would write it

	if ok, _ := c.Allow(ctx, "login", userName); !ok { // the verdict holds with an error too
		return errTooManyRequests
	}
	return nil
}

func docsCheck(ctx context.Context, c *client.Client, apiKey string) error {
	answer, err := c.Check(ctx, "exports", apiKey, 10)
	if err != nil {
		log.Print(err) // the daemon did not answer: the verdict is the FailMode's
	}
	if !answer.Allowed() {
		return fmt.Errorf("denied (%s), retry in %v", answer.Why, answer.Retry)
	}
	return nil
}

func docsPolicies(c *client.Client, mux *http.ServeMux, site http.Handler) {
	mux.Handle("/", c.Handler(site, client.WithTrustedProxies(netip.MustParsePrefix("10.0.0.0/8"))))
}

func docsHandler(c *client.Client, mux *http.ServeMux, login http.Handler) {
	mux.Handle("POST /login", c.Handler(login, client.WithRule("login"),
		client.WithPolicy(5, time.Minute),
		client.WithTrustedProxies(netip.MustParsePrefix("10.0.0.0/8"))))
}

func docsKey(c *client.Client, api http.Handler) http.Handler {
	h := c.Handler(api, client.WithRule("per-key"), client.WithKey(func(r *http.Request) string {
		return r.Header.Get("X-Api-Key")
	}))
	return h
}

func docsFailures(
	c *client.Client, passwordIsRight func(*http.Request) bool, w http.ResponseWriter,
	r *http.Request,
) {
	ctx := context.WithoutCancel(r.Context()) // hanging up evades nothing
	key := client.AddressKey(client.ClientAddress(r, proxies))
	if answer, _ := c.Peek(ctx, "login", key, 1); !answer.Allowed() {
		http.Error(w, "too many failed logins", http.StatusTooManyRequests)
		return
	}
	if !passwordIsRight(r) {
		_ = c.Count(ctx, "login", key, 1)
		http.Error(w, "wrong password", http.StatusUnauthorized)
		return
	}
}

func docsNode(
	ctx context.Context, logger *slog.Logger, userName string, mux *http.ServeMux,
	site http.Handler,
) error {
	cfg, err := config.Read("headgate.yaml")
	if err != nil {
		return err // all faults, with line and column
	}
	cfg.Listen = config.Listen{} // no sockets; keep cfg.Listen.Admin for the dashboard
	node, err := edge.New(ctx, edge.Options{Config: &cfg, Log: logger})
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- node.Run(ctx) }() // until ctx ends

	ok, err := node.Allow(ctx, "login", userName)
	mux.Handle("/", node.Handler(site)) // by the policies, with reports
	_ = ok
	return errors.Join(err, <-done)
}

// Failed logins only, as the page has it: right passwords are free, and after five failures every
// attempt from that address is denied.
func TestDocsFailuresOnly(t *testing.T) {
	c := dialNode(t, "[{name: login, limit: 5, window: 1m}]", client.WithTimeout(patience))
	right := false
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		docsFailures(c, func(*http.Request) bool { return right }, w, r)
	})
	for n, want := range []int{200, 200, 401, 401, 401, 401, 401, 429, 429} {
		right = n < 2
		if got := get(h, "192.0.2.1:1"); got.Code != want {
			t.Errorf("attempt %d: status %d, want %d", n+1, got.Code, want)
		}
	}
}
