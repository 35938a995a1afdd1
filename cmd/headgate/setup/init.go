package setup

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
)

// The options' defaults: a rule of the built-in configuration, for proxies able to ask only a
// single rule, and the time a proxy waits for an answer.
const (
	snippetRule    = "per-ip"
	DefaultTimeout = 20 * time.Millisecond
)

// The time a proxy may wait for an answer, in whole milliseconds.
const (
	minSnippetTimeout = time.Millisecond
	maxSnippetTimeout = 10 * time.Second
)

const initLong = `Print the proxy configuration that shows headgate every request: its policies
decide, with 429 and Retry-After over a limit, and requests pass (or fail, see the comments)
while headgate is down or slow. With --rule the proxy asks one rule instead. Without a name: list
the proxies. The next step, and what would deny nothing yet, are printed to stderr.`

// Init returns `headgate init`, with a command for each snippet.
func Init(shared *cli.App) *cobra.Command {
	a := &app{shared}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Print the configuration that connects your proxy",
		Long:  initLong,
		Example: `  headgate init nginx
  headgate init nginx --write /etc/nginx/headgate --udp 127.0.0.1:4290
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
	for i := range snippets {
		s := &snippets[i]
		rows = append(rows, []cli.Cell{
			cli.Left(s.name),
			cli.Left(s.form(s.defaultRule()).door), cli.Left(s.proxy),
		})
	}
	a.WriteTable(a.Stdout, rows)
}

// snippetFlags are the options of `headgate init NAME`.
type snippetFlags struct {
	rule    string // empty: the policies decide
	address string
	udp     string // empty: responses are not reported; noReports: on purpose
	log     string // of the site; noLog: none
	// HAProxy reports responses by messages, and its frontend keeps its log
	messages bool
	headers  []string
	timeout  time.Duration
	dir      string
	spare    uint16 // port at which Caddy lets everything pass
	crd      bool   // for Traefik in Kubernetes
	config   string // read for the mode of the rule; empty: ask the daemon
}

// defaultRule returns the rule asked where none is named; empty: the policies decide.
func (s *snippet) defaultRule() string {
	if len(s.whole.files) == 0 {
		return snippetRule
	}
	return ""
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
			s := s
			if f.crd {
				if s = snippetOf(traefikCRD); !cmd.Flags().Changed("address") {
					f.address = s.address
				}
			}
			if err := s.checkFlags(cmd, &f); err != nil {
				return fmt.Errorf("init %s: %w", s.name, err)
			}
			c, name, err := a.configuration(cmd.Context(), f.config)
			if err != nil {
				c = nil
			}
			a.know(cmd, s, &f, c)
			if err := a.printSnippet(s, f); err != nil {
				return err
			}
			a.printNextStep(cmd.Context(), s, f, known{c, name, err})
			return nil
		},
	}
	a.addSnippetFlags(cmd, s, &f)
	a.AddAdminFlags(cmd)
	return cmd
}

// addSnippetFlags gives cmd s's options.
func (a *app) addSnippetFlags(cmd *cobra.Command, s *snippet, f *snippetFlags) {
	flags := cmd.Flags()
	flags.StringVar(&f.address, "address", s.address, s.where())
	f.timeout = DefaultTimeout
	if s.form(s.defaultRule()).waits {
		flags.DurationVar(&f.timeout, "timeout", DefaultTimeout, "wait at most `DURATION` for "+
			"headgate's answer")
	}
	flags.StringVar(&f.dir, "write", "", "write the files to `DIR`, made if it does not exist, "+
		"instead of printing them; existing files are never overwritten")
	flags.StringVarP(&f.config, "config", "c", "", "read the policies and rules from "+
		"configuration `FILE` (default: ask the daemon)")
	if s.whole.reports {
		flags.StringVar(&f.udp, "udp", "", "report responses, for policies that count by them, "+
			"to `ADDRESS` of headgate's datagrams, "+atUDP+" or unix:/path; none: do not "+
			"(default: of the configuration, if a policy needs reports)")
	}
	s.addOwnFlags(cmd, f)
	if len(s.rule.files) == 0 {
		return
	}
	flags.StringVar(&f.rule, "rule", s.defaultRule(), "ask the rule `NAME` alone, not the policies")
	if err := cmd.RegisterFlagCompletionFunc("rule", a.CompleteRules); err != nil {
		panic(err) // the flag was added above
	}
}

// addOwnFlags gives cmd the options of s alone.
func (s *snippet) addOwnFlags(cmd *cobra.Command, f *snippetFlags) {
	flags := cmd.Flags()
	f.log = noLog
	switch s.name {
	case "caddy":
		flags.Uint16Var(&f.spare, "spare-port", 4299, "let everything pass at `PORT` of loopback, "+
			"which Caddy asks while headgate does not answer")
	case "traefik":
		flags.BoolVar(&f.crd, "crd", false, "print objects for Traefik in Kubernetes, as "+
			"traefik-crd does")
	case "nginx":
		flags.StringVar(&f.log, "access-log", "/var/log/nginx/access.log", "the log of the site, "+
			"`PATH`, beside the reports: nginx inherits access_log all or nothing; none: no line")
	}
}

// checkFlags refuses options at odds.
func (s *snippet) checkFlags(cmd *cobra.Command, f *snippetFlags) error {
	named := cmd.Flags().Changed("rule")
	if form := s.form(f.rule); form.address != "" && !cmd.Flags().Changed("address") {
		f.address = form.address
	}
	switch {
	case named && f.rule == "":
		return errors.New(`--rule "" is not a valid rule name`)
	case named && f.udp != "":
		return errors.New("--udp is for policies: a rule that --rule names does not count by the " +
			"response")
	}
	return nil
}

// example shows how s is called.
func (s *snippet) example() string {
	text, other := "  headgate init "+s.name, " --address "+cmp.Or(s.other, "192.0.2.1:4291")
	if len(s.whole.files) > 0 {
		text += "\n  headgate init " + s.name + other
	}
	if len(s.rule.files) > 0 {
		text += "\n  headgate init " + s.name + " --rule login" + other
	}
	return text
}

// printSnippet prints the files of s, or writes the files.
func (a *app) printSnippet(s *snippet, f snippetFlags) error {
	b, err := s.fill(f)
	if err != nil {
		return fmt.Errorf("init %s: %w", s.name, err)
	}
	form := s.form(f.rule)
	texts, err := form.render(b)
	if err != nil {
		return fmt.Errorf("init %s: %w", s.name, err)
	}
	if f.dir == "" {
		fmt.Fprint(a.Stdout, strings.Join(texts, "\n"))
		return nil
	}
	paths, err := writeNew(b.Dir, form.files, texts)
	for _, path := range paths {
		fmt.Fprintf(a.Stdout, "wrote %s\n", cli.Safe(path))
	}
	if err != nil {
		return fmt.Errorf("init %s: %w", s.name, err)
	}
	return nil
}

// writeNew writes texts into files of dir and returns which it wrote. If any exists already, none
// is written. It makes dir, but not the directory holding dir: a misspelt /etc/ngnix/headgate is an
// error.
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
	//nolint:gosec // the proxy's user reads it
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make %w", err)
	}
	for i, path := range paths {
		if err := writeOnce(path, texts[i]); err != nil {
			return paths[:i], err
		}
	}
	return paths, nil
}

// writeOnce makes a file a proxy's own user can read. An existing file is left alone.
func writeOnce(path, text string) error {
	//nolint:gosec // configuration without secrets
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("write %w", err)
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// app is the program, with the actions of this package's commands.
type app struct{ *cli.App }
