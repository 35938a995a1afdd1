package setup

import (
	"errors"
	"fmt"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/spf13/cobra"
)

// Config returns `headgate config`, of which `check` is the one command below it.
func Config(shared *cli.App) *cobra.Command {
	a := &app{shared}
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check a configuration file, show the effective one",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(configCheckCommand(a))
	return cmd
}

func configCheckCommand(a *app) *cobra.Command {
	var show bool
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Say everything that is wrong with a configuration file",
		Long: `Read a configuration file as serve would and say everything that is wrong with it, each fault with its
file, line and column. Exit code 0 when it can be served, 1 when it has faults, 2 when it cannot be read.`,
		Example: `  headgate config check headgate.yaml
  headgate config check --print headgate.yaml   # with every default filled in`,
		Args: cli.Want("FILE"),
		RunE: func(_ *cobra.Command, args []string) error { return a.checkConfig(args[0], show) },
	}
	cmd.Flags().BoolVar(&show, "print", false, "print the effective configuration, defaults included, as YAML")
	return cmd
}

func (a *app) checkConfig(file string, show bool) error {
	if file == "" {
		return errors.New("config check: the file's name is empty")
	}
	c, err := config.Read(file)
	if faults, ok := errors.AsType[config.Faults](err); ok {
		fmt.Fprintln(a.Stderr, cli.SafeLines(faults.Error()))
		fmt.Fprintf(a.Stderr, "%s: %s\n", cli.Safe(file), cli.Count(len(faults), "fault"))
		return cli.ErrNo
	}
	if err != nil {
		return err
	}
	for _, warning := range config.Warnings(c) {
		fmt.Fprintf(a.Stderr, "%s: warning: %s\n", cli.Safe(file), cli.Safe(warning))
	}
	if !show {
		fmt.Fprintf(a.Stdout, "%s: ok\n", cli.Safe(file))
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
