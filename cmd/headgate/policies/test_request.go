package policies

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/spf13/cobra"
)

// TestRequest returns `headgate test-request`.
func TestRequest(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var s sample
	var file string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "test-request URL",
		Short: "Say what the policies of a configuration make of one request",
		Long: `Go through the policies of a configuration with one request: which match and, of the others, the first
term that does not hold, with its line; the client and where it was found; the questions that remain.
Nothing is counted, and no daemon is asked. The peer is 127.0.0.1 unless --peer says otherwise.
Exit code 0 when no policy denies the request, 1 when one does, 2 on error.`,
		Example: `  headgate test-request -c headgate.yaml https://api.example.com/v2/users -H 'x-api-key: k1'
  headgate test-request -c headgate.yaml -X POST example.com/login --client 203.0.113.7 --status 401`,
		Args: cli.Want("URL"),
		RunE: func(_ *cobra.Command, args []string) error {
			s.url = args[0]
			return a.testRequest(file, &s, asJSON)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&s.method, "request", "X", "GET", "method")
	flags.StringArrayVarP(&s.headers, "header", "H", nil, "a header, 'name: value'; may be repeated")
	flags.StringVar(&s.client, "client", "", "address of the client, as a trusted proxy would give it")
	flags.StringVar(&s.peer, "peer", "", "address of the sender")
	flags.IntVar(&s.status, "status", 0, "status of the response: say what the report counts")
	flags.StringVarP(&file, "config", "c", "", "configuration file")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// report is what is said of a request.
type report struct {
	Method    string         `json:"method"`
	Host      string         `json:"host"`
	Path      string         `json:"path"`
	Client    string         `json:"client"`
	From      string         `json:"client_from"`
	Policies  []policyLine   `json:"policies"`
	Verdict   string         `json:"verdict"`
	By        string         `json:"policy,omitempty"`
	Status    int            `json:"status,omitempty"`
	Questions []questionLine `json:"questions"`
}

type policyLine struct {
	Name    string `json:"name"`
	Matches bool   `json:"matches"`
	Failed  string `json:"failed,omitempty"`
	Line    int    `json:"line"`
}

type questionLine struct {
	Policy string `json:"policy"`
	Rule   string `json:"rule"`
	Key    string `json:"key"`
	Cost   uint32 `json:"cost"`
	Judges bool   `json:"judges"`
	Counts bool   `json:"counts"`
	Later  bool   `json:"later"`
	Shadow bool   `json:"shadow"`
}

func (a *app) testRequest(file string, s *sample, asJSON bool) error {
	e, err := a.load(file)
	if err != nil {
		return err
	}
	out, err := examine(e, s)
	if err != nil {
		return err
	}
	if asJSON {
		enc := json.NewEncoder(a.Stdout)
		enc.SetIndent("", "  ")
		err = enc.Encode(out)
	} else {
		err = a.print(out, s.status > 0)
	}
	if err == nil && out.Verdict == "deny" {
		err = cli.ErrNo
	}
	return err
}

// examine goes through the policies of e with s. A sample with a status is a report.
func examine(e *policy.Engine, s *sample) (*report, error) {
	r, result := new(request.Request), new(policy.Result)
	found, err := s.fill(r, e)
	if err != nil {
		return nil, err
	}
	out := &report{Method: string(r.Method), Host: string(r.Host), Path: string(r.Path), Client: r.Client.String(), Questions: []questionLine{}}
	out.From = origin(found, e.Clients())
	for _, t := range e.Trace(r) {
		p := e.Policy(t.Policy)
		line := policyLine{Name: p.Name, Matches: t.Matches, Line: p.At.Line}
		switch {
		case t.Off:
			line.Failed = "mode: off"
		case t.Failed != nil:
			line.Failed, line.Line = t.Failed.Text, t.Failed.At.Line
		}
		out.Policies = append(out.Policies, line)
	}
	if s.status > 0 {
		e.Report(r, result)
	} else {
		e.Evaluate(r, result)
	}
	out.Verdict = [...]string{policy.Ask: "ask", policy.Skip: "skip", policy.Deny: "deny"}[result.Verdict]
	if result.Verdict == policy.Ask && result.N == 0 {
		out.Verdict = "none"
	}
	if result.Policy >= 0 {
		out.By, out.Status = e.Policy(result.Policy).Name, result.Status
	}
	for i := range result.N {
		q := &result.Questions[i]
		out.Questions = append(out.Questions, questionLine{e.Policy(q.Policy).Name, string(q.Name), string(q.Key), q.Cost, q.Judges, q.Counts, q.Later, q.Shadow})
	}
	return out, nil
}

// origin says where a client's address was found.
func origin(found request.Found, c *request.Clients) string {
	switch found {
	case request.FoundHeader:
		return c.Header
	case request.FoundGiven:
		return "the proxy"
	case request.FoundUnreadable:
		return c.Header + " (unreadable from there on)"
	}
	return "the peer"
}

// print writes out for people.
func (a *app) print(out *report, isReport bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s%s\nclient %s, from %s\n\n", cli.Safe(out.Method), cli.Safe(out.Host), cli.Safe(out.Path), cli.Safe(out.Client), cli.Safe(out.From))
	width := 0
	for _, p := range out.Policies {
		width = max(width, len(p.Name))
	}
	for _, p := range out.Policies {
		if p.Matches {
			fmt.Fprintf(&b, "  %-*s  matches\n", width, cli.Safe(p.Name))
		} else {
			fmt.Fprintf(&b, "  %-*s  no: %s (line %d)\n", width, cli.Safe(p.Name), cli.Safe(p.Failed), p.Line)
		}
	}
	b.WriteString("\n" + out.verdict(isReport) + "\n")
	for _, q := range out.Questions {
		fmt.Fprintf(&b, "  rule %s  key %s  cost %d%s\n", cli.Safe(q.Rule), cli.Safe(q.Key), q.Cost, q.does()+q.inShadow())
	}
	_, err := fmt.Fprint(a.Stdout, b.String())
	if err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// verdict returns the last word on the request as a sentence.
func (r *report) verdict(isReport bool) string {
	switch {
	case r.Verdict == "skip":
		return "allow: policy " + cli.Safe(r.By) + " skips all others"
	case r.Verdict == "deny":
		return fmt.Sprintf("deny with %d: policy %s", r.Status, cli.Safe(r.By))
	case r.Verdict == "none" && isReport:
		return "the report counts nothing"
	case r.Verdict == "none":
		return "allow: no policy asks a rule"
	case isReport:
		return "the report counts:"
	}
	return "allow if all of these do:"
}

// does returns how a question differs from one that judges and counts.
func (q *questionLine) does() string {
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

func (q *questionLine) inShadow() string {
	if q.Shadow {
		return "  (in shadow: it denies nothing)"
	}
	return ""
}
