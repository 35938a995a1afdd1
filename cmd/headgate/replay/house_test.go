package replay_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
)

// decided replays log with args and returns the verdicts and grounds, in the order of the log.
func decided(t *testing.T, log string, args ...string) (all []string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.tsv")
	if code, _, errs := run(t, log, append(args, "--decisions", out)...); code != cli.ExitOK {
		t.Fatalf("%v: exit %d: %s", args, code, errs)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		all = append(all, strings.TrimSpace(fields[2]+" "+fields[3]))
	}
	return all
}

// networks is a ladder by its definition: exact windows of each client and of its networks, asked
// in one step, and a network that denies only if enough narrower keys asked in its window.
type networks struct {
	over     float64
	siblings int
	limits   [3]int
	admitted map[string][]float64
	asked    map[string]map[string]float64 // by network: when each narrower key asked last
}

func (n *networks) take(at float64, client string) bool {
	parts := strings.Split(client, ".")
	keys := []string{client, strings.Join(parts[:3], "."), strings.Join(parts[:2], ".")}
	pass := true
	for level, key := range keys {
		if level > 0 && n.seen(at, key, keys[max(0, level-1)]) < n.siblings {
			continue
		}
		in := 0
		for _, a := range n.admitted[key] {
			if a > at-n.over {
				in++
			}
		}
		pass = pass && in+1 <= n.limits[level]
	}
	if pass {
		for _, key := range keys {
			n.admitted[key] = append(n.admitted[key], at)
		}
	}
	return pass
}

// seen notes that narrower asked under key, and returns how many keys did in the window.
func (n *networks) seen(at float64, key, narrower string) (seen int) {
	if n.asked[key] == nil {
		n.asked[key] = map[string]float64{}
	}
	n.asked[key][narrower] = at
	for _, last := range n.asked[key] {
		if at-last < n.over {
			seen++
		}
	}
	return seen
}

// TestReplayOfALadder: each decision of a replay is that of the definition, by the name of the rule
// and of its networks.
func TestReplayOfALadder(t *testing.T) {
	denials := 0
	for seed := range uint64(4) {
		chance, log, want := rand.New(rand.NewPCG(seed, 16)), strings.Builder{}, []string(nil)
		n := networks{
			10, 2,
			[3]int{3, 6, 15},
			map[string][]float64{},
			map[string]map[string]float64{},
		}
		for ms := 0; len(want) < 400; ms += chance.IntN(700) {
			client := fmt.Sprintf("203.0.%d.%d", chance.IntN(3), chance.IntN(4)*chance.IntN(2))
			log.WriteString(at(float64(ms)/1000, client, "/signin", 0))
			verdict := "allow"
			if !n.take(float64(ms)/1000, client) {
				verdict = "deny limit"
				denials++
			}
			want = append(want, verdict)
		}
		for _, name := range []string{"signin", "signin/24,56"} {
			if got := decided(t, log.String(), "--rule", name); !slices.Equal(got, want) {
				for i := range want {
					if got[i] != want[i] {
						t.Fatalf("seed %d, %s: request %d is %q, want %q", seed,
							name, i, got[i], want[i])
					}
				}
			}
		}
		if s := summarised(t, log.String(), "--rule", "signin"); len(s.Rules) != 3 ||
			s.Rules[1].Name != "signin/24,56" || s.Rules[1].Limit != 6 ||
			s.Rules[1].Offered != 400 || s.Rules[1].Denied == 0 || s.Rules[2].Siblings != 2 {
			t.Errorf("%+v", s.Rules)
		}
	}
	if denials < 200 {
		t.Errorf("%d denials", denials)
	}
	log := strings.Repeat(at(0, "203.0.113.7", "/", 0), 9)
	if s := summarised(t, log, "--rule", "signin", "--limit", "7",
		"--every-request"); s.Denied != 2 {
		t.Errorf("another limit: %+v", s)
	}
}

// TestReplayOfMaxBlast: a block of a path that one client asks for stays one, and that of a path
// with many clients sheds.
func TestReplayOfMaxBlast(t *testing.T) {
	one, many := strings.Builder{}, strings.Builder{}
	for n := range 600 {
		one.WriteString(at(float64(n)/100, "203.0.113.7", "/v1", 0))
		many.WriteString(at(float64(n)/100, fmt.Sprintf("203.0.113.%d", n%60), "/v1", 0))
	}
	if s := summarised(t, one.String(), "--rule", "partners", "--key", "path"); s.Denied != 595 ||
		s.DeniedBy.Block != 594 || s.DeniedBy.Shed != 0 {
		t.Errorf("one client: %+v", s)
	}
	s := summarised(t, many.String(), "--rule", "partners", "--key", "path")
	if s.DeniedBy.Shed < 400 || s.DeniedBy.Block > 100 || s.Allowed < 20 || s.Allowed > 40 {
		t.Errorf("many clients: %+v", s)
	}
	if s := summarised(t, many.String(), "--rule", "partners"); s.Denied != 0 || s.Allowed != 600 {
		t.Errorf("by client: %+v", s)
	}
	// with shed_by whole clients are denied for an epoch, where a draw for each request spoils all
	// of them
	whole := func(rule string) (denied int) {
		by := map[string][2]int{}
		for i, verdict := range decided(t, many.String(), "--rule", rule, "--key", "path") {
			k := fmt.Sprint(i%60, i/500) // an epoch of 5 s
			was := by[k]
			if verdict == "deny shed" {
				was[0]++
			}
			was[1]++
			by[k] = was
		}
		for _, n := range by {
			if n[0] == n[1] {
				denied++
			}
		}
		return denied
	}
	if each, client := whole("partners"), whole("sticky"); client < 10 || each == 0 {
		t.Errorf("wholly denied in an epoch: %d by request, %d by client", each, client)
	}
}

