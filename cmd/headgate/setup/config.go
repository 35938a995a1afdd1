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
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Report every fault of a configuration file, and doubtful settings",
		Long: `Read a configuration file as serve would and report every fault with its file,
line and column; then, as warnings with a code, settings that hardly do what was meant. A comment
"# headgate: ignore CODE" on the line, or alone on the line above, silences one. Exit code 0 when
the file is valid, 1 when it has faults, 2 when it cannot be read.`,
		Example: `  headgate config check headgate.yaml
  headgate config check --strict headgate.yaml  # warnings are faults too
  headgate config check --print headgate.yaml   # the file with every default filled in`,
		Args: cli.Want("FILE"),
		RunE: func(_ *cobra.Command, args []string) error { return a.checkConfig(args[0], f) },
	}
	cmd.Flags().BoolVar(&f.show, "print", false,
		"print the configuration with all defaults, as YAML")
	cmd.Flags().BoolVar(&f.strict, "strict", false, "exit code 1 for warnings too")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	cmd.Flags().StringVar(&f.proxy, "for", "", "warn also of what the files of `headgate init "+
		"NAME` do not do for a policy")
	cmd.MarkFlagsMutuallyExclusive("print", "json")
	return cmd
}

// checkFlags are the options of `headgate config check`.
type checkFlags struct {
	show, strict, json bool
	proxy              string // of init; empty: none
}

// check refuses an empty name of a file, and a proxy unknown to init.
func (f *checkFlags) check(file string) error {
	switch {
	case file == "":
		return errors.New("the file's name is empty")
	case f.proxy != "" && snippetOf(f.proxy) == nil:
		var names []string
		for i := range snippets {
			if len(snippets[i].whole.files) > 0 {
				names = append(names, snippets[i].name)
			}
		}
		return fmt.Errorf("--for is %s, not %s", cli.OneOf(names), cli.Quote(f.proxy))
	}
	return nil
}

// checkedFile is a file in the output of `headgate config check --json`.
type checkedFile struct {
	File     string         `json:"file"`
	Faults   []checkedFault `json:"faults"`
	Warnings []checkedFault `json:"warnings"`
	Summary  *checkSummary  `json:"summary,omitempty"` // of a valid file
}

type checkedFault struct {
	Code    string `json:"code,omitempty"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Policy  string `json:"policy,omitempty"`
	Message string `json:"message"`
}

type checkSummary struct {
	Policies int `json:"policies"`
	Rules    int `json:"rules"`
	Sets     int `json:"sets"`
	Entries  int `json:"entries"` // of all sets
}

// tellFaults prints faults, a line each.
func (a *app) tellFaults(file string, faults config.Faults, asJSON bool) error {
	if asJSON {
		is := checkedFile{file, checked(faults), []checkedFault{}, nil}
		if err := cli.WriteJSON(a.Stdout, map[string][]checkedFile{"files": {is}}); err != nil {
			return err
		}
		return cli.ErrNo
	}
	fmt.Fprintln(a.Stderr, cli.SafeLines(faults.Error()))
	fmt.Fprintf(a.Stderr, "%s: %s\n", cli.Safe(file), cli.Count(len(faults), "fault"))
	return cli.ErrNo
}

// checked returns faults as they are printed in JSON.
func checked(faults config.Faults) []checkedFault {
	all := []checkedFault{}
	for _, f := range faults {
		all = append(all, checkedFault{f.Code, f.Line, f.Col, f.Policy, f.Text()})
	}
	return all
}

func (a *app) checkConfig(file string, f checkFlags) error {
	if err := f.check(file); err != nil {
		return fmt.Errorf("config check: %w", err)
	}
	c, err := config.Read(file)
	if err == nil {
		_, err = config.LoadRLS(&c)
	}
	if faults, ok := errors.AsType[config.Faults](err); ok {
		return a.tellFaults(file, faults, f.json)
	}
	if err != nil {
		return err
	}
	// The files of sets, with a key nobody keeps.
	engine, err := config.LoadPolicies(&c, [32]byte{})
	if err != nil {
		return a.tellFaults(file, config.FaultsOfSets(file, err), f.json)
	}
	entries := engine.Entries()
	if bytes := engine.Bytes(); bytes > 0 && !f.show && !f.json {
		fmt.Fprintf(a.Stdout, "sets: %d bytes\n", bytes)
	}
	warnings := append(c.Warnings, unservedWarnings(&c, file, f.proxy)...)
	for _, text := range config.ScopeWarnings(&c) {
		warnings = append(warnings,
			config.Fault{File: file, Line: 1, Col: 1, Code: "scope-alone", Message: text})
	}
	warnings = append(warnings, a.overWarnings(&c, file)...)
	if err := a.printChecked(file, &c, entries, warnings, f); err != nil {
		return err
	}
	if f.strict && len(warnings) > 0 {
		return cli.ErrNo
	}
	return nil
}

// overWarnings returns a warning for each policy whose time is over.
func (a *app) overWarnings(c *config.Config, file string) (all config.Faults) {
	for i := range c.Policies.Policies {
		if p := &c.Policies.Policies[i]; p.Over(a.Now()) {
			all = append(all, config.Fault{
				File: file, Line: p.At.Line, Col: p.At.Col, Code: "until-over", Policy: p.Name,
				Message: "policy " + p.Name + ": its time is over, and it matches nothing",
			})
		}
	}
	return all
}

// printChecked prints the warnings of a valid file, and the summary or the file.
func (a *app) printChecked(
	file string, c *config.Config, entries int, warnings config.Faults, f checkFlags,
) error {
	sum := checkSummary{
		len(c.Policies.Policies), len(c.AllRules()), len(c.Policies.Sets), entries,
	}
	if f.json {
		is := checkedFile{file, []checkedFault{}, checked(warnings), &sum}
		return cli.WriteJSON(a.Stdout, map[string][]checkedFile{"files": {is}})
	}
	for _, warning := range warnings {
		fmt.Fprintf(a.Stderr, "warning: %s\n", cli.Safe(warning.String()))
	}
	if !f.show {
		policies := cli.Count(sum.Policies, "policy")
		fmt.Fprintf(a.Stdout, "%s: ok, %s, %s, %s; %s\n", cli.Safe(file),
			strings.Replace(policies, "policys", "policies", 1), cli.Count(sum.Rules, "rule"),
			cli.Count(sum.Sets, "set"), cli.Count(len(warnings), "warning"))
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
