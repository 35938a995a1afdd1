//go:build !race

package front

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/api"
)

// policyRecipe returns the block of docs/recipes.md under a heading.
func policyRecipe(t *testing.T, heading string) string {
	t.Helper()
	page, err := os.ReadFile("../../../../docs/recipes.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## "+heading+"\n")
	_, block, _ := strings.Cut(section, "```yaml\n")
	block, _, found := strings.Cut(block, "```")
	if !found {
		t.Fatalf("no recipe %q", heading)
	}
	return block
}

// eachPolicyRecipe runs a test of a recipe of docs/recipes.md through each proxy that policies
// decide for.
func eachPolicyRecipe(
	t *testing.T, heading string, test func(t *testing.T, n *frontNode, s *frontSite),
) {
	text := policyRecipe(t, heading) + "clients: {from: x-forwarded-for, trusted: " +
		"[127.0.0.1/32], ipv6: 64}\n"
	for _, f := range fronts {
		if f.whole {
			t.Run(f.name, func(t *testing.T) {
				n := startFrontNode(t, text)
				test(t, n, f.beforeSite(t, n))
			})
		}
	}
}

// TestRecipeNetwork: a network gets four times the limit of one client, its neighbour is not denied
// with it, and one loud client leaves it alone.
func TestRecipeNetwork(t *testing.T) {
	eachPolicyRecipe(t, "A client with a whole network",
		func(t *testing.T, _ *frontNode, s *frontSite) {
			passes := func(client string, requests int) (passed int) {
				for range requests {
					switch status := s.visit(
						visit{path: "/login", client: client}).StatusCode; status {
					case http.StatusOK:
						passed++
					case http.StatusTooManyRequests:
					default:
						t.Fatalf("%s: %d", client, status)
					}
				}
				return passed
			}
			if passed := passes("203.0.113.1", 30); passed != 5 {
				t.Errorf("%d of one client passed, want 5", passed)
			}
			for _, client := range []string{"203.0.113.2", "203.0.113.3", "203.0.113.4"} {
				if passed := passes(client, 5); passed != 5 {
					t.Errorf("%d of %s passed, want 5", passed, client)
				}
			}
			if passed := passes("203.0.113.5", 5); passed != 0 {
				t.Errorf("%d of the network's fifth client passed", passed)
			}
			for _, client := range []string{"203.0.112.9", "2001:db8:1:2::3"} {
				if passed := passes(client, 6); passed != 5 {
					t.Errorf("%d of its neighbour %s passed, want 5", passed, client)
				}
			}
		})
}

// TestRecipeSharedKey: a key whose block would deny more than 50 clients is not blocked but shed,
// and another key is neither.
func TestRecipeSharedKey(t *testing.T) {
	eachPolicyRecipe(t, "A key that many clients share",
		func(t *testing.T, n *frontNode, s *frontSite) {
			ask := func(key string, client int) visited {
				return s.visit(visit{
					path: "/app/x", client: fmt.Sprintf("203.0.113.%d", client),
					header: []string{"X-Api-Key", key},
				})
			}
			passed := 0
			for client := range 250 {
				if ask("shared", client).StatusCode == http.StatusOK {
					passed++
				}
			}
			if passed < 100 || passed > 110 {
				t.Errorf("%d passed, want 100 a minute", passed)
			}
			for range 110 {
				ask("alone", 1)
			}
			all := systemtest.Page[api.MitigationsView](n.Node, "/v1/mitigations").Mitigations
			if len(all) != 2 {
				t.Fatalf("%+v", all)
			}
			shed, blocked := all[0], all[1]
			if shed.Action == "block" {
				shed, blocked = blocked, shed
			}
			if shed.Action != "shed" || shed.Blast <= 50 || shed.Blast > 300 ||
				blocked.Action != "block" || blocked.Blast != 0 {
				t.Errorf("%+v", all)
			}
			if r := ask("alone", 1); r.StatusCode != http.StatusTooManyRequests {
				t.Errorf("a blocked key: %d", r.StatusCode)
			}
		})
}
