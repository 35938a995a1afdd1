//go:build !race

package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/accesslog"
	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// suggestTrace is the log that limits are suggested for.
const suggestTrace = traces + "/web_blog_2016.tsv.gz"

// hit is a request of the trace.
type hit struct {
	at     window.Instant
	client string
}

// readTrace returns all requests of the trace at path, in its order, which is that of time.
func readTrace(t *testing.T, path string) (all []hit) {
	t.Helper()
	file, err := os.Open(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read from
	in, err := accesslog.NewReader(file, "trace", accesslog.TSV, &accesslog.Faults{})
	if err != nil {
		t.Fatal(err)
	}
	var rec accesslog.Record
	for {
		switch err := in.Read(&rec); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		}
		all = append(all, hit{window.Instant(rec.Time), string(rec.Client)})
	}
}

// truth counts the denials of one limit, by the definition alone: a list of admissions for each
// client.
func truth(all []hit, limit int, over, block time.Duration) (requests, clients int64) {
	type state struct {
		admitted []window.Instant
		until    window.Instant
		refused  bool
	}
	states := map[string]*state{}
	for _, r := range all {
		s := states[r.client]
		if s == nil {
			s = &state{}
			states[r.client] = s
		}
		for len(s.admitted) > 0 && s.admitted[0] <= r.at.Add(-over) {
			s.admitted = s.admitted[1:]
		}
		if r.at >= s.until && len(s.admitted)+1 <= limit {
			s.admitted = append(s.admitted, r.at)
			continue
		}
		if r.at >= s.until && block > 0 {
			s.until = r.at.Add(block)
		}
		requests++
		if !s.refused {
			s.refused = true
			clients++
		}
	}
	return requests, clients
}

const suggestRules = `memory: 2MiB
rules:
  - {name: shed, limit: 20, window: 1m, mode: shadow}
  - {name: block, limit: 20, window: 1m, action: block, block_for: 10m}
`

// TestReplaySuggestsExactly holds the table to the definition, limit by limit, on real traffic;
// TestReplaySuggestSoakTrace does so on a whole log.
func TestReplaySuggestsExactly(t *testing.T) {
	t.Parallel()
	checkSuggestions(t, suggestTrace)
}

// checkSuggestions holds the tables for the log at path to the definition.
func checkSuggestions(t *testing.T, path string) {
	t.Helper()
	all := readTrace(t, path)
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, []byte(suggestRules), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]time.Duration{"shed": 0, "block": 10 * time.Minute} {
		var stdout, stderr bytes.Buffer
		app := cli.NewApp(&stdout, &stderr)
		if code := app.Run(t.Context(), []cli.Entry{{Build: Command}},
			[]string{
				"replay", "--suggest", "--json", "-c", file, "--rule", name,
				path,
			}); code != 0 {
			t.Fatalf("exit %d: %s", code, stderr.String())
		}
		var got trialSummary
		if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got.Requests != int64(len(all)) || len(got.Rows) < 10 ||
			got.Rows[len(got.Rows)-1].Requests != 0 {
			t.Errorf("%s: %+v", name, got)
		}
		for _, row := range got.Rows {
			requests, clients := truth(all, int(row.Limit), time.Minute, block)
			if row.Requests != requests || row.Keys != clients {
				t.Errorf("%s, limit %d: %d requests of %d clients; in truth %d of %d", name,
					row.Limit, row.Requests, row.Keys, requests, clients)
			}
		}
	}
}

// driven is a node that decided the trace at its own time, and did its upkeep meanwhile.
func driven(t *testing.T, memory int64, rule mitigation.Rule, all []hit) *gate.Gate {
	t.Helper()
	cfg := config.Default()
	cfg.Node, cfg.Memory, cfg.Rules = "test", memory, []mitigation.Rule{rule}
	start := all[0].at
	e, err := edge.NewGate(cfg, start.Time())
	if err != nil {
		t.Fatal(err)
	}
	const every = 30 * time.Second
	turned := start
	upkeep := func(until window.Instant) {
		for ; until.Sub(turned) >= every; turned = turned.Add(every) {
			e.Turn(1, turned.Add(every), turned.Add(every).Time())
		}
	}
	lane, draw := e.Lane(0), uint64(4290)
	for _, r := range all {
		upkeep(r.at)
		draw = draw*6364136223846793005 + 1442695040888963407
		_, _ = lane.Decide(r.at, draw,
			gate.Ask{Op: gate.Check, Cost: 1, Rule: []byte(rule.Name), Key: []byte(r.client)})
	}
	upkeep(turned.Add(3 * rule.Window))
	return e
}

// TestNodeSuggestsWithinItsBounds compares a running node's estimates for other limits with the
// definition, on real traffic: the truth lies between the two ends of each range, and they are near
// each other. For a rule that blocks it is an estimate.
func TestNodeSuggestsWithinItsBounds(t *testing.T) {
	t.Parallel()
	all := readTrace(t, suggestTrace) // the whole log takes half a minute: TestSuggestSoakTrace
	rule := mitigation.Rule{Name: "r", Limit: 20, Window: time.Minute, Mode: mitigation.Shadow}
	checkNode(t, rule, all, 16<<20)
	rule.Action, rule.BlockFor = mitigation.Block, 10*time.Minute
	checkNode(t, rule, all, 16<<20)
}

func checkNode(t *testing.T, rule mitigation.Rule, all []hit, memory int64) {
	t.Helper()
	clients := map[string]bool{}
	for _, r := range all {
		clients[r.client] = true
	}
	admin := admin.New(driven(t, memory, rule, all),
		admin.Options{Local: true, Log: slog.New(slog.DiscardHandler)})
	w, r := httptest.NewRecorder(),
		httptest.NewRequest(http.MethodGet, "/v1/suggest?rule=r", http.NoBody)
	r.Host = "localhost"
	admin.ServeHTTP(w, r)
	var got api.SuggestView
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
		t.Fatalf("status %d, %v: %s", w.Code, err, w.Body)
	}
	t.Logf("%+v", got)
	if got.Sample.AllFrom == 0 && got.Keys != uint64(len(clients)) {
		t.Errorf("%d keys of %d, a sample of %+v", got.Keys, len(clients), got.Sample)
	}
	if got.Offered != uint64(len(all)) || len(got.Rows) < 8 || got.Sample.BlindTo > 0 ||
		got.Sample.LateLooks > 0 {
		t.Errorf("offered %d, sample %+v", got.Offered, got.Sample)
	}
	for _, row := range got.Rows {
		requests, refused := truth(all, int(row.Limit), rule.Window, rule.BlockFor)
		checkRange(t, fmt.Sprintf("limit %d, requests", row.Limit),
			float64(requests)/float64(len(all)), row.Cost,
			5*row.KeysError+float64(rule.Action)*0.05)
		checkRange(t, fmt.Sprintf("limit %d, keys", row.Limit),
			float64(refused)/float64(len(clients)), row.Keys, 5*row.KeysError+5*got.KeysError)
	}
}

// checkRange holds a range to the truth: it holds it, but for a share that sampling may be off by,
// and is narrow.
func checkRange(t *testing.T, name string, want float64, got api.ShareRange, off float64) {
	t.Helper()
	t.Logf("%s: %.5f in %.5f to %.5f", name, want, got.Low, got.High)
	if want < got.Low*(1-off)-1e-9 || want > got.High*(1+off)+1e-9 ||
		got.High-got.Low > 0.15*want+0.001 {
		t.Errorf("%s: a share of %.5f, told as %.5f to %.5f", name, want, got.Low, got.High)
	}
}
