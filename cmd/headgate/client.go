package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/edge/config"
)

// Bounds of what the admin listener is asked and trusted to answer.
const (
	adminDefault = "127.0.0.1:4292"
	adminTimeout = 5 * time.Second
	maxAnswer    = 64 << 20 // bytes of one answer
	maxToken     = 4 << 10  // bytes of a token file
)

// adminFlags are how to reach the admin listener, as given on the command line.
type adminFlags struct {
	address   string
	tokenFile string
}

// adminClient asks one admin listener.
type adminClient struct {
	address string // as the user wrote it
	host    string // what requests call the daemon
	token   string // empty: none
	http    http.Client
}

// problem is an error answer of the admin listener (application/problem+json, RFC 9457).
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// Error returns what is wrong in the daemon's words.
func (p *problem) Error() string {
	switch {
	case p.Detail != "":
		return p.Detail
	case p.Title != "":
		return p.Title
	}
	return fmt.Sprintf("the daemon answered %d %s", p.Status, http.StatusText(p.Status))
}

// addAdminFlags gives cmd the flags that say where the admin listener is.
func (a *app) addAdminFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&a.admin.address, "admin", "", "admin `address`, or unix:/path (default "+adminDefault+"; env HEADGATE_ADMIN)")
	flags.StringVar(&a.admin.tokenFile, "token-file", "", "`file` that holds the admin token (env HEADGATE_TOKEN_FILE)")
}

// dialAdmin returns a client for the admin listener that flags and environment name. It opens nothing yet.
func (a *app) dialAdmin() (*adminClient, error) {
	return newAdminClient(first(a.admin.address, a.getenv("HEADGATE_ADMIN"), adminDefault),
		first(a.admin.tokenFile, a.getenv("HEADGATE_TOKEN_FILE")))
}

// newAdminClient returns a client for the admin listener at address, with the token in a file ("": none). It opens nothing
// yet but that.
func newAdminClient(address, tokenFile string) (*adminClient, error) {
	at, err := config.ParseAddress(address)
	if err != nil {
		return nil, fmt.Errorf("the admin address %w", err)
	}
	token, err := readToken(tokenFile)
	if err != nil {
		return nil, err
	}
	c := &adminClient{address: address, host: at.String(), token: token}
	if at.IsUnix() || at.Host == "" {
		c.host = "localhost"
	}
	c.http.Timeout = adminTimeout
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http.Transport = &http.Transport{ // no proxy: the token goes to the daemon or nowhere
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			network, target := at.Stream()
			return (&net.Dialer{Timeout: adminTimeout}).DialContext(ctx, network, target)
		},
		ResponseHeaderTimeout: adminTimeout, // also of a stream, which as a whole has no end
	}
	return c, nil
}

// first returns the first of its arguments that is not empty.
func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

func readToken(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	file, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return "", fmt.Errorf("read the admin token: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read from
	data, err := io.ReadAll(io.LimitReader(file, maxToken))
	if err != nil {
		return "", fmt.Errorf("read the admin token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "", fmt.Errorf("read the admin token: %s does not hold one word of printable ASCII", path)
	}
	return token, nil
}

// fetch asks the admin listener that flags and environment name for path with query, and decodes the answer into v.
func (a *app) fetch(ctx context.Context, path string, query url.Values, v any) error {
	client, err := a.dialAdmin()
	if err != nil {
		return err
	}
	if err := client.get(ctx, path, query, v); err != nil {
		return client.explainRefusal(ctx, err, query.Get("rule"))
	}
	return nil
}

// get asks for path with query and decodes the answer into v.
func (c *adminClient) get(ctx context.Context, path string, query url.Values, v any) error {
	return c.do(ctx, http.MethodGet, path+"?"+query.Encode(), nil, v)
}

// do sends body (nil: none) as JSON and decodes the answer into v (nil: not wanted). An error answer
// comes back as a *problem.
func (c *adminClient) do(ctx context.Context, method, target string, body, v any) error {
	request, err := c.request(ctx, method, target, body)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return c.unreachable(err)
	}
	data, err := c.read(response, maxAnswer)
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		return c.problem(response, data)
	}
	if v == nil || len(data) == 0 {
		return nil
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s answers, but not as a headgate does: %w", c.address, err)
	}
	return nil
}

// read returns the first most bytes of an answer, and is done with it.
func (c *adminClient) read(response *http.Response, most int64) ([]byte, error) {
	defer response.Body.Close() //nolint:errcheck // read to its end, or given up
	data, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err != nil {
		return nil, c.unreachable(err)
	}
	return data, nil
}

func (c *adminClient) request(ctx context.Context, method, target string, body any) (*http.Request, error) {
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			return nil, fmt.Errorf("write the request: %w", err)
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+c.host+target, &content)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	request.Header.Set("User-Agent", "headgate/"+buildVersion())
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	return request, nil
}

// unreachable says in the user's words why no answer came.
func (c *adminClient) unreachable(err error) error {
	var netError net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted")
	case errors.As(err, &netError) && netError.Timeout():
		return fmt.Errorf("no answer from %s in time", c.address)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%s may not be opened by this user", c.address)
	}
	var opError *net.OpError
	if errors.As(err, &opError) && opError.Op == "dial" {
		return fmt.Errorf("no headgate answers at %s (is `headgate serve` running? --admin chooses another address)", c.address)
	}
	return fmt.Errorf("ask %s: %w", c.address, err)
}

// problem reads an error answer.
func (c *adminClient) problem(response *http.Response, data []byte) error {
	p := &problem{}
	if json.Unmarshal(data, p) != nil || !strings.HasPrefix(response.Header.Get("Content-Type"), "application/problem+json") {
		p = &problem{}
	}
	p.Status = response.StatusCode
	if p.Status == http.StatusUnauthorized || p.Status == http.StatusForbidden {
		return fmt.Errorf("%w (changes need the admin token: --token-file, or HEADGATE_TOKEN_FILE)", p)
	}
	return p
}
