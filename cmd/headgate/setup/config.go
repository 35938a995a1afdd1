package setup

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
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
	cmd.AddCommand(configCheckCommand(a), configShowCommand(a), configSchemaCommand(a))
	return cmd
}

func configSchemaCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of configuration files, for editors",
		Long: `Print the JSON Schema (draft-07) of headgate.yaml. With it the YAML language server
of an editor completes fields, and marks faults while they are typed. Faults between two places of
the file are found by "headgate config check" alone. Packages install the schema; a file names the
schema in its first line.`,
		Example: `  headgate config schema > headgate.schema.json
  sed -i '1i # yaml-language-server: $schema=headgate.schema.json' headgate.yaml`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := a.Stdout.Write(config.Schema())
			return err
		},
	}
}

func configCheckCommand(a *app) *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Report every fault of configuration files, and doubtful settings",
		Long: `Read configuration files as serve would and report every fault with its file,
line and column; then, as warnings with a code, settings that hardly do what was meant. A comment
"# headgate: ignore CODE" on the line, or alone on the line above, silences one. Exit code 0 when
all files are valid, 1 when one has faults, 2 when one cannot be read.`,
		Example: `  headgate config check headgate.yaml
  headgate config check --strict headgate.yaml  # warnings are faults too
  headgate config check --print headgate.yaml   # the file with every default filled in
  headgate config check --format junit */headgate.yaml > results.xml`,
		Args: cli.WantAll("FILE"),
		RunE: func(_ *cobra.Command, args []string) error { return a.checkConfig(args, f) },
	}
	cmd.Flags().BoolVar(&f.show, "print", false,
		"print the configuration with all defaults, as YAML")
	cmd.Flags().BoolVar(&f.strict, "strict", false, "exit code 1 for warnings too")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON, as --format json")
	cli.AddFormat(cmd, &f.format)
	cmd.Flags().StringVar(&f.proxy, "for", "", "warn also of what the files of `headgate init "+
		"NAME` do not do for a policy")
	cmd.MarkFlagsMutuallyExclusive("print", "json", "format")
	return cmd
}

// checkFlags are the options of `headgate config check`.
type checkFlags struct {
	show, strict, json bool
	format             string // of cli.AddFormat
	proxy              string // of init; empty: none
}

// check refuses an empty name of a file, --print of several, and a proxy unknown to init.
func (f *checkFlags) check(files []string) error {
	switch {
	case slices.Contains(files, ""):
		return errors.New("the file's name is empty")
	case f.show && len(files) > 1:
		return errors.New("--print takes one FILE")
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

// checked returns faults as they are printed in JSON.
func checked(faults config.Faults) []checkedFault {
	all := []checkedFault{}
	for _, f := range faults {
		all = append(all, checkedFault{f.Code, f.Line, f.Col, f.Policy, f.Text()})
	}
	return all
}

// checkConfig checks all files. The worst of them decides how the command ends.
func (a *app) checkConfig(files []string, f checkFlags) error {
	if f.json {
		f.format = "json"
	}
	if err := cmp.Or(f.check(files), cli.CheckFormat(f.format)); err != nil {
		return fmt.Errorf("config check: %w", err)
	}
	all := []checkedFile{}
	var results []cli.Result
	var end, unread error
	for _, file := range files {
		is := a.look(file, f)
		if f.format == "text" {
			if err := a.tell(&is, f); err != nil {
				return err
			}
		}
		faults := is.faults
		if f.strict {
			faults = slices.Concat(faults, is.warnings)
		}
		if len(faults) > 0 {
			end = cli.ErrNo
		}
		unread = errors.Join(unread, is.err)
		all = append(all, checkedFile{file, checked(is.faults), checked(is.warnings), is.sum})
		results = append(results, cli.Result{Suite: file})
		for _, t := range faults {
			results = append(results, cli.Result{
				Suite: file, File: t.File, Line: t.Line, Col: t.Col, Message: t.Text(),
			})
		}
	}
	var err error
	switch f.format {
	case "text":
	case "json":
		err = cli.WriteJSON(a.Stdout, map[string][]checkedFile{"files": all})
	default:
		err = cli.WriteResults(a.Stdout, f.format, "config check", results)
	}
	return cmp.Or(err, unread, end)
}

// looked is the result of a file.
type looked struct {
	file             string
	faults, warnings config.Faults
	err              error          // it cannot be read, which faults say too
	config           *config.Config // of a valid file, as what follows
	sum              *checkSummary
	bytes            int64 // of sets
}

func (a *app) look(file string, f checkFlags) looked {
	is := looked{file: file}
	c, err := config.Read(file)
	if err == nil {
		_, err = config.LoadRLS(&c)
	}
	if faults, ok := errors.AsType[config.Faults](err); ok {
		is.faults = faults
		return is
	}
	if err != nil {
		is.err, is.faults = err, config.Faults{{File: file, Message: err.Error()}}
		return is
	}
	// The files of sets, with a key nobody keeps.
	engine, err := config.LoadPolicies(&c, [32]byte{})
	if err != nil {
		is.faults = config.FaultsOfSets(file, err)
		return is
	}
	is.warnings = append(c.Warnings, unservedWarnings(&c, file, f.proxy)...)
	for _, text := range config.ScopeWarnings(&c) {
		is.warnings = append(is.warnings,
			config.Fault{File: file, Line: 1, Col: 1, Code: "scope-alone", Message: text})
	}
	is.warnings = append(is.warnings, a.overWarnings(&c, file)...)
	is.config, is.bytes, is.sum = &c, engine.Bytes(), &checkSummary{
		len(c.Policies.Policies), len(c.AllRules()), len(c.Policies.Sets), engine.Entries(),
	}
	return is
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

// tell prints the faults of a file in lines, or the warnings and the summary, or the file.
func (a *app) tell(is *looked, f checkFlags) error {
	switch {
	case is.err != nil: // how the command ends says it
		return nil
	case len(is.faults) > 0:
		fmt.Fprintln(a.Stderr, cli.SafeLines(is.faults.Error()))
		fmt.Fprintf(a.Stderr, "%s: %s\n", cli.Safe(is.file), cli.Count(len(is.faults), "fault"))
		return nil
	case is.bytes > 0 && !f.show:
		fmt.Fprintf(a.Stdout, "sets: %d bytes\n", is.bytes)
	}
	for _, warning := range is.warnings {
		fmt.Fprintf(a.Stderr, "warning: %s\n", cli.Safe(warning.String()))
	}
	if !f.show {
		policies := cli.Count(is.sum.Policies, "policy")
		fmt.Fprintf(a.Stdout, "%s: ok, %s, %s, %s; %s\n", cli.Safe(is.file),
			strings.Replace(policies, "policys", "policies", 1), cli.Count(is.sum.Rules, "rule"),
			cli.Count(is.sum.Sets, "set"), cli.Count(len(is.warnings), "warning"))
		return nil
	}
	effective, err := is.config.Marshal()
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
