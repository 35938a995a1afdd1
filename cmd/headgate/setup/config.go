package setup

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/spf13/cobra"
)

// Config returns `headgate config`, with the commands check and show.
func Config(shared *cli.App) *cobra.Command {
	a := &app{shared}
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check a configuration file, or show the running configuration",
		Args:  cobra.ArbitraryArgs,
		RunE:  cli.HelpOrUnknown,
	}
	cmd.AddCommand(configCheckCommand(a), configShowCommand(a))
	return cmd
}

func configCheckCommand(a *app) *cobra.Command {
	var show bool
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Report every fault of a configuration file",
		Long: `Read a configuration file as serve would and report every fault with its file,
line and column. Exit code 0 when the file is valid, 1 when it has faults, 2 when it cannot be
read.`,
		Example: `  headgate config check headgate.yaml
  headgate config check --print headgate.yaml   # the file with every default filled in`,
		Args: cli.Want("FILE"),
		RunE: func(_ *cobra.Command, args []string) error { return a.checkConfig(args[0], show) },
	}
	cmd.Flags().BoolVar(&show, "print", false, "print the configuration with all defaults, as YAML")
	return cmd
}

// tellFaults prints the count faults of text, a line each.
func (a *app) tellFaults(file, text string, count int) error {
	fmt.Fprintln(a.Stderr, cli.SafeLines(text))
	fmt.Fprintf(a.Stderr, "%s: %s\n", cli.Safe(file), cli.Count(count, "fault"))
	return cli.ErrNo
}

func (a *app) checkConfig(file string, show bool) error {
	if file == "" {
		return errors.New("config check: the file's name is empty")
	}
	c, err := config.Read(file)
	if err == nil {
		_, err = config.LoadRLS(&c)
	}
	if faults, ok := errors.AsType[config.Faults](err); ok {
		return a.tellFaults(file, faults.Error(), len(faults))
	}
	if err != nil {
		return err
	}
	// The files of sets, with a key nobody keeps.
	engine, err := config.LoadPolicies(&c, [32]byte{})
	if err != nil {
		text := errors.Unwrap(err).Error() // a fault a line
		return a.tellFaults(file, text, strings.Count(text, "\n")+1)
	}
	for _, warning := range c.Warnings {
		fmt.Fprintf(a.Stderr, "warning: %s\n", cli.Safe(warning.String()))
	}
	for _, warning := range config.ScopeWarnings(&c) {
		fmt.Fprintf(a.Stderr, "%s: warning: %s\n", cli.Safe(file), cli.Safe(warning))
	}
	if !show {
		fmt.Fprintf(a.Stdout, "%s: ok\n", cli.Safe(file))
		if bytes := engine.Bytes(); bytes > 0 {
			fmt.Fprintf(a.Stdout, "sets: %d bytes\n", bytes)
		}
		return nil
	}
	effective, err := c.Marshal()
	if err != nil {
		return err
	}
	if _, err := a.Stdout.Write(effective); err != nil {
		return fmt.Errorf("print the configuration: %w", err)
	}
	return nil
}

func configShowCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print the configuration a running daemon uses",
		Long: `Print the configuration a running daemon uses, with all defaults: settings as they
were at its start, rules as of the last reload, and modes as they are now, whether set by the
file or by headgate mode. The output is a valid configuration file. Secrets are never part of it,
only the names of their files.`,
		Example: `  headgate config show
  headgate config show --json | jq '.config.rules[].name'
  diff <(headgate config check --print /etc/headgate/headgate.yaml) <(headgate config show)`,
		Args: cli.Want(),
	}
	return cli.View(a.App, cmd, "/v1/config", nil, a.showConfig)
}

func (a *app) showConfig(view api.ConfigView) error {
	text, err := config.YAMLFromJSON(view.Config)
	if err != nil {
		return fmt.Errorf("config show: %w", err)
	}
	fmt.Fprintf(a.Stdout, "# %s, in use since %s\n",
		cli.First(cli.Safe(view.File), "built-in configuration"),
		view.Since.UTC().Format(time.RFC3339))
	if len(view.NeedRestart) > 0 {
		fmt.Fprintf(a.Stdout, "# changed in the file, in use after a restart: %s\n",
			cli.Safe(strings.Join(view.NeedRestart, ", ")))
	}
	fmt.Fprintln(a.Stdout, cli.SafeLines(string(text)))
	return nil
}
