package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// traces lies beside the repository where the real traces are at hand; users have only the repository.
const traces = "../../../shared/data/traces"

// traceRules are the limits real traces are judged at, in a memory that keeps the sweeps short.
const traceRules = `memory: 2MiB
rules:
  - {name: five, limit: 5, window: 1m}
  - {name: twenty, limit: 20, window: 1m}
  - {name: hundred, limit: 100, window: 1m}
  - {name: hour, limit: 1000, window: 1h}
`

// judgement is what the test reads of `headgate replay --oracle --json`.
type judgement struct {
	Requests int `json:"requests"`
	Denied   int `json:"denied"`
	Oracle   struct {
		All     enforced `json:"enforcement"`
		Settled enforced `json:"enforcement_settled"`
		Keys    struct {
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

// TestReplayOfRealTraces holds the rules to the exact log on real traffic, by client and by path.
func TestReplayOfRealTraces(t *testing.T) {
	if _, err := os.Stat(traces); err != nil {
		t.Skip("the real traces are not beside the repository")
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, []byte(traceRules), 0o600); err != nil {
		t.Fatal(err)
	}
	mayErr := map[string]float64{"five": 0.0001, "twenty": 0.0001, "hundred": 0.001, "hour": 1}
	for _, trace := range []string{"web_blog_2016", "attack_asa_webvpn_2025"} {
		for _, key := range []string{"client", "path"} {
			for rule, may := range mayErr {
				t.Run(fmt.Sprintf("%s/%s/%s", trace, key, rule), func(t *testing.T) {
					t.Parallel()
					got := replayTrace(t, "-c", file, "--rule", rule, "--key", key, filepath.Join(traces, trace+".tsv.gz"))
					checkJudgement(t, rule, may, got)
				})
			}
		}
	}
}

func replayTrace(t *testing.T, args ...string) (got judgement) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), append([]string{"replay", "--oracle", "--json"}, args...), &stdout, &stderr); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Requests < 200_000 || got.Denied == 0 && got.Oracle.Keys.FalseNegatives > 0 {
		t.Fatalf("nothing was judged: %+v", got)
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
