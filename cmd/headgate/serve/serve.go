package serve

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/api"
)

// Command returns `headgate serve`.
func Command(a *cli.App) *cobra.Command {
	var file string
	var logs cli.LogFlags
	cmd := &cobra.Command{
		Use:   "serve [-c FILE]",
		Short: "Run the daemon",
		Long: `Run the daemon until it receives SIGINT or SIGTERM; it then answers the requests
that have arrived and exits 0. Without -c it uses the built-in configuration: everything on
loopback, the rules per-ip and login. SIGHUP reads the file again; a file with faults changes
nothing, and the log names settings that need a restart.`,
		Example: `  headgate serve
  headgate serve -c /etc/headgate/headgate.yaml`,
		Args: cli.Want(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runServe(cmd.Context(), a, file, logs)
		},
	}
	cmd.Flags().StringVarP(&file, "config", "c", "", "configuration `FILE` (default: built-in "+
		"configuration)")
	cli.AddLogFlags(cmd, &logs)
	return cmd
}

// NodeOptions returns the options of file's node ("": the built-in configuration), as this program
// runs it.
func NodeOptions(file string, log *slog.Logger, manager edge.Manager) edge.Options {
	return edge.Options{
		File: file, Build: api.Build(cli.ThisBuild()), Log: log, Audit: cli.AuditOf(log),
		Unlogged: cli.Unlogged(log), Manager: manager,
	}
}

// runServe runs file's node ("": the built-in configuration) until ctx ends.
func runServe(ctx context.Context, a *cli.App, file string, logs cli.LogFlags) error {
	log, err := cli.NewLogger(a.Stderr, logs)
	if err != nil {
		return err
	}
	manager := openNotifier(a.Getenv, log)
	node, err := edge.New(ctx, NodeOptions(file, log, manager))
	if err != nil {
		return errors.Join(err, manager.close())
	}
	greet(a.Stdout, node.Gate().Node(), node.Addresses(), node.Gate().Rules())
	hangup := make(chan os.Signal, 1)
	// before readiness is reported: without a handler SIGHUP ends the process
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	err = runBeside(ctx, node.Run,
		openHeapGuard(a.Getenv, node.Memory()).run,
		func(ctx context.Context) { reloadOnHangup(ctx, node, hangup, log) },
		func(ctx context.Context) {
			openWatchdog(a.Getenv, os.Getpid(), manager,
				log).run(ctx, node.Life)
		},
	)
	return errors.Join(err, manager.close())
}

// runBeside runs run, and beside it the other functions until run has returned, and waits for all.
func runBeside(
	ctx context.Context, run func(context.Context) error, beside ...func(context.Context),
) error {
	until, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	for _, f := range beside {
		running.Go(func() { f(until) })
	}
	err := run(ctx)
	stop()
	running.Wait()
	return err
}

// reloadOnHangup has node read the configuration again at every signal from hangup, until ctx ends.
func reloadOnHangup(
	ctx context.Context, node *edge.Node, hangup <-chan os.Signal, log *slog.Logger,
) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			if _, err := node.Reload(); err == nil { // else logged, and in the metrics
				log.Info("admin: changed", "change", "reload", "from", "SIGHUP")
			}
		}
	}
}
