package replay_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/replay"
)

const kindsFile = `
memory: 8MiB
pools: [{name: workers}]
rules:
  - {name: win, limit: 2, window: 10s}
  - {name: offered, limit: 2, window: 10s, counts: offered}
  - {name: api, limit: 1, window: 1s, burst: 3}
  - {name: queue, limit: 1, window: 1s, burst: 1, delay: 3s}
  - {name: strict, limit: 2, window: 10s, counts: offered, action: block, block_for: 3s}
  - {name: soon, limit: 1, window: 1s, burst: 1, delay: 700ms}
  - {name: tank, limit: 1, window: 1s, burst: 3, action: block, block_for: 3s}
  - {name: jobs, kind: concurrency, limit: 2, lease: 30s}
  - {name: fleet, limit: 5, window: 10s, reserve: {critical: 40%}}
  - {name: partners, limit: 5, window: 1s, action: block, block_for: 1m, max_blast: 20}
  - {name: sticky, limit: 5, window: 1s, action: block, block_for: 1m, max_blast: 20, shed_by: client, epoch: 5s}
policies:
  - {name: signin, match: {path: /signin}, key: client, limit: 3, window: 10s, ladder: [{v4: 24, v6: 56, times: 2}, {v4: 16, v6: 48, times: 5}], siblings: 2}
  - {name: charges, match: {path: "/charges/**"}, tier: critical}
  - {name: all, match: {}, key: all, rules: [fleet]}
  - {name: site, match: {path: ["/a", "/b"]}, limit: 1, window: 1m}
  - {name: logins, match: {path: "/a"}, count_when: {path: "/a", status: 401}, limit: 1, window: 1m}
clients: {trusted: [127.0.0.0/8, 10.0.0.0/8]}
`

// summary is what the tests read of a replay.
type summary struct {
	Requests, Allowed, Denied int64
	DeniedBy                  struct{ Limit, Reserve, Block, Shed, Policy int64 } `json:"denied_by"`
	Policies                  []struct {
		Name            string
		Matched, Denied int64
		ShadowDenied    int64 `json:"shadow_denied"`
	}
	Rules []struct {
		Name                             string
		Limit, Offered, Denied, Siblings int64
	}
	Delayed *struct {
		Requests       int64
		Mean, P50, P99 float64
		Longest        float64
	}
	BadLines int64 `json:"bad_lines"`
	Matched  int64
	Formats  map[string]int64
	Rule     struct{ Kind string }
	Rows     []struct {
		Limit, Requests, Keys, Waits int64
		Note                         string
	}
}

// waiting returns how many requests had to wait.
func (s *summary) waiting() int64 {
	if s.Delayed == nil {
		return 0
	}
	return s.Delayed.Requests
}

// run replays log with args under kindsFile, and returns the output.
func run(t *testing.T, log string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"hg.yaml": kindsFile, "log.tsv": log} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	args = append([]string{
		"replay", "-c", filepath.Join(dir, "hg.yaml"),
		filepath.Join(dir, "log.tsv"),
	}, args...)
	code = cli.NewApp(&out, &errs).Run(t.Context(), []cli.Entry{{Build: replay.Command}}, args)
	return code, out.String(), errs.String()
}

