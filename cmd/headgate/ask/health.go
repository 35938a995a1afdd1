package ask

import (
	"context"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
)

// Health returns `headgate health`, which reports whether the daemon is ready.
func Health(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask the daemon whether it is ready to decide",
		Long: `Ask the daemon whether it is ready to decide: for scripts, and for containers,
which have no other program. A node that has lost its ring or the other PoPs is ready: it decides
by its own counts. Exit code 0 when it is ready, 1 when it is starting or stopping, 2 when there
is no answer.`,
		Example: `  headgate health
  headgate health --json
  until headgate health; do sleep 0.1; done`,
		Args: cli.Want(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.health(cmd.Context(), asJSON) },
	}
	a.AddAdminFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) health(ctx context.Context, asJSON bool) error {
	client, err := a.DialAdmin()
	if err != nil {
		return err
	}
	status, text, err := client.Ready(ctx)
	if err != nil {
		return err
	}
	is := api.HealthView{Faults: []api.FaultView{}}
	if status == http.StatusOK { // probes need no token, and do not fail for want of faults
		_ = client.Get(ctx, "/v1/health", nil, &is)
	}
	is.Ready, is.Status = status == http.StatusOK, text
	if asJSON {
		if err := cli.WriteJSON(a.Stdout, is); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(a.Stdout, cli.Safe(text))
		for _, f := range is.Faults {
			fmt.Fprintf(a.Stdout, "%s: %s\n", cli.Safe(f.Code), cli.Safe(f.Text))
		}
	}
	if status != http.StatusOK {
		return cli.ErrNo
	}
	return nil
}
