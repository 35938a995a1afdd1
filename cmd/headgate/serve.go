package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"
)

func serveCommand(a *app) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "serve [-c FILE]",
		Short: "Run the daemon",
		Long: `Run the daemon until it is told to stop (SIGINT or SIGTERM); it then answers what has arrived and exits 0.
Without -c it runs on the built-in configuration: everything on loopback, the rules per-ip and login.
SIGHUP reads the file again; a file with faults changes nothing.`,
		Example: `  headgate serve
  headgate serve -c /etc/headgate/headgate.yaml`,
		Args: want(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runServe(cmd.Context(), file, a.stdout, a.stderr)
		},
	}
	cmd.Flags().StringVarP(&file, "config", "c", "", "the configuration `file` (default: built in)")
	return cmd
}

// runServe runs the daemon with the configuration in file ("": the built-in one) until ctx ends.
func runServe(ctx context.Context, file string, stdout, stderr io.Writer) error {
	return errors.New("serve: not wired up yet")
}
