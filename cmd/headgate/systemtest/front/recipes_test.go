//go:build !race

package front

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/api"
)

// recipePages hold the recipes. A fence of them names, after its language, the recipe and the place
// of its lines: a snippet that a diff changes, or the block of nginx that lines are added to.
var recipePages = []string{"../../../../docs/proxies-rule.md", "../../../../docs/proxies.md"}

// pageNetwork is the network in the recipes. Nothing on this machine belongs to it.
const pageNetwork = "192.0.2.0/24"

// recipe is a fenced block of the page.
type recipe struct{ lang, name, place, text string }

// readRecipes returns the blocks of the pages that belong to a recipe.
func readRecipes(t *testing.T) (all []recipe) {
	t.Helper()
	for _, path := range recipePages {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range strings.Split("\n"+string(page), "\n```") {
			info, text, _ := strings.Cut(part, "\n")
			if words := strings.Fields(info); i%2 == 1 && len(words) == 3 {
				all = append(all, recipe{words[0], words[1], words[2], text + "\n"})
			}
		}
	}
	return all
}

// edits turns the recipe called name into edits of the snippet of f, which asks at an address. network takes the place of
// the network on the page.
func (f front) edits(t *testing.T, name, at, network string) (edits []edit) {
	t.Helper()
	fill := strings.NewReplacer("127.0.0.1:4291", at, pageNetwork, network)
	for _, r := range readRecipes(t) {
		text := fill.Replace(r.text)
		switch {
		case r.name != name:
		case r.lang == "diff" && r.place == f.snippet:
			for hunk := range strings.SplitSeq(text, "@@\n") {
				edits = append(edits, diffEdit(hunk))
			}
		case r.place == "http" && f.snippet == "nginx":
			edits = append(edits, before("upstream headgate {", text))
		case r.place == "server" && f.snippet == "nginx":
			edits = append(edits, before("# ask\n", text))
		case r.place == "server" && f.snippet == "nginx-lua":
			const set = "uninitialized_variable_warn off;\n" // which this snippet sets by itself
			edits = append(edits,
				before("lua_socket_log_errors off;", strings.ReplaceAll(text, set, "")))
		}
	}
	if len(edits) == 0 {
		t.Fatalf("no recipe %q for %s", name, f.snippet)
	}
	return edits
}

// before is an edit that puts text before the place of a snippet.
func before(place, text string) edit { return edit{place, text + place} }

// diffEdit turns a hunk of a diff, without line numbers, into an edit.
func diffEdit(diff string) (e edit) {
	for line := range strings.Lines(diff) {
		if line[0] != '+' {
			e.from += line[1:]
		}
		if line[0] != '-' {
			e.to += line[1:]
		}
	}
	return e
}

// recipeRules are the rules that the recipes name: small, in windows that no test outlives.
const recipeRules = `rules:
  - {name: per-ip, limit: 5, window: 1h}
  - {name: login, limit: 2, window: 1h}
  - {name: per-hour, limit: 3, window: 24h}
`

// eachRecipe runs a test for each of the proxies, with the recipe called name.
func eachRecipe(
	t *testing.T, name, network string, snippets []string,
	test func(t *testing.T, n *frontNode, s *frontSite),
) {
	for _, f := range fronts {
		if f.whole || !slices.Contains(snippets, f.snippet) {
			continue
		}
		run := f.snippet
		if network == pageNetwork {
			run += "-elsewhere" // #01 would be no name for a directory of a snippet
		}
		t.Run(run, func(t *testing.T) {
			n := startFrontNode(t, recipeRules)
			args := n.at(f, patient)
			test(t, n, f.before(t, f.edits(t, name, args[1], network), args...))
		})
	}
}

// statuses asks for a page count times and returns how often each status came.
func (s *frontSite) statuses(count int, path string, header ...string) map[int]int {
	s.Helper()
	all := map[int]int{}
	for range count {
		all[s.get(path, header...).StatusCode]++
	}
	return all
}

// expect asks for a page until past the limit, which lets so many pass.
func (s *frontSite) expect(pass int, path string, header ...string) {
	s.Helper()
	got := s.statuses(pass+2, path, header...)
	if got[http.StatusOK] != pass || got[http.StatusTooManyRequests] != 2 {
		s.Errorf("%s %v: %v, want %d to pass and 2 to be denied", path, header, got, pass)
	}
}

// TestRecipePath: no spelling of the path gets round its rule.
func TestRecipePath(t *testing.T) {
	all := []string{"nginx", "nginx-lua", "haproxy", "caddy"}
	eachRecipe(t, "path", "", all, func(t *testing.T, n *frontNode, s *frontSite) {
		s.expect(2, "/login")
		for _, path := range []string{
			"//login", "/./login", "/x/../login", "/%6cogin",
			"/login/?a=b",
		} {
			if status := s.raw("GET " + path +
				" HTTP/1.1\r\nHost: HOST\r\n"); status != http.StatusTooManyRequests {
				t.Errorf("%s: %d", path, status)
			}
		}
		s.expect(frontLimit, "/")
	})
}

// TestRecipeKey: each key has a limit of its own.
func TestRecipeKey(t *testing.T) {
	all := []string{"nginx", "nginx-lua", "haproxy", "caddy"}
	eachRecipe(t, "apikey", "", all, func(t *testing.T, n *frontNode, s *frontSite) {
		s.expect(frontLimit, "/", "X-Api-Key", "one")
		s.expect(frontLimit, "/", "X-Api-Key", "two")
		if got := s.statuses(frontLimit+2, "/", "X-Api-Key",
			"x&cost=0&rule=none"); got[http.StatusOK] > frontLimit {
			t.Errorf("an odd key: %v", got)
		}
	})
}

