package setup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/spf13/cobra"
)

// means are the abilities of a proxy with the files of init. Each is shown by a test that runs the
// file; the fields about responses hold where responses are reported.
type means struct {
	report, headers, release, wait, deceive, body bool
	statuses                                      []int // of denials; nil: any
}

// fixed are the statuses written into files.
var fixed = []int{403, 404, 410, 414, 429, 431, 451, 503}

// serves are the means by the name of the snippet. Those of nginx-lua ask a rule alone.
var serves = map[string]means{
	"nginx":            {report: true, headers: true, release: true, statuses: fixed},
	"haproxy":          {report: true, headers: true, release: true, statuses: fixed},
	"haproxy-lua":      {report: true, headers: true, release: true, statuses: fixed},
	"openresty":        {true, true, true, true, true, true, nil},
	"caddy":            {},
	"traefik":          {body: true},
	traefikCRD:         {body: true},
	"envoy":            {statuses: []int{429}},
	"envoy-authz":      {body: true},
	"envoy-authz-grpc": {body: true},
	envoyGateway:       {statuses: []int{429}},
	"istio":            {statuses: []int{429}},
	"kgateway":         {statuses: []int{429}},
	"ingress-nginx":    {statuses: fixed},
}

// need is a thing a policy needs of the proxy: met says of means whether the proxy has it, and
// without is what happens else.
type need struct {
	met     func(means) bool
	without string
}

// needsOf returns the needs of p, a policy of c.
func needsOf(c *config.Config, p *policy.Policy) (all []need) {
	add := func(met func(means) bool, format string, args ...any) {
		all = append(all, need{met, fmt.Sprintf(format, args...)})
	}
	report, _ := p.Needs()
	if report {
		add(func(m means) bool { return m.report }, "reports no response: nothing is counted")
	}
	for _, name := range headersOf(p) {
		add(func(m means) bool { return m.report && m.headers }, "reports no response header %s: "+
			"it counts as absent", name)
	}
	for _, r := range rulesOf(c, p) {
		switch {
		case r.Kind == mitigation.Concurrency:
			add(func(m means) bool { return m.release }, "gives no place back: each is held for "+
				"its lease, in effect %d requests in %s", r.Limit, cli.Span(r.Lease))
		case r.Delay > 0:
			add(func(m means) bool { return m.wait }, "does not wait: what delay lets in later "+
				"is denied")
		}
	}
	if o := &p.OnDeny; o.Deceive {
		add(func(m means) bool { return m.deceive }, "cannot pretend: the answer is a plain denial")
	} else if o.Body != "" {
		add(func(m means) bool { return m.body }, "sends no body of a policy")
	}
	if status := max(p.Deny, p.OnDeny.Status); status != 0 {
		add(func(m means) bool { return m.statuses == nil || slices.Contains(m.statuses, status) },
			"cannot answer %d: it sends another status", status)
	}
	return all
}

