package cli

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
	"github.com/headgate-dev/headgate/edge/private"
)

// Bounds of requests to the admin listener, and of answers.
const (
	adminDefault = "127.0.0.1:4292"
	adminTimeout = 5 * time.Second
	maxAnswer    = 64 << 20 // bytes of an answer
)

// adminFlags are how to reach the admin listener, as given on the command line.
type adminFlags struct {
	address   string
	tokenFile string
}

// Client asks an admin listener.
type Client struct {
	Address string // as the user wrote it
	host    string // the host name requests carry
	token   string // empty: none
	http    http.Client
}

// Problem is an error answer of the admin listener (application/problem+json, RFC 9457).
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`

	// the wrong part of the request; empty: Detail stands alone
	Parameter string `json:"parameter"`
}

// Error returns the daemon's own description of the fault.
func (p *Problem) Error() string {
	switch {
	case p.Detail != "":
		return p.Detail
	case p.Title != "":
		return p.Title
	}
	return fmt.Sprintf("the daemon answered %d %s", p.Status, http.StatusText(p.Status))
}

// AddAdminFlags gives cmd the flags saying where the admin listener is.
func (a *App) AddAdminFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&a.admin.address, "admin", "", "admin `ADDRESS` of the daemon, or unix:/path "+
		"(default "+adminDefault+"; env HEADGATE_ADMIN)")
	flags.StringVar(&a.admin.tokenFile, "token-file", "", "`FILE` that holds the admin token "+
		"(env HEADGATE_TOKEN_FILE)")
}

// DialAdmin returns a client for the admin listener of flags and environment. Only the token file
// is opened yet.
func (a *App) DialAdmin() (*Client, error) {
	token, warnings, err := private.Token(First(a.admin.tokenFile, a.Getenv("HEADGATE_TOKEN_FILE")))
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		fmt.Fprintf(a.Stderr, "warning: %s\n", Safe(w))
	}
	return NewClient(First(a.admin.address, a.Getenv("HEADGATE_ADMIN"), adminDefault), token)
}

// NewClient returns a client for the admin listener at address, with a token ("": none). Nothing is
// opened yet.
func NewClient(address, token string) (*Client, error) {
	at, err := config.ParseAddress(address)
	if err != nil {
		return nil, fmt.Errorf("the admin address %w", err)
	}
	c := &Client{Address: address, host: at.String(), token: token}
	if at.IsUnix() || at.Host == "" {
		c.host = "localhost"
	}
	c.http.Timeout = adminTimeout
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}
	c.http.Transport = &http.Transport{ // no proxy: the token goes to the daemon or nowhere
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			network, target := at.Stream()
			return (&net.Dialer{Timeout: adminTimeout}).DialContext(ctx, network, target)
		},
		ResponseHeaderTimeout: adminTimeout, // also of a stream, which as a whole has no end
	}
	return c, nil
}

// Patient makes c wait for answers as long as the daemon needs, and still not for a connection.
func (c *Client) Patient() {
	c.http.Timeout = 0
	if t, ok := c.http.Transport.(*http.Transport); ok {
		t.ResponseHeaderTimeout = 0
	}
}

// Close gives back the connections waiting for another question.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// First returns the first argument not empty.
func First(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// Fetch asks the admin listener of flags and environment for path with query, and decodes the
// answer into v.
func (a *App) Fetch(ctx context.Context, path string, query url.Values, v any) error {
	client, err := a.DialAdmin()
	if err != nil {
		return err
	}
	if err := client.Get(ctx, path, query, v); err != nil {
		return client.ExplainRefusal(ctx, err, query.Get("rule"))
	}
	return nil
}

// Get asks for path with query and decodes the answer into v.
func (c *Client) Get(ctx context.Context, path string, query url.Values, v any) error {
	return c.Do(ctx, http.MethodGet, path+"?"+query.Encode(), nil, v)
}

// Do sends body (nil: none) as JSON and decodes the answer into v (nil: not wanted). An error
// answer comes back as a *Problem.
func (c *Client) Do(ctx context.Context, method, target string, body, v any) error {
	request, err := c.request(ctx, method, target, body)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return c.Unreachable(err)
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
		return fmt.Errorf("%s answers, but the answer is not headgate's: %w", c.Address, err)
	}
	return nil
}

// read returns the first most bytes of an answer, and drops the rest.
func (c *Client) read(response *http.Response, most int64) ([]byte, error) {
	defer response.Body.Close() //nolint:errcheck // read to its end, or given up
	data, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err != nil {
		return nil, c.Unreachable(err)
	}
	return data, nil
}

func (c *Client) request(
	ctx context.Context, method, target string, body any,
) (*http.Request, error) {
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
	request.Header.Set("User-Agent", "headgate/"+BuildVersion())
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	return request, nil
}

// Unreachable describes why no answer came.
func (c *Client) Unreachable(err error) error {
	var netError net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted")
	case errors.As(err, &netError) && netError.Timeout():
		return fmt.Errorf("no answer from %s in time", c.Address)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("permission denied for %s", c.Address)
	}
	var opError *net.OpError
	if errors.As(err, &opError) && opError.Op == "dial" {
		return fmt.Errorf("no answer from headgate at %s (is `headgate serve` running? --admin "+
			"sets another address)", c.Address)
	}
	return fmt.Errorf("ask %s: %w", c.Address, err)
}

// problem reads an error answer.
func (c *Client) problem(response *http.Response, data []byte) error {
	p := &Problem{}
	if json.Unmarshal(data, p) != nil ||
		!strings.HasPrefix(response.Header.Get("Content-Type"), "application/problem+json") {
		p = &Problem{}
	}
	p.Status = response.StatusCode
	if p.Status == http.StatusUnauthorized || p.Status == http.StatusForbidden {
		return fmt.Errorf("%w (changes need the admin token: --token-file or HEADGATE_TOKEN_FILE)",
			p)
	}
	return p
}

// View makes cmd print the answer of the admin listener at path: by show, or as JSON with --json.
// query returns the parameters of the command's arguments; nil: there are none.
func View[V any](
	a *App, cmd *cobra.Command, path string,
	query func(args []string) (url.Values, error), show func(V) error,
) *cobra.Command {
	var asJSON bool
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		var values url.Values
		if query != nil {
			if values, err = query(args); err != nil {
				return err
			}
		}
		var view V
		if err := a.Fetch(cmd.Context(), path, values, &view); err != nil {
			return err
		}
		if asJSON {
			return WriteJSON(a.Stdout, view)
		}
		return show(view)
	}
	a.AddAdminFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
