package policies

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/sample"
)

// TestRequest returns `headgate test-request`.
func TestRequest(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var s api.TestRequest
	var file string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "test-request URL",
		Short: "Say what the policies make of one request",
		Long: `Go through the policies with one request: which match and, of the others, the
first term that does not hold, with its line; the client and where it was found; both readings of
a path that has two; the questions that remain. The policies are those of the running daemon,
which adds what each rule would answer now, or with -c those of a file. Nothing is counted. The
peer is 127.0.0.1 unless --peer says otherwise. Exit code 0 when the request would be allowed, 1
when it would be denied, 2 on error.`,
		Example: `  headgate test-request https://api.example.com/v2/users --client 203.0.113.7
  headgate test-request -c headgate.yaml https://api.example.com/v2/users -H 'x-api-key: k1'
  headgate test-request -c headgate.yaml -X POST example.com/login --client 203.0.113.7 --status 401`,
		Args: cli.Want("URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.URL = args[0]
			return a.testRequest(cmd.Context(), file, &s, asJSON)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&s.Method, "request", "X", "GET", "`METHOD`")
	flags.StringArrayVarP(&s.Headers, "header", "H", nil, "a `HEADER`, 'name: value'; may be "+
		"repeated")
	flags.StringVar(&s.Client, "client", "", "`ADDRESS` of the client, as a trusted proxy would "+
		"give it")
	flags.StringVar(&s.Peer, "peer", "", "`ADDRESS` of the sender")
	flags.IntVar(&s.Status, "status", 0, "`STATUS` of the response: say what the report counts")
	flags.StringVarP(&file, "config", "c", "", "use the policies of configuration `FILE` "+
		"(default: ask the daemon)")
	a.AddAdminFlags(cmd)
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) testRequest(ctx context.Context, file string, s *api.TestRequest, asJSON bool) error {
	out, err := a.examine(ctx, file, s)
	if err != nil {
		return err
	}
	if asJSON {
		err = cli.WriteJSON(a.Stdout, out)
	} else {
		err = a.print(out)
	}
	if err == nil && out.Denied() {
		err = cli.ErrNo
	}
	return err
}

// examine has the policies of a file, or without a file the daemon's, look at s.
func (a *app) examine(ctx context.Context, file string, s *api.TestRequest) (*api.TestView, error) {
	if file != "" {
		e, err := a.load(file)
		if err != nil {
			return nil, err
		}
		return sample.Examine(e, s)
	}
	client, err := a.DialAdmin()
	if err != nil {
		return nil, err
	}
	out := new(api.TestView)
	return out, client.Do(ctx, http.MethodPost, "/v1/test-request", s, out)
}

// print writes out for people.
func (a *app) print(out *api.TestView) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s%s\n", cli.Safe(out.Method), cli.Safe(out.Host), cli.Safe(out.Path))
	if out.Decoded != "" {
		fmt.Fprintf(&b, "  or %s, if the server decodes %%2F and %%25\n", cli.Safe(out.Decoded))
	}
	fmt.Fprintf(&b, "client %s, from %s\n\n", cli.Safe(out.Client), cli.Safe(out.From))
	width := 0
	for _, p := range out.Policies {
		width = max(width, len(p.Name))
	}
	for _, p := range out.Policies {
		if p.Matches {
			fmt.Fprintf(&b, "  %-*s  matches\n", width, cli.Safe(p.Name))
		} else {
			fmt.Fprintf(&b, "  %-*s  no: %s (line %d)\n", width, cli.Safe(p.Name),
				cli.Safe(p.Failed), p.Line)
		}
	}
	b.WriteString("\n" + verdict(out) + "\n")
	for i := range out.Questions {
		q := &out.Questions[i]
		fmt.Fprintf(&b, "  rule %s  key %s  cost %v%s%s%s\n", cli.Safe(q.Rule), cli.Safe(q.Key),
			q.Cost, does(q), inShadow(q), answer(q.Answer))
	}
	if out.LeftOut > 0 {
		fmt.Fprintf(&b, "  not asked: %d more, for a request asks at most 16\n", out.LeftOut)
	}
	_, err := fmt.Fprint(a.Stdout, b.String())
	if err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// verdict returns the last word on the request as a sentence.
func verdict(r *api.TestView) string {
	switch {
	case r.Verdict == "skip":
		return "allow: policy " + cli.Safe(r.By) + " skips all others"
	case r.Verdict == "deny" && r.By == "":
		return fmt.Sprintf("deny with %d: too long, or both paths ask more than 16 rules", r.Status)
	case r.Verdict == "deny":
		return fmt.Sprintf("deny with %d: policy %s", r.Status, cli.Safe(r.By))
	case r.Verdict == "none" && r.Report:
		return "the report counts nothing"
	case r.Verdict == "none":
		return "allow: no policy asks a rule"
	case r.Report:
		return "the report counts:"
	}
	return "allow if all of these do:"
}

// does returns how a question differs from a question with both.
func does(q *api.TestQuestion) string {
	switch {
	case q.Later && q.Judges && q.Counts:
		return "  (its cost comes with the response)"
	case q.Later && q.Judges:
		return "  (looks only; the response says whether it counts)"
	case q.Later:
		return "  (the response says whether it counts)"
	case !q.Judges:
		return "  (counts only)"
	case !q.Counts:
		return "  (looks only)"
	}
	return ""
}

func inShadow(q *api.TestQuestion) string {
	if q.Shadow {
		return "  (in shadow: it denies nothing)"
	}
	return ""
}

// answer prints a rule's present answer.
func answer(is *api.TestAnswer) string {
	switch {
	case is == nil:
		return ""
	case is.Verdict == "deny":
		return fmt.Sprintf(": deny, %s, retry in %ds", cli.Safe(is.Why), is.Retry)
	case is.Shadow:
		return ": allow, the rule in shadow would deny"
	}
	return fmt.Sprintf(": allow, %v remaining", is.Remaining)
}
