package cli

import (
	"context"
	"net/http"
	"strings"
)

// MaxHealth bounds the answer of /healthz read, in bytes.
const MaxHealth = 4 << 10

// Ready asks whether the daemon is ready, and returns the status, 200 or 503, and the description.
func (c *Client) Ready(ctx context.Context) (status int, text string, err error) {
	request, err := c.request(ctx, http.MethodGet, "/readyz", nil)
	if err != nil {
		return 0, "", err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, "", c.Unreachable(err)
	}
	data, err := c.read(response, MaxHealth)
	if err != nil {
		return 0, "", err
	}
	switch response.StatusCode {
	case http.StatusOK:
		return response.StatusCode, strings.TrimSpace(string(data)), nil
	case http.StatusServiceUnavailable:
		return response.StatusCode, c.problem(response, data).Error(), nil
	}
	return 0, "", c.problem(response, data)
}