// summarised is run, which must succeed, with its output read.
func summarised(t *testing.T, log string, args ...string) (s summary) {
	t.Helper()
	code, out, errs := run(t, log, append(args, "--json")...)
	if code != cli.ExitOK {
		t.Fatalf("%v: exit %d: %s", args, code, errs)
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return s
}

// at is a line of a log: a client's request for a path that ended then and took so many seconds.
func at(end float64, client, path string, took float64) string {
	return fmt.Sprintf("%.3f\t%s\tGET\t%s\t200\t%.3f\n", 1_700_000_000+end, client, path, took)
}

// TestReplayOfAQueue: requests that have to wait are allowed, and the summary says for how long.
func TestReplayOfAQueue(t *testing.T) {
	log := strings.Repeat(at(0, "a", "/", 0), 6) + at(10, "a", "/", 0)
	s := summarised(t, log, "--rule", "queue")
	if d := s.Delayed; s.Allowed != 5 || s.Denied != 2 || s.Rule.Kind != "bucket" || d == nil ||
		d.Requests != 3 || d.Mean != 2 || d.P50 > 2 || d.Longest != 3 {
		t.Errorf("%+v, %+v", s, s.Delayed)
	}
	if s := summarised(t, log, "--rule", "queue", "--delay", "1s"); s.Allowed != 3 ||
		s.Delayed.Longest != 1 {
		t.Errorf("1s: %+v, %+v", s, s.Delayed)
	}
	_, out, _ := run(t, log, "--rule", "queue")
	for _, want := range []string{"per 1s, 1 at once, waits up to 3s, shed", "42.9 % of all; " +
		"waits of 2s on average,", "3s longest"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// TestReplayOfAWindowAsABucket: --burst turns a window into a bucket of that refill.
func TestReplayOfAWindowAsABucket(t *testing.T) {
	log := strings.Repeat(at(0, "a", "/", 0), 5) + at(5, "a", "/", 0) + at(5, "a", "/", 0)
	if s := summarised(t, log, "--rule", "win", "--burst", "3"); s.Rule.Kind != "bucket" ||
		s.Denied != 3 {
		t.Errorf("%+v", s)
	}
}

// TestReplayOfPlaces: a log has a line at the end of each request; places are taken at the start.
func TestReplayOfPlaces(t *testing.T) {
	log := at(2, "a", "/", 1) + // 1 to 2
		at(5, "a", "/", 5) + // 0 to 5
		at(6, "a", "/", 4.5) + // 1.5 to 6: denied, 0 to 5 and 1 to 2 are under way
		at(7, "a", "/", 5) + // 2 to 7: at the moment at which one ends
		at(7, "b", "/", 7) +
		at(8, "a", "/", 0) + // 8 to 8
		at(100, "a", "/", 60) + // 40 to 70 by its lease
		at(101, "a", "/", 31) + // 70 to 100, as it ends
		at(101, "a", "/", 30) // 71 to 101
	s := summarised(t, log, "--rule", "jobs")
	if s.Requests != 9 || s.Denied != 1 || s.DeniedBy.Limit != 1 || s.Rule.Kind != "concurrency" {
		t.Errorf("%+v", s)
	}
	if code, _, errs := run(t, "1700000000\ta\tGET\t/\t200\n", "--rule",
		"jobs"); code == cli.ExitOK ||
		!strings.Contains(errs, "no duration, which a concurrency limit needs") {
		t.Errorf("a log without durations: %d, %s", code, errs)
	}
}

// randomLog is a log of n requests of few clients, some of them long.
func randomLog(seed uint64, n int) string {
	chance, now, log := rand.New(rand.NewPCG(seed, 16)), 0.0, strings.Builder{}
	for range n {
		if chance.IntN(3) == 0 {
			now += float64(chance.IntN(2500)) / 1000
		}
		log.WriteString(at(now, fmt.Sprint("c", chance.IntN(4)), "/", float64(chance.IntN(40))/4))
	}
	return log.String()
}

// TestSuggestIsReplay: what --suggest says of a burst, or of a number of places, is what a replay
// with it denies.
func TestSuggestIsReplay(t *testing.T) {
	log := randomLog(1, 300)
	for rule, flag := range map[string]string{
		"api": "--burst", "jobs": "--limit", "win": "--limit",
		"offered": "--limit", "soon": "--burst", "strict": "--limit", "tank": "--burst",
	} {
		rows := summarised(t, log, "--rule", rule, "--suggest").Rows
		compared := 0
		for _, row := range rows {
			if row.Limit > 3 && rule == "api" || row.Limit > 6 {
				continue // larger buckets begin to count exactly a little late
			}
			if s := summarised(t, log, "--rule", rule, flag,
				fmt.Sprint(row.Limit)); s.Denied != row.Requests || s.waiting() != row.Waits {
				t.Errorf("%s %s %d: suggest says %d denied, %d waiting, replay %d, %d", rule, flag,
					row.Limit, row.Requests, row.Waits, s.Denied, s.waiting())
			}
			compared++
		}
		if compared < 3 || rows[0].Requests == 0 || rows[len(rows)-1].Requests != 0 {
			t.Errorf("%s: %d rows of %+v", rule, compared, rows)
		}
	}
	for rule, want := range map[string]string{"api": "BURST", "jobs": "PLACES", "win": "LIMIT"} {
		if _, out, _ := run(t, log, "--rule", rule,
			"--suggest"); !strings.Contains(out, want+"  DENIED") {
			t.Errorf("%s: no column %s in\n%s", rule, want, out)
		}
	}
}

// TestReplayOfAReserve: requests have the tiers that the policies of the file give them.
func TestReplayOfAReserve(t *testing.T) {
	log := strings.Repeat(at(0, "a", "/", 0), 5) + strings.Repeat(at(1, "a", "/charges/1", 0), 3)
	s := summarised(t, log, "--rule", "fleet")
	if s.Allowed != 5 || s.DeniedBy.Reserve != 2 || s.DeniedBy.Limit != 1 {
		t.Errorf("%+v", s)
	}
}

// TestReplayOfKindsRefuses: what cannot be tried is said in one line.
func TestReplayOfKindsRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"--rule " +
			"workers": `--rule: "workers" is a pool: what it denies follows from the load that is reported, which no access log has`,
		"--rule api --oracle":        "api: --oracle is for windows without a reserve",
		"--rule fleet --oracle":      "fleet: --oracle is for windows without a reserve",
		"--rule offered --oracle":    "offered: --oracle is for windows",
		"--rule win --delay 1s":      "win is a window; say --burst too",
		"--rule jobs --burst 2":      "and the rule is of kind concurrency",
		"--rule jobs --oracle":       "jobs: --oracle is for windows",
		"--rule api --burst -1":      "not within 1..",
		"--rule api --delay 2m":      "not within 0s..1m0s",
		"--rule win --burst 1000000": "is full after more than 24h",
	} {
		code, out, errs := run(t, at(0, "a", "/", 0), strings.Fields(args)...)
		if code != cli.ExitFailed || out != "" || !strings.Contains(errs, want) ||
			strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit %d, %q, %q; want %q", args, code, out, errs, want)
		}
	}
}
