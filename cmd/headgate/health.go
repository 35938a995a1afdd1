package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
)

// maxHealth bounds what is read of a daemon's word on how it is, in bytes.
const maxHealth = 4 << 10

func healthCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask the daemon whether it is ready to decide",
		Long: `Ask the daemon whether it is ready to decide: for scripts, and for containers, which have no other program.
A node that has lost its ring or the other PoPs is ready: it decides by what it knows.
Exit code 0 when it is ready, 1 when it is starting or stopping, 2 when nobody could be asked.`,
		Example: `  headgate health
  until headgate health; do sleep 0.1; done`,
		Args: want(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.health(cmd.Context()) },
	}
	a.addAdminFlags(cmd)
	return cmd
}

func (a *app) health(ctx context.Context) error {
	client, err := a.dialAdmin()
	if err != nil {
		return err
	}
	status, said, err := client.ready(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, safe(said))
	if status != http.StatusOK {
		return errNo
	}
	return nil
}

// ready asks whether the daemon is ready, and returns its status, 200 or 503, and its words.
func (c *adminClient) ready(ctx context.Context) (status int, said string, err error) {
	request, err := c.request(ctx, http.MethodGet, "/readyz", nil)
	if err != nil {
		return 0, "", err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, "", c.unreachable(err)
	}
	data, err := c.read(response, maxHealth)
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
