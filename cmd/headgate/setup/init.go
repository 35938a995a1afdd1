package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/spf13/cobra"
)

// The options' defaults: address and limit of the built-in configuration, and the time a proxy waits for an answer.
const (
	snippetRule    = "per-ip"
	DefaultTimeout = 20 * time.Millisecond
)

// The time a proxy may wait for an answer, in whole milliseconds.
const (
	minSnippetTimeout = time.Millisecond
	maxSnippetTimeout = 10 * time.Second
)

// Init returns `headgate init`, with a command for each snippet.
func Init(shared *cli.App) *cobra.Command {
	a := &app{shared}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Print the configuration that connects your proxy",
		Long: `Print the proxy configuration that checks every request with headgate: 429 with Retry-After over the limit, and
requests pass (or fail, see the comments) while headgate is down or slow. Without a name: list the proxies.
The next step and the mode of the rule are printed to stderr.`,
		Example: `  headgate init nginx
  headgate init haproxy --rule login --write /etc/haproxy`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownCommand(cmd, args[0])
			}
			a.listSnippets()
			return nil
		},
	}
	for i := range snippets {
		cmd.AddCommand(snippetCommand(a, &snippets[i]))
	}
	return cmd
}

// listSnippets prints a line for each snippet.
func (a *app) listSnippets() {
	rows := [][]cli.Cell{cli.Header("NAME", "PROTOCOL", "PROXY")}
	for _, s := range snippets {
		rows = append(rows, []cli.Cell{cli.Left(s.name), cli.Left(s.door), cli.Left(s.proxy)})
	}
	a.WriteTable(a.Stdout, rows)
}

// snippetFlags are the options of `headgate init NAME`.
type snippetFlags struct {
	rule    string
	address string
	timeout time.Duration
	dir     string
	config  string // read for the mode of the rule; empty: ask the daemon
}

func snippetCommand(a *app, s *snippet) *cobra.Command {
	var f snippetFlags
	cmd := &cobra.Command{
		Use:     s.name,
		Short:   "For " + s.proxy,
		Long:    s.help(),
		Example: s.example(),
		Args:    cli.Want(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.printSnippet(s, f); err != nil {
				return err
			}
			a.printNextStep(cmd.Context(), s, f)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.address, "address", s.address, s.where())
	flags.DurationVar(&f.timeout, "timeout", DefaultTimeout, "wait at most `DURATION` for headgate's answer")
	flags.StringVar(&f.dir, "write", "", "write the files to `DIR`, made if it does not exist, instead of printing them; existing files are never overwritten")
	flags.StringVarP(&f.config, "config", "c", "", "read the mode of the rule from configuration `FILE` (default: ask the daemon)")
	a.AddAdminFlags(cmd)
	if f.rule = snippetRule; s.whole {
		return cmd
	}
	flags.StringVar(&f.rule, "rule", snippetRule, "check requests with the rule `NAME`")
	complete := func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.AskRuleNames(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
	}
	if err := cmd.RegisterFlagCompletionFunc("rule", complete); err != nil {
		panic(err) // the flag was added above
	}
	return cmd
}

// example shows how s is called.
func (s *snippet) example() string {
	rule := " --rule login"
	if s.whole {
		rule = ""
	}
	return "  headgate init " + s.name + "\n  headgate init " + s.name + rule + " --address " + s.elsewhere
}

// printSnippet prints the files of s, or writes them.
func (a *app) printSnippet(s *snippet, f snippetFlags) error {
	b, err := s.fill(f)
	if err != nil {
		return fmt.Errorf("init %s: %w", s.name, err)
	}
	texts, err := s.render(b)
	if err != nil {
		return fmt.Errorf("init %s: %w", s.name, err)
	}
	if f.dir == "" {
		fmt.Fprint(a.Stdout, strings.Join(texts, "\n"))
		return nil
	}
	paths, err := writeNew(b.Dir, s.files, texts)
	for _, path := range paths {
		fmt.Fprintf(a.Stdout, "wrote %s\n", cli.Safe(path))
	}
	if err != nil {
		return fmt.Errorf("init %s: %w", s.name, err)
	}
	return nil
}

// writeNew writes texts into files of dir and returns which it wrote. If one of them exists already, it writes none. It
// makes dir, but not the directory that holds dir: a misspelt /etc/ngnix/headgate is an error.
func writeNew(dir string, files, texts []string) (wrote []string, err error) {
	paths := make([]string, len(files))
	for i, name := range files {
		paths[i] = filepath.Join(dir, filepath.Base(name))
		switch _, err := os.Lstat(paths[i]); {
		case err == nil:
			return nil, fmt.Errorf("%s already exists; nothing was written", paths[i])
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("look for %w", err)
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) { //nolint:gosec // the proxy's user reads it
		return nil, fmt.Errorf("make %w", err)
	}
	for i, path := range paths {
		if err := writeOnce(path, texts[i]); err != nil {
			return paths[:i], err
		}
	}
	return paths, nil
}

// writeOnce makes a file that a proxy's own user can read. An existing file is left alone.
func writeOnce(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // configuration without secrets
	if err != nil {
		return fmt.Errorf("write %w", err)
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// app is the program, with the actions of this package's commands.
type app struct{ *cli.App }
