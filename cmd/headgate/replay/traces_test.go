package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
)

// traces holds excerpts of two real logs; testdata/traces/README.md says whence they come.
const traces = "testdata/traces"

// traceRules are the limits real traces are judged at, in a memory that keeps the sweeps short. The
// limit of an hour is to be one that some client in the log exceeds.
const traceRules = `memory: 2MiB
rules:
  - {name: five, limit: 5, window: 1m}
  - {name: twenty, limit: 20, window: 1m}
  - {name: hundred, limit: 100, window: 1m}
  - {name: hour, limit: %d, window: 1h}
`

// judgement is the part of `headgate replay --oracle --json` that the test reads.
type judgement struct {
	Requests int `json:"requests"`
	Denied   int `json:"denied"`
	Oracle   struct {
		All     enforced `json:"enforcement"`
		Settled enforced `json:"enforcement_settled"`
		Keys    struct {
			Over           int     `json:"over"`
			FalsePositives int     `json:"false_positives"`
			FalseNegatives int     `json:"false_negatives"`
			WorstMissed    float64 `json:"worst_missed"`
		} `json:"keys"`
	} `json:"oracle"`
}

type enforced struct {
	Judged     int `json:"judged"`
	WrongDeny  int `json:"wrong_deny"`
	WrongAllow int `json:"wrong_allow"`
	Outside    int `json:"outside"` // refused below 0.98 of the limit or let through above 1.02
}

// TestReplayOfRealTraces holds the rules to the exact log on excerpts of real traffic, by client
// and by path; TestReplaySoakTraces does so on whole logs.
func TestReplayOfRealTraces(t *testing.T) {
	checkTraces(t, traces, 100, map[string]int{
		"web_blog_2016":          16_000,
		"web_longtail_2005_2018": 12_000,
	})
}

// checkTraces judges the logs in dir, each of that many requests, at every rule of traceRules.
func checkTraces(t *testing.T, dir string, hour int, requests map[string]int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, traceRules, hour), 0o600); err != nil {
		t.Fatal(err)
	}
	mayErr := map[string]float64{"five": 0.0001, "twenty": 0.0001, "hundred": 0.001, "hour": 1}
	for trace, want := range requests {
		for _, key := range []string{"client", "path"} {
			for rule, may := range mayErr {
				t.Run(fmt.Sprintf("%s/%s/%s", trace, key, rule), func(t *testing.T) {
					t.Parallel()
					got := replayTrace(t, "-c", file, "--rule", rule, "--key", key,
						filepath.Join(dir, trace+".tsv.gz"))
					if got.Requests != want || got.Denied == 0 && got.Oracle.Keys.Over > 0 {
						t.Fatalf("%d requests, want %d; %d denied of %d keys over the limit",
							got.Requests, want, got.Denied, got.Oracle.Keys.Over)
					}
					checkJudgement(t, rule, may, got)
				})
			}
		}
	}
}

func replayTrace(t *testing.T, args ...string) (got judgement) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	app := cli.NewApp(&stdout, &stderr)
	if code := app.Run(t.Context(), []cli.Entry{{Build: Command}},
		append([]string{"replay", "--oracle", "--json"}, args...)); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func checkJudgement(t *testing.T, rule string, may float64, got judgement) {
	t.Helper()
	all, settled, keys := got.Oracle.All, got.Oracle.Settled, got.Oracle.Keys
	if wrong := float64(all.WrongDeny+all.WrongAllow) / float64(all.Judged); wrong > may {
		t.Errorf("%.5f %% of the decisions are wrong: %+v", 100*wrong, all)
	}
	if rule != "hour" && settled.WrongDeny+settled.WrongAllow > 0 || settled.Outside > 0 {
		t.Errorf("after a key's first window as a suspect: %+v", settled)
	}
	if keys.FalsePositives > 0 || keys.WorstMissed > 1.07 {
		t.Errorf("%+v", keys)
	}
	if (rule == "five" || rule == "twenty") && keys.FalseNegatives > 0 {
		t.Errorf("at a small limit nobody may be missed: %+v", keys)
	}
}
