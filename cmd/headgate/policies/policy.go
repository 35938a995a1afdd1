package policies

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/sample"
	"github.com/spf13/cobra"
)

// Policy returns `headgate policy`, with the commands list and test.
func Policy(shared *cli.App) *cobra.Command {
	a := &app{shared}
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "List the policies with what they did, hold them to a file of cases",
		Args:  cobra.ArbitraryArgs,
		RunE:  cli.HelpOrUnknown,
	}
	cmd.AddCommand(listCommand(a), testCommand(a))
	return cmd
}

const testLong = `Read cases and compare what the policies make of each request with what the case
expects. A case expects some of: policies (the names of all that match), key (of the first
question), verdict (ask, skip, deny or none, or allow, which is any but deny). A request has url,
or host and path, and method, headers, client, peer, status, and what a proxy says: country, asn,
ja3, ja4, tls, tier. Stops at the first case that fails and shows the difference; a --format other
than text has all cases. Exit code 0 when all cases hold, 1 when one fails, 2 on error. A file is
a list of cases, such as
- {request: {method: POST, url: example.com/login, client: 203.0.113.7}, policies: [login], verdict: ask}`

func testCommand(a *app) *cobra.Command {
	var file, format string
	cmd := &cobra.Command{
		Use:     "test FILE...",
		Short:   "Hold the policies of a configuration to files of cases",
		Long:    testLong,
		Example: "  headgate policy test -c headgate.yaml cases.yaml",
		Args:    cli.WantAll("FILE"),
		RunE:    func(_ *cobra.Command, args []string) error { return a.test(file, format, args) },
	}
	cmd.Flags().StringVarP(&file, "config", "c", "", "configuration `FILE` (required)")
	cli.AddFormat(cmd, &format)
	return cmd
}

// maxCaseFile is the largest file of cases, in bytes.
const maxCaseFile = config.MaxBytes

// testedFile is a file in the output of `headgate policy test --format json`.
type testedFile struct {
	File  string       `json:"file"`
	Cases []testedCase `json:"cases"`
}

type testedCase struct {
	Line    int    `json:"line"`
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Message string `json:"message"`
}

func (a *app) test(file, format string, names []string) error {
	if err := cli.CheckFormat(format); err != nil {
		return fmt.Errorf("policy test: %w", err)
	}
	e, err := a.load(file)
	if err != nil {
		return err
	}
	all := []testedFile{}
	var results []cli.Result
	var end error
	for _, name := range names {
		cases, err := readCases(name)
		if err != nil {
			return err
		}
		is := testedFile{name, []testedCase{}}
		for i := range cases {
			c := &cases[i]
			difference, err := compare(e, c)
			if err != nil {
				return fmt.Errorf("%s:%d: %w", name, c.Line, err)
			}
			if difference != "" {
				end = cli.ErrNo
			}
			if end != nil && format == "text" {
				fmt.Fprintf(a.Stdout, "%s:%d: %s\n%s", cli.Safe(name), c.Line, cli.Safe(c.Name),
					difference)
				return end
			}
			is.Cases = append(is.Cases, testedCase{
				c.Line, c.Name, difference == "", strings.TrimSpace(difference),
			})
			results = append(results, cli.Result{
				Suite: name, Name: cmp.Or(c.Name, fmt.Sprint("line ", c.Line)), File: name,
				Line: c.Line, Message: difference,
			})
		}
		all = append(all, is)
	}
	switch format {
	case "text":
		fmt.Fprintf(a.Stdout, "%s: ok\n", cli.Count(len(results), "case"))
	case "json":
		err = cli.WriteJSON(a.Stdout, map[string][]testedFile{"files": all})
	default:
		err = cli.WriteResults(a.Stdout, format, "policy test", results)
	}
	return cmp.Or(err, end)
}

func readCases(name string) ([]config.Case, error) {
	f, err := os.Open(name) //nolint:gosec // the operator names it
	if err != nil {
		return nil, fmt.Errorf("read cases: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read from
	data, err := io.ReadAll(io.LimitReader(f, maxCaseFile+1))
	if err != nil {
		return nil, fmt.Errorf("read cases: %w", err)
	}
	return config.ParseCases(name, data)
}

// compare returns the lines in which the result of e differs from the expectations of c; "": none.
func compare(e *policy.Engine, c *config.Case) (string, error) {
	got, err := sample.Examine(e,
		&api.TestRequest{
			Method: c.Method, URL: c.URL, Headers: c.Headers, Client: c.Client,
			Peer: c.Peer, Status: c.Status,
		})
	if err != nil {
		return "", err
	}
	var matched []string
	for _, p := range got.Policies {
		if p.Matches {
			matched = append(matched, p.Name)
		}
	}
	key := ""
	if len(got.Questions) > 0 {
		key = got.Questions[0].Key
	}
	text := ""
	for _, f := range []struct {
		name, want, got string
		differs         bool
	}{
		{
			"policies", strings.Join(c.Policies, ", "), strings.Join(matched, ", "),
			!slices.Equal(c.Policies, matched),
		},
		{"key", c.Key, key, c.Key != key},
		{"verdict", c.Verdict, got.Verdict, c.Verdict != got.Verdict &&
			(c.Verdict != "allow" || got.Verdict == "deny")},
	} {
		if c.Expects(f.name) && f.differs {
			text += fmt.Sprintf("  %s\n  - %s\n  + %s\n", f.name, cli.Safe(f.want), cli.Safe(f.got))
		}
	}
	return text, nil
}
