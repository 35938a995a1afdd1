package ask

import (
	"context"
	"fmt"
	"net/http"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/spf13/cobra"
)

// Health returns `headgate health`, which reports whether the daemon is ready.
func Health(shared *cli.App) *cobra.Command {
	a := &app{shared}
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask the daemon whether it is ready to decide",
		Long: `Ask the daemon whether it is ready to decide: for scripts, and for containers, which have no other program.
A node that has lost its ring or the other PoPs is ready: it decides by what it knows.
Exit code 0 when it is ready, 1 when it is starting or stopping, 2 when nobody could be asked.`,
		Example: `  headgate health
  until headgate health; do sleep 0.1; done`,
		Args: cli.Want(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.health(cmd.Context()) },
	}
	a.AddAdminFlags(cmd)
	return cmd
}

func (a *app) health(ctx context.Context) error {
	client, err := a.DialAdmin()
	if err != nil {
		return err
	}
	status, said, err := client.Ready(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.Stdout, cli.Safe(said))
	if status != http.StatusOK {
		return cli.ErrNo
	}
	return nil
}