// TestRecipeOffice: a network is never limited, and others are.
func TestRecipeOffice(t *testing.T) {
	all := []string{"nginx", "haproxy", "caddy"}
	eachRecipe(t, "office", "127.0.0.0/8", all, func(t *testing.T, n *frontNode, s *frontSite) {
		if got := s.statuses(2*frontLimit, "/"); got[http.StatusOK] != 2*frontLimit {
			t.Errorf("the office: %v", got)
		}
	})
	eachRecipe(t, "office", pageNetwork, all, func(t *testing.T, n *frontNode, s *frontSite) {
		s.expect(frontLimit, "/")
	})
}

// TestRecipeHop: the client's address is the one that a trusted hop saw, and whatever else the header holds is not believed.
func TestRecipeHop(t *testing.T) {
	all := []string{"nginx", "nginx-lua", "haproxy"}
	eachRecipe(t, "hop", "127.0.0.0/8", all, func(t *testing.T, n *frontNode, s *frontSite) {
		s.expect(frontLimit, "/", "X-Forwarded-For", "198.51.100.1")
		s.expect(frontLimit, "/", "X-Forwarded-For", "198.51.100.2")
		for i := range frontLimit {
			if r := s.get("/", "X-Forwarded-For",
				fmt.Sprintf("203.0.113.%d, 198.51.100.1",
					i)); r.StatusCode != http.StatusTooManyRequests {
				t.Errorf("with an address of its own making: %d", r.StatusCode)
			}
		}
	})
	eachRecipe(t, "hop", pageNetwork, all, func(t *testing.T, n *frontNode, s *frontSite) {
		for i := range frontLimit {
			s.get("/", "X-Forwarded-For", fmt.Sprintf("203.0.113.%d", i))
		}
		s.statuses(1, "/")
		if got := n.offered("127.0.0.1"); got != frontLimit+1 {
			t.Errorf("of a hop that is not trusted %d were counted", got)
		}
	})
}

// TestRecipeNet64: addresses of one /64 are one client, however they are written.
func TestRecipeNet64(t *testing.T) {
	for _, snippet := range []string{"nginx", "nginx-lua", "haproxy"} {
		t.Run(snippet, func(t *testing.T) { netKeys(t, snippet) })
	}
	eachRecipe(t, "net64", "", []string{"caddy"}, func(t *testing.T, n *frontNode, s *frontSite) {
		s.expect(frontLimit, "/") // an IPv4 client is counted by its address
	})
}

// netKeys has the proxy see many random addresses and compares what is counted with the networks that they belong to.
func netKeys(t *testing.T, snippet string) {
	f := fronts[slices.IndexFunc(fronts, func(f front) bool {
		return f.snippet == snippet &&
			!f.whole
	})]
	n := startFrontNode(t, recipeRules)
	args := n.at(f, patient)
	edits := slices.Concat(f.edits(t, "net64", args[1], ""),
		f.edits(t, "hop", args[1], "127.0.0.0/8"))
	if snippet == "haproxy" { // both recipes change one line
		edits = []edit{{edits[1].from, strings.ReplaceAll(edits[1].to, edits[0].from, edits[0].to)}}
	}
	s := f.before(t, edits, args...)
	want := map[netip.Prefix]int64{}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		addr := randomAddress(rnd)
		s.get("/", "X-Forwarded-For", addr.String())
		bits := 64
		if addr.Is4() {
			bits = 32
		}
		want[netip.PrefixFrom(addr, bits).Masked()]++
	}
	top := systemtest.Page[api.TopsView](n.Node, "/v1/top?n=1000").Top
	var counts, wanted []int64
	for _, k := range top {
		counts = append(counts, int64(k.Offered))
	}
	for _, count := range want {
		wanted = append(wanted, count)
	}
	slices.Sort(counts)
	slices.Sort(wanted)
	if !slices.Equal(counts, wanted) {
		t.Errorf("%d keys are counted, want %d networks: %v, want %v: %v", len(counts), len(wanted),
			counts, wanted, top)
	}
}

// randomAddress returns an address of few networks, with many zeros, so that all its short spellings occur.
func randomAddress(rnd *rand.Rand) netip.Addr {
	if rnd.IntN(10) == 0 {
		return netip.AddrFrom4([4]byte{198, 51, 100, byte(rnd.IntN(2))})
	}
	raw := [16]byte{0x20, 0x01}
	for group := 1; group < 8; group++ {
		raw[2*group], raw[2*group+1] = byte(rnd.IntN(2)*rnd.IntN(2)), byte(rnd.IntN(2)*rnd.IntN(3))
	}
	return netip.AddrFrom16(raw)
}

// TestRecipeTwice: the stricter of two rules decides.
func TestRecipeTwice(t *testing.T) {
	eachRecipe(t, "twice", "", []string{"haproxy"}, func(t *testing.T, n *frontNode, s *frontSite) {
		s.expect(3, "/")
	})
}

// TestRecipeFailed: logins that succeed are free, and those that fail are limited.
func TestRecipeFailed(t *testing.T) {
	eachRecipe(t, "failed", "", []string{"haproxy"}, func(t *testing.T, n *frontNode,
		s *frontSite,
	) {
		if got := s.statuses(2*frontLimit, "/login"); got[http.StatusOK] != 2*frontLimit {
			t.Errorf("logins that succeed: %v", got)
		}
		got := s.statuses(2*frontLimit, "/login/fails")
		if got[http.StatusUnauthorized] != 2 || got[http.StatusTooManyRequests] != 2*frontLimit-2 {
			t.Errorf("logins that fail: %v", got)
		}
	})
}
