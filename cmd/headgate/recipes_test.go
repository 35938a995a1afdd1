package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recipeRequests are, by the heading of a recipe, requests and what test-request says of them: the
// arguments, then after => what must be in the output, several parts between semicolons.
var recipeRequests = map[string][]string{
	"By path": {
		"/login => rule login ",
		"//./login/x?y => rule login ",
		"/%6cogin => rule login ",
		"/other => rule rest ",
	},
	"By API key": {
		"/api/x -H x-api-key:k --client 203.0.113.7 => rule api  key ~",
		"/api/x --client 203.0.113.7 => rule api  key 203.0.113.7 ",
	},
	"Per tenant": {
		"/ -H x-api-key:k-1042 => rule api@gold  key ~",
		"/ -H x-api-key:k-2077 => rule api@free  key ~",
		"/ -H x-api-key:made-up --client 203.0.113.7 => rule api@free  key 203.0.113.7 ",
	},
	"Failed logins only": {
		"/token => looks only",
		"/login -X POST => the response says whether it counts",
		"/login -X POST --status 401 => the report counts",
		"/login -X POST --status 200 => counts nothing",
	},
	"Never limit the office": {
		"/ --client 192.0.2.9 => ours skips all",
		"/ --client 2001:db8:1::9 => ours skips all", "/ --client 203.0.113.7 => rule everybody ",
	},
	"Scanners and countries": {
		"/x/../.env => deny with 404", "/a/index.php => deny with 404",
		"/a/index.php/b => deny with 404", "/x/..%2F.env => deny with 404",
		"/.env/ => deny with 404", "/ -H headgate-country:NZ => deny with 451",
		"/public/x -H headgate-country:NZ => no policy asks",
	},
	"IPv6 by /64": {"/ --client 2001:db8:1:2:3::4 => rule everybody  key 2001:db8:1::/56 ; rule " +
		"networks  key 2001:db8:1::/48 ", "/ --client 203.0.113.7 => rule networks  key " +
		"203.0.113.0/24 "},
	"Behind a CDN or a load balancer": {
		"/ --peer 127.0.0.1 -H x-forwarded-for:198.51.100.1,203.0.113.7,192.0.2.3 => key " +
			"203.0.113.7 ", "/ --peer 203.0.113.9 -H x-forwarded-for:192.0.2.3 => key 203.0.113.9 ",
	},
	"Several limits at once": {
		"/api/export => rule second ; rule hour ; rule export ",
		"/api/x => rule second ; rule hour ",
	},
	"The narrowest limit alone": {"/api/export => rule export ", "/api/x => rule rest "},
	"A client with a whole network": {"/login --client 203.0.113.7 => rule login  key " +
		"203.0.113.7 ; rule login/24,56  key 203.0.113.0/24 ", "/login --client " +
		"2001:db8:1:2:3::4 => rule login  key 2001:db8:1:2::/64 ; rule login/24,56  key " +
		"2001:db8:1::/56 "},
	"A key that many clients share": {
		"/app/x -H x-api-key:k => rule app  key ~",
		"/x -H x-api-key:k => no policy asks",
	},
	"Whole visits, or none": {"/a => rule per-host  key api.example.com "},
	"Bursts":                {"/search => rule search "},
	"At most three at once": {"/export/1 -H x-api-key:k => rule exports  key ~"},
	"Heavy requests cost more": {
		"/report?days=7 => cost 7", "/report?days=400 => cost 31",
		"/report => cost 1",
	},
	"Tokens and money of an LLM": {
		"/v1/chat -H x-api-key:k => rule tokens  key ~; rule money  key ~",
		"/v1/chat -H x-api-key:k => cost 500 ; cost 0.02 ;its cost comes with the response",
	},
	"Four limiters of an API": {"/v1/charges/1 -H x-api-key:k => rule rate ; rule concurrent ; " +
		"rule fleet "},
	"Try it first": {"/ => in shadow"},
	"An expression instead of a map": {
		"/v2/a -X POST => rule writes ", "/v2/a => no policy asks",
		"/v2/a -X PUT -H x-internal:1 => no policy asks",
	},
}

// TestRecipesPage holds each recipe of the page to requests.
func TestRecipesPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/recipes.md")
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	sections := strings.Split(string(page), "\n## ")[1:]
	if len(sections) != len(recipeRequests) {
		t.Errorf("%d recipes, and requests for %d", len(sections), len(recipeRequests))
	}
	for _, section := range sections {
		name, _, _ := strings.Cut(section, "\n")
		_, block, _ := strings.Cut(section, "```yaml\n")
		block, _, found := strings.Cut(block, "```")
		file := filepath.Join(t.TempDir(), "headgate.yaml")
		if err := os.WriteFile(file, []byte(block), 0o600); err != nil || !found {
			t.Fatalf("%s: %v", name, err)
		}
		for _, line := range recipeRequests[name] {
			args, wants, _ := strings.Cut(line, " => ")
			path, rest, _ := strings.Cut(args, " ")
			url := "https://api.example.com" + path
			_, stdout, stderr := b.run(t.Context(),
				append([]string{"test-request", "-c", file, url}, strings.Fields(rest)...)...)
			for want := range strings.SplitSeq(wants, ";") {
				if !strings.Contains(stdout, want) {
					t.Errorf("%s: %s: no %q in\n%s%s", name, args, want, stdout, stderr)
				}
			}
			if rules := strings.Count(stdout, "\n  rule "); strings.HasPrefix(wants, "rule ") &&
				rules != 1+strings.Count(wants, ";") && name != "IPv6 by /64" {
				t.Errorf("%s: %s: %d rules in\n%s", name, args, rules, stdout)
			}
		}
		if len(recipeRequests[name]) == 0 {
			t.Errorf("%s: no request is tried", name)
		}
	}
}