// TestReplayOfPolicies: all policies decide, by path, client, status and the time that responses
// take.
func TestReplayOfPolicies(t *testing.T) {
	log := strings.Repeat(at(0, "198.51.100.1", "/health", 0), 9) + // skipped
		strings.Repeat(at(1, "203.0.113.7", "/admin", 0), 2) + // denied by a policy
		// the fourth is denied: 3 failed
		strings.Repeat(strings.ReplaceAll(at(2, "203.0.113.8", "/login", 0), "\t200\t", "\t401\t"),
			4) +
		strings.Repeat(at(3, "203.0.113.9", "/login", 0), 9) + // none failed
		// 4 to 14, 6.5 to 14.5: denied
		at(14, "203.0.113.9", "/export", 10) + at(14.5, "203.0.113.9", "/export", 8) +
		at(15, "203.0.113.9", "/export", 1) + // 14 to 15
		// a policy in shadow
		at(16, "203.0.113.9", "/quiet", 0) + at(16, "203.0.113.9", "/quiet", 0)
	s := summarised(t, log, "--policies", "-c", policiesFile(t))
	if s.Requests != 29 || s.Denied != 4 || s.DeniedBy.Policy != 2 || s.DeniedBy.Limit != 2 {
		t.Errorf("%+v", s)
	}
	var got []string
	for _, p := range s.Policies {
		got = append(got, fmt.Sprint(p.Name, " ", p.Matched, " ", p.Denied, " ", p.ShadowDenied))
	}
	if want := "health 9 0 0, admin 2 2 0, failed 13 1 0, export 3 1 0, quiet 2 0 " +
		"1"; strings.Join(got, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(got, ", "), want)
	}
	_, out, _ := run(t, log, "--policies", "-c", policiesFile(t))
	for _, want := range []string{"5  all of the configuration, by method, path, client and " +
		"status", ", limit 2, policy 2", "POLICY  MATCHED  DENIED  IN SHADOW", "failed       13  " +
		"     1          0"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if all := decided(t, log, "--policies", "-c", policiesFile(t)); all[9] != "deny policy" ||
		all[0] != "allow" {
		t.Errorf("%q", all)
	}
}

// policiesFile writes a file of policies and returns its name.
func policiesFile(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "policies.yaml")
	const text = `
memory: 8MiB
policies:
  - {name: health, match: {path: /health}, skip: all}
  - {name: admin, match: {path: /admin, method: GET}, deny: 403}
  - {name: failed, match: {path: /login}, count_when: {status: 401}, key: client, limit: 3, window: 1m, scope: global}
  - {name: export, match: {path: /export}, key: client, kind: concurrency, limit: 1, lease: 1m}
  - {name: quiet, match: {path: /quiet}, key: client, limit: 1, window: 1m, mode: shadow}
`
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestReplayOfWholeRequestsRefuses: what cannot be replayed is said in one line.
func TestReplayOfWholeRequestsRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"--rule signin --key " +
			"path": `--key: "signin" counts networks of clients, so it is replayed by client`,
		"--rule signin --oracle": "signin: --oracle is for rules without a ladder of " +
			"networks",
		"--rule " +
			"sticky": `--key: "sticky" has shed_by client, so a key of it would be denied as a whole: replay it with --key path`,
		"--rule partners --oracle": "partners: --oracle is for windows without a reserve or " +
			"max_blast",
		"--policies --rule signin":     "[policies rule] were all set",
		"--policies --suggest":         "[policies suggest] were all set",
		"--policies -c /does/not/be":   "/does/not/be",
		"--rule signin/8,8":            "there is no rule",
		"--policies --window 3s":       "[policies window] were all set",
		"--policies --decisions /no/d": "write decisions",
	} {
		code, out, errs := run(t, at(0, "a", "/", 0), strings.Fields(args)...)
		if code == cli.ExitOK || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d, %q, %q; want %q", args, code, out, errs, want)
		}
	}
}
