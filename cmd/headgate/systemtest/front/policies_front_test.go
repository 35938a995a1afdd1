//go:build !race

package front

import (
	"bytes"
	"cmp"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/policies"
	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// siteFile holds the policies of these tests. The test is a hop that it trusts while it comes from
// 127.0.0.1, and a visitor from elsewhere in 127.0.0.0/8.
const siteFile = "testdata/site.yaml"

// visit is a request: a method (GET unless given) and a path at a host, from an address beyond the
// trusted hop.
const someone = "203.0.113.1"

type visit struct {
	method, host, path, client string   // empty: GET, www.example.com, and someone
	header                     []string // name after value
	hop                        string   // the address it comes from; empty: 127.0.0.1
}

// apiVisit is a visit to what the policy api guards.
func apiVisit(client string, header ...string) visit {
	return visit{host: "api.example.com", path: "/v2/a", client: client, header: header}
}

// policyCases are visits in their order, and what becomes of each: the daemon keeps its counts
// between them.
var policyCases = []struct {
	name  string
	times int // 0: 1
	visit
	want  int
	tells string // what test-request says of it
}{
	{
		"the office is exempt from denials", 1,
		visit{path: "/.env", client: "192.0.2.9"},
		200,
		"allow: policy ours skips all others",
	},
	{
		"and from limits", 12,
		visit{path: "/v3/export", client: "2001:db8:1::9"},
		200, "ours  matches",
	},
	{
		"scanners are denied", 1,
		visit{path: "/wp-admin/setup.php"},
		403,
		"deny with 403: policy scanners",
	},
	{
		"by any spelling of the path",
		1,
		visit{path: "/x/..//%2eenv"},
		403,
		"GET www.example.com/.env",
	},
	{
		"by an escaped slash", 1,
		visit{path: "/%2F.env"},
		403,
		"or /.env, if the server decodes",
	},
	{
		"behind the path of another", 1,
		visit{path: "/v1/charges/..%2F..%2F.env"},
		403,
		"deny with 403: policy scanners",
	},
	{
		"with a last slash", 1,
		visit{path: "/.env/"},
		403,
		"deny with 403: policy scanners",
	},
	{"scripts find nothing", 1, visit{
		path:   "/shop/1",
		header: []string{"User-Agent", "curl/8"},
	}, 404, "deny with 404: policy scripts"},
	{
		"a policy names its status", 1,
		visit{path: "/old/1"},
		451,
		"deny with 451: policy gone",
	},
	{
		"a tier alone lets pass", 1,
		visit{path: "/v1/charges/1"},
		200,
		"payments  matches",
	},
	{
		"who says where he is, is not believed", 1,
		visit{path: "/", header: []string{"Headgate-Country", "NZ"}},
		200,
		"",
	},
	{
		"two of a free tenant pass", 2,
		apiVisit("203.0.113.2", "X-Api-Key", "k-free"),
		200, "rule api@free  key ~",
	},
	{"and no third", 1, visit{
		host: "api.example.com", path: "/v2/b", client: "203.0.113.3",
		header: []string{"X-Api-Key", "k-free"},
	}, 429, ""},
	{
		"four of a gold one",
		4,
		apiVisit("203.0.113.2", "X-Api-Key", "k-gold"),
		200,
		"rule api@gold  key ~",
	},
	{"and no fifth", 1, apiVisit("203.0.113.2", "X-Api-Key", "k-gold"), 429, ""},
	{
		"by headers that a proxy sends",
		1,
		apiVisit("203.0.113.2", "X-Api-Key", "k-gold", "X-Forwarded-Host", "a", "X-Forwarded-Uri",
			"/", "X-Forwarded-Method", "PUT", "X-Original-Uri", "/", "X-Original-Method", "PUT"),
		429,
		"",
	},
	{
		"a made-up key counts by its client", 2,
		apiVisit("203.0.113.4", "X-Api-Key", "k-1"),
		200, "rule api@free  key 203.0.113.4",
	},
	{"whichever it makes up", 1, apiVisit("203.0.113.4", "X-Api-Key", "k-2"), 429, ""},
	{
		"a /64 is one client",
		1,
		apiVisit("2001:db8:2:3::1"),
		200,
		"rule api@free  key 2001:db8:2:3::/64",
	},
	{
		"with all its addresses", 1,
		apiVisit("2001:db8:2:3:ffff::2"),
		200, "",
	},
	{"that share one limit", 1, apiVisit("2001:db8:2:3::3"), 429, ""},
	{
		"the next /64 is another", 1,
		apiVisit("2001:db8:2:4::1"),
		200, "",
	},
	{
		"a burst of three passes", 3,
		visit{path: "/search?q=a", client: "203.0.113.8"},
		200,
		"rule search  key 203.0.113.8",
	},
	{"and then one in a while", 1, visit{path: "/search?q=b", client: "203.0.113.8"}, 429, ""},
	{
		"three exports pass", 3,
		visit{path: "/v3/export", client: "203.0.113.5"},
		200,
		"rule export  key 203.0.113.5",
	},
	{"and two do not", 2, visit{path: "/v3/export", client: "203.0.113.5"}, 429, ""},
	{
		"which leaves seven of the group's ten", 7,
		visit{path: "/v3/a", client: "203.0.113.5"},
		200,
		"rule group  key 203.0.113.5",
	},
	{"and no eighth", 1, visit{path: "/v3/a", client: "203.0.113.5"}, 429, ""},
	{
		"an untrusted hop is the client", 3,
		visit{hop: "127.0.0.2", path: "/v3/export", client: "192.0.2.9"},
		200, "",
	},
	{"whoever it says it is", 1, visit{
		hop: "127.0.0.2", path: "/v3/export",
		client: "203.0.113.77",
	}, 429, ""},
}

// TestFrontPolicies: each policy does its work through each proxy, and test-request says so
// beforehand.
func TestFrontPolicies(t *testing.T) {
	text, err := os.ReadFile(siteFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fronts {
		if !f.whole {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			n := startFrontNode(t, string(text))
			s := f.beforeSite(t, n)
			for _, c := range policyCases {
				for i := range max(c.times, 1) {
					if r := s.visit(c.visit); r.StatusCode != c.want ||
						r.StatusCode == http.StatusTooManyRequests &&
							r.Header.Get("Retry-After") == "" {
						t.Fatalf("%s: request %d: %d, want %d: %v", c.name, i+1,
							r.StatusCode, c.want, r.Header)
					}
				}
			}
			s.failLogins()
			s.exportTwice()
		})
	}
}

// beforeSite runs the proxy with its snippet before a site, with reports by its log where it has
// them. Caddy has none: there the site reports its failed logins.
func (f front) beforeSite(t *testing.T, n *frontNode) *frontSite {
	t.Helper()
	args := n.at(f, patient)
	if f.snippet == "caddy" {
		edits := []edit{{"# trusted_proxies 192.0.2.0/24", "trusted_proxies 127.0.0.1/32"}}
		s := f.before(t, edits, args...)
		s.reportTo = "http://" + args[1] + "/v1/report"
		return s
	}
	return f.before(t, nil, n.reporting(f)...)
}

// reporting returns the arguments of init by which f asks n, and reports responses to it: openresty
// does so where it asks.
func (n *frontNode) reporting(f front) []string {
	n.Helper()
	if f.snippet == "openresty" {
		return n.at(f, patient)
	}
	return append(n.at(f, patient), "--udp", n.UDP)
}

// failLogins fails to log in until the policy closes every way in, and only to that client.
func (s *frontSite) failLogins() {
	s.Helper()
	attacker, other := "203.0.113.66", "203.0.113.67"
	for i := range 20 { // those that succeed
		if r := s.visit(visit{
			method: http.MethodPost, path: "/login", client: attacker,
			header: []string{"X-Password", "right"},
		}); r.StatusCode != http.StatusOK {
			s.Fatalf("login %d that succeeds: %d", i+1, r.StatusCode)
		}
	}
	for i := range 5 {
		if r := s.visit(visit{
			method: http.MethodPost, path: "/login",
			client: attacker,
		}); r.StatusCode != http.StatusUnauthorized {
			s.Fatalf("login %d that fails: %d", i+1, r.StatusCode)
		}
	}
	for _, way := range []string{"/token", "/reset", "/login"} {
		edgetest.Await(s, "after five failures "+way+" is closed", edgetest.Patience, func() bool {
			return s.visit(visit{
				path:   way,
				client: attacker,
			}).StatusCode == http.StatusTooManyRequests
		})
	}
	if r := s.visit(visit{path: "/token", client: other}); r.StatusCode != http.StatusOK {
		s.Errorf("somebody else: %d", r.StatusCode)
	}
}

// exportTwice asks for a second export while one is under way, and again when that has ended.
func (s *frontSite) exportTwice() {
	s.Helper()
	export := visit{path: "/export/1", client: "203.0.113.9"}
	first := make(chan int)
	go func() { first <- s.visit(export).StatusCode }()
	<-s.exporting
	if r := s.visit(export); r.StatusCode != http.StatusTooManyRequests ||
		r.Header.Get("Retry-After") != "1" {
		s.Errorf("a second export: %d %v", r.StatusCode, r.Header)
	}
	s.exporting <- struct{}{}
	if status := <-first; status != http.StatusOK {
		s.Errorf("the first export: %d", status)
	}
	go func() {
		for range s.exporting { // it is at the site again: let it go
			s.exporting <- struct{}{}
		}
	}()
	defer close(s.exporting)
	edgetest.Await(s, "when it has ended another one passes", edgetest.Patience, func() bool {
		return s.visit(export).StatusCode == http.StatusOK
	})
}

// visit sends v and returns the answer.
// visited is the response to a visit, without its body.
type visited struct {
	StatusCode int
	Header     http.Header
}

func (s *frontSite) visit(v visit) visited {
	s.Helper()
	if v.method == "" {
		v.method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(
		s.Context(),
		v.method,
		"http://"+systemtest.Address(s.port)+v.path,
		nil,
	)
	if err != nil {
		s.Fatal(err)
	}
	req.Host = siteHost(v)
	req.URL.Opaque = v.path // as it is written
	req.Header.Set("X-Forwarded-For", cmp.Or(v.client, someone))
	for i := 1; i < len(v.header); i += 2 {
		req.Header.Set(v.header[i-1], v.header[i])
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(hopOf(v))}}
	client := http.Client{Transport: &http.Transport{
		DialContext:       dialer.DialContext,
		DisableKeepAlives: true,
	}, Timeout: edgetest.Patience}
	resp, err := client.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	_, _ = io.Copy(io.Discard, resp.Body)
	return visited{resp.StatusCode, resp.Header}
}

func siteHost(v visit) string {
	if v.host == "" {
		return "www.example.com"
	}
	return v.host
}

func hopOf(v visit) string {
	if v.hop == "" {
		return "127.0.0.1"
	}
	return v.hop
}

// TestPoliciesOfSite: test-request says of each visit what the proxies' tests see, of the file and
// of a daemon that has seen nothing.
func TestPoliciesOfSite(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(siteFile)
	if err != nil {
		t.Fatal(err)
	}
	n := startFrontNode(t, string(text))
	checkSite(t, "-c", siteFile)
	checkSite(t, "--admin", n.Admin)
}

// checkSite tries all visits on the policies that args name.
func checkSite(t *testing.T, where ...string) {
	t.Helper()
	for _, c := range policyCases {
		args := []string{
			"test-request",
			where[0],
			where[1],
			"http://" + siteHost(c.visit) + c.path,
			"--peer",
			hopOf(c.visit),
			"-H",
			"X-Forwarded-For: " + cmp.Or(c.client, someone),
		}
		for i := 1; i < len(c.header); i += 2 {
			if !strings.HasPrefix(c.header[i-1], "Headgate-") { // which the proxies strip
				args = append(args, "-H", c.header[i-1]+": "+c.header[i])
			}
		}
		var out bytes.Buffer
		code := systemtest.RunCommand(t.Context(), cli.Entry{Build: policies.TestRequest}, args,
			&out, &out)
		denied := !slices.Contains([]int{http.StatusOK, http.StatusTooManyRequests}, c.want)
		if code != map[bool]int{true: 1}[denied] || !strings.Contains(out.String(), c.tells) {
			t.Errorf("%s: exit %d, no %q in\n%s", c.name, code, c.tells, &out)
		}
	}
}
