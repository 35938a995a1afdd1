package setup

import (
	"fmt"
	"os"
	"strings"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/config/envoy"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/spf13/cobra"
)

// maxImported is how many files an import reads.
const maxImported = 256

// Import returns `headgate import`, with the command envoy.
func Import(shared *cli.App) *cobra.Command {
	a := &app{shared}
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Print headgate.yaml for another limiter's configuration",
		Args:  cobra.ArbitraryArgs,
		RunE:  cli.HelpOrUnknown,
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "envoy FILE...",
		Short: "For envoyproxy/ratelimit",
		Long: `Print headgate.yaml with a rule for each limit of envoyproxy/ratelimit's files,
for descriptors that name it: an entry rule with the rule's name beside those that are counted
by. What a rule says otherwise, or cannot say, is printed to stderr with its line. To use the
files as they are name them in rls.files instead. Exit code 0; 1 when a file has faults, 2 when
it cannot be read.`,
		Example: `  headgate import envoy /etc/ratelimit/*.yaml >headgate.yaml`,
		Args:    cli.WantAll("FILE"),
		RunE:    func(_ *cobra.Command, args []string) error { return a.importEnvoy(args) },
	})
	return cmd
}

// importEnvoy prints the rules of files.
func (a *app) importEnvoy(paths []string) error {
	files, err := envoy.Read(paths, maxImported, os.ReadFile)
	if err != nil {
		return fmt.Errorf("import envoy: %w", err)
	}
	say := func(f envoy.Fault) {
		fmt.Fprintln(a.Stderr, cli.Safe(fmt.Sprintf("%s:%d:%d: %s", f.File,
			f.Line, f.Col, f.Message)))
	}
	tree, faults := envoy.Load(files, envoy.Options{LongUnits: true, Apart: true, Note: say})
	for _, f := range faults {
		say(f)
	}
	if len(faults) > 0 {
		fmt.Fprintln(a.Stderr, cli.Count(len(faults), "fault"))
		return cli.ErrNo
	}
	fmt.Fprintf(a.Stdout, "# The limits of %s. A descriptor names its rule by an entry called "+
		"rule.\n", cli.Safe(strings.Join(paths, ", ")))
	fmt.Fprint(a.Stdout, "listen: {grpc: 127.0.0.1:4294}\nrules:")
	if len(tree.Rules) == 0 {
		fmt.Fprint(a.Stdout, " []")
	}
	fmt.Fprintln(a.Stdout)
	for i := range tree.Rules {
		a.printRule(&tree.Rules[i])
	}
	return nil
}

// printRule prints a rule as in headgate.yaml.
func (a *app) printRule(r *mitigation.Rule) {
	window := strings.NewReplacer("24h0m0s", "24h", "1h0m0s", "1h", "1m0s",
		"1m").Replace(r.Window.String())
	mode := ""
	if r.Mode == mitigation.Shadow {
		mode = ", mode: shadow"
	}
	fmt.Fprintf(a.Stdout, "  - {name: %q, limit: %d, window: %s%s}\n", r.Name,
		r.Limit, window, mode)
}
