package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Stream asks for path and returns the answer on the way. The answer has to begin in time, and may
// go on without end.
func (c *Client) Stream(ctx context.Context, path string) (io.ReadCloser, error) {
	request, err := c.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	endless := c.http
	endless.Timeout = 0
	response, err := endless.Do(request)
	if err != nil {
		return nil, c.Unreachable(err)
	}
	if response.StatusCode == http.StatusOK &&
		strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		return response.Body, nil
	}
	data, err := c.read(response, maxAnswer)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 == 2 {
		return nil, fmt.Errorf("%s answers, but the answer is not headgate's", c.Address)
	}
	return nil, c.problem(response, data)
}