// headersOf returns the headers of responses p looks at, in order.
func headersOf(p *policy.Policy) (names []string) {
	note := func(f condition.Field) {
		if f.Kind == condition.Response && !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	if p.CountWhen != nil {
		p.CountWhen.EachTest(func(e *condition.Expr) { note(e.Test.Field) })
	}
	if p.Cost.Fixed == 0 {
		note(p.Cost.Of)
	}
	slices.Sort(names)
	return names
}

// rulesOf returns the rules p asks, without the levels of a ladder and tiers beyond the first.
func rulesOf(c *config.Config, p *policy.Policy) (all []*mitigation.Rule) {
	if len(p.Own) > 0 {
		all = append(all, &p.Own[0])
	}
	for i := range c.Rules {
		if slices.Contains(p.Rules, c.Rules[i].Name) {
			all = append(all, &c.Rules[i])
		}
	}
	return all
}

// unserved returns what the files of the snippet called name do not do for the policies of c, in
// file. udp and messages say whether responses are reported where a log does so, or messages do.
func unserved(c *config.Config, file, name string, udp, messages bool) (all config.Faults) {
	has := serves[name]
	if s := snippetOf(name); s != nil && s.whole.reports && !udp {
		has.report, has.release = messages, false
	}
	for i := range c.Policies.Policies {
		p := &c.Policies.Policies[i]
		if p.Mode == mitigation.Off {
			continue
		}
		needs := needsOf(c, p)
		if name == envoyGateway {
			needs = []need{{
				func(means) bool { return false }, "asks no policy: its own limits decide",
			}}
		}
		for _, n := range needs {
			if n.met(has) {
				continue
			}
			all = append(all, config.Fault{
				File: file, Line: p.At.Line, Col: p.At.Col, Code: "unserved", Policy: p.Name,
				Message: name + " " + n.without + others(name, n),
			})
		}
	}
	return all
}

// spoe is the name of the snippet whose proxy can report by messages.
const spoe = "haproxy"

// Values of options.
const (
	noLog     = "none"
	noReports = "none"
)

// known is the configuration for which files are printed.
type known struct {
	config *config.Config // nil: not known, because of err
	file   string
	err    error
}

// know sets the options left out, from c: the addresses of the listeners, and the reports policies
// need. nil: c is not known, and nginx reports.
func (a *app) know(cmd *cobra.Command, s *snippet, f *snippetFlags, c *config.Config) {
	form := s.form(f.rule)
	reports := f.udp == "" && form.reports && f.rule == ""
	switch {
	case f.udp == noReports:
		f.udp = ""
	case reports && c == nil && s.name == "nginx":
		f.udp = atUDP
	}
	if c == nil {
		return
	}
	report, release := false, false
	for i := range c.Policies.Policies {
		counts, ends := c.Policies.Policies[i].Needs()
		report, release = report || counts, release || ends
	}
	// a place is given back when the response has been sent, which only the log knows
	f.messages = reports && report && !release && s.name == spoe
	if reports && (report || release) && !f.messages && len(c.Listen.UDP) > 0 {
		f.udp = c.Listen.UDP[0].String()
	}
	a.knowHeaders(f, c)
	listens := map[string][]config.Address{
		"HTTP": c.Listen.HTTP, "UDP": c.Listen.UDP, "gRPC": c.Listen.GRPC, "SPOP": c.Listen.SPOP,
	}[form.door]
	switch {
	case cmd.Flags().Changed("address") || s.cluster:
	case len(listens) == 0:
		fmt.Fprintf(a.Stderr, "note: the configuration has no listen.%s, where %s asks\n",
			strings.ToLower(form.door), s.name)
	case !listens[0].IsUnix() || s.sockets:
		f.address = listens[0].String()
	}
}

// knowHeaders has f report the headers of responses policies of c look at.
func (a *app) knowHeaders(f *snippetFlags, c *config.Config) {
	const plain = "abcdefghijklmnopqrstuvwxyz0123456789-" // of variables of nginx
	for i := range c.Policies.Policies {
		p := &c.Policies.Policies[i]
		for _, name := range headersOf(p) {
			if strings.Trim(name, plain) != "" {
				fmt.Fprintf(a.Stderr, "note: policy %s: header %s has no variable, and is left "+
					"out\n", cli.Safe(p.Name), cli.Safe(name))
			} else if !slices.Contains(f.headers, name) {
				f.headers = append(f.headers, name)
			}
		}
	}
	slices.Sort(f.headers)
}

// unservedWarnings is unserved as warnings of config check; none without a name.
func unservedWarnings(c *config.Config, file, name string) (all config.Faults) {
	if name == "" {
		return nil
	}
	for _, w := range unserved(c, file, name, len(c.Listen.UDP) > 0, name == spoe) {
		w.Message = "policy " + w.Policy + ": " + w.Message
		all = append(all, w)
	}
	return all
}

// others says which proxies but the one called name meet a need.
func others(name string, n need) string {
	var able []string
	for i := range snippets {
		if s := snippets[i].name; s != name && s != traefikCRD &&
			len(snippets[i].whole.files) > 0 && n.met(serves[s]) {
			able = append(able, s)
		}
	}
	switch len(able) {
	case 0:
		return ""
	case 1:
		return "; " + able[0] + " does"
	}
	return "; " + strings.Replace(cli.OneOf(able), " or ", " and ", 1) + " do"
}

// snippetOf returns the snippet called name; nil: there is none.
func snippetOf(name string) *snippet {
	for i := range snippets {
		if snippets[i].name == name && len(snippets[i].whole.files) > 0 {
			return &snippets[i]
		}
	}
	return nil
}
