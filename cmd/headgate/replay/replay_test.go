package replay

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate-dev/headgate/cmd/headgate/accesslog"
	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// exactJudge decides by the definition. It refuses with the ground why.
type exactJudge struct {
	rule  mitigation.Rule
	logs  map[string]*window.Log
	since map[string]window.Instant
	why   mitigation.Why
	swept []window.Instant
	steps int // of one sweep
}

func newExactJudge(rule mitigation.Rule) *exactJudge {
	return &exactJudge{
		rule: rule, logs: map[string]*window.Log{}, since: map[string]window.Instant{},
		why: mitigation.ByLimit,
	}
}

func (j *exactJudge) log(key []byte) *window.Log {
	if j.logs[string(key)] == nil {
		j.logs[string(key)] = window.NewLog(j.rule.Window, window.Tick(j.rule.Window))
	}
	return j.logs[string(key)]
}

func (j *exactJudge) Decide(now window.Instant, _ uint64, q gate.Ask) (d gate.Decision, err error) {
	if string(q.Rule) != j.rule.Name {
		return d, gate.ErrUnknownRule
	}
	log := j.log(q.Key)
	if _, known := j.since[string(q.Key)]; !known {
		j.since[string(q.Key)] = now
	}
	log.Offer(now, int64(q.Cost))
	if log.Admitted(now)+int64(q.Cost) > j.rule.Limit {
		d.Deny, d.Why = true, j.why
		return d, nil
	}
	log.Admit(now, int64(q.Cost))
	return d, nil
}

func (j *exactJudge) Offered(now window.Instant, _, key []byte) int64 {
	return j.log(key).Offered(now)
}

func (j *exactJudge) SuspectSince(_, key []byte) (window.Instant, bool) {
	since, ok := j.since[string(key)]
	return since, ok
}

func (j *exactJudge) Sweep(now window.Instant) int {
	j.swept = append(j.swept, now)
	return j.steps
}

// replayed runs a TSV log under 2 requests per 10 s through j and returns the summary.
func replayed(t *testing.T, j *exactJudge, log string) *replaySummary {
	t.Helper()
	r := newReplay(j.rule, byClient, accesslog.Auto, true)
	r.open = func(time.Time) (judge, error) { return j, nil }
	readLog(t, r, log)
	s, err := r.finish(time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// readLog has r read log.
func readLog(t *testing.T, r *replay, log string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "log.tsv")
	if err := os.WriteFile(file, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.readAll(t.Context(), []string{file}, &progress{}); err != nil {
		t.Fatal(err)
	}
}

func byClient(r *accesslog.Record) []byte { return r.Client }

func twoPerTen() mitigation.Rule {
	return mitigation.Rule{Name: "r", Limit: 2, Window: 10 * time.Second}
}

func lines(records ...string) string {
	return strings.Join(records, "\tGET\t/\t200\n") + "\tGET\t/\t200\n"
}

func TestReplayCounts(t *testing.T) {
	s := replayed(t, newExactJudge(twoPerTen()),
		lines("100\ta", "101\ta", "102\ta", "102\tb", "109\ta", "110\ta", "111\ta",
			"99\tb")+"bad line\n")
	if s.Requests != 8 || s.Keys != 2 || s.Allowed != 6 || s.Denied != 2 || s.DeniedBy.Limit != 2 {
		t.Errorf("requests %d, keys %d, allowed %d, denied %+v; want 8, 2, 6, 2 by limit",
			s.Requests, s.Keys, s.Allowed, s.DeniedBy)
	}
	if s.WentBack != 1 || s.BadLines != 1 || s.Flagged != 1 {
		t.Errorf("went back %d, bad %d, flagged %d; want one each", s.WentBack,
			s.BadLines, s.Flagged)
	}
	want := []replayTop{{Key: "a", Requests: 6, Denied: 2, FirstDenied: time.Unix(102, 0).UTC()}}
	if diff := cmp.Diff(want, s.Top); diff != "" {
		t.Errorf("top offenders (-want +got):\n%s", diff)
	}
	if !s.Began.Equal(time.Unix(100, 0)) || !s.Ended.Equal(time.Unix(111, 0)) {
		t.Errorf("log time %v to %v, want 100 to 111: never back", s.Began, s.Ended)
	}
}

func TestReplayOracleFindsNoFaultInTheDefinition(t *testing.T) {
	s := replayed(t, newExactJudge(twoPerTen()),
		lines("100\ta", "101\ta", "102\ta", "109\ta", "110\ta", "111\ta"))
	e, c := s.Oracle.Enforcement, s.Oracle.Classification
	if e.Judged != 6 || e.WrongDeny+e.WrongAllow != 0 ||
		c.WrongOver+c.WrongUnder != 0 || c.Over != 4 {
		t.Errorf("enforcement %+v, classification %+v; want 6 judged, 4 over, nothing wrong", e, c)
	}
	if s.Oracle.Settled.Judged != 2 {
		t.Errorf("%d judged after a's first window as a suspect, want those at 110 and 111",
			s.Oracle.Settled.Judged)
	}
	if k := s.Oracle.Keys; k.Over != 1 || k.FalseNegatives+k.FalsePositives != 0 {
		t.Errorf("keys %+v, want one over and none wrong", k)
	}
}

func TestReplayOracleSeesAJudgeOfAnotherLimit(t *testing.T) {
	strict := newExactJudge(twoPerTen())
	strict.rule.Limit = 1
	file := lines("100\ta", "101\ta", "102\ta")
	r := newReplay(twoPerTen(), byClient, accesslog.TSV, true)
	r.open = func(time.Time) (judge, error) { return strict, nil }
	in, err := accesslog.NewReader(strings.NewReader(file), "x", accesslog.TSV, &r.faults)
	if err != nil {
		t.Fatal(err)
	}
	var rec accesslog.Record
	for in.Read(&rec) == nil {
		if err := r.record(&rec, accesslog.Fault{}); err != nil {
			t.Fatal(err)
		}
	}
	s, _ := r.finish(time.Second)
	if e := s.Oracle.Enforcement; e.WrongDeny != 2 || e.WorstDeny != 1 {
		t.Errorf("a limit of 1 judged by one of 2: %+v, want 2 wrong refusals at the limit", e)
	}
}

func TestReplayDoesNotJudgeRefusalsByFlag(t *testing.T) {
	j := newExactJudge(twoPerTen())
	j.rule.Action, j.why = mitigation.Block, mitigation.ByBlock
	s := replayed(t, j, lines("100\ta", "101\ta", "102\ta"))
	if s.Oracle.ByFlag != 1 || s.Oracle.Enforcement.Judged != 2 || s.DeniedBy.Block != 1 {
		t.Errorf("by flag %d, judged %d, denied %+v; want 1, 2, 1 by block",
			s.Oracle.ByFlag, s.Oracle.Enforcement.Judged, s.DeniedBy)
	}
	var out bytes.Buffer
	(&app{cli.NewApp(&out, &out)}).writeReplay(s)
	if !strings.Contains(out.String(), "Denials by a mitigation in force follow an earlier "+
		"verdict and are not compared here: 1.") {
		t.Errorf("the output does not say that refusals by flag are not judged:\n%s", out.String())
	}
}

func TestReplaySweepsInLogTime(t *testing.T) {
	for _, c := range []struct {
		name string
		log  string
		want []time.Duration
	}{
		{
			"a sparse log every five windows",
			lines("100\ta", "110\ta", "149.9\ta", "150\ta", "170\ta"),
			[]time.Duration{150 * time.Second},
		},
		{
			"a busy one every 100 ms", lines("100\ta") + strings.Repeat(lines("100.050\ta"),
				sweepBusy) + lines("100.099\ta", "100.100\ta"),
			[]time.Duration{100_100 * time.Millisecond},
		},
		{
			"a long silence at its end, before anything is counted",
			lines("100\ta", "300\ta", "305\ta"),
			[]time.Duration{300 * time.Second},
		},
	} {
		j := newExactJudge(twoPerTen())
		replayed(t, j, c.log)
		var got []time.Duration
		for _, at := range j.swept {
			got = append(got, time.Duration(at))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: swept at (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestReplayRefusesKeysNobodyCouldAskFor(t *testing.T) {
	s := replayed(t, newExactJudge(twoPerTen()),
		lines("100\t"+strings.Repeat("x", 257), "100\t"+strings.Repeat("x", 256)))
	if s.Requests != 1 || s.BadLines != 1 {
		t.Errorf("%d requests, %d bad; a key of 257 bytes is bad, one of 256 is not",
			s.Requests, s.BadLines)
	}
}

func TestReplayTallyNamesTheWorst(t *testing.T) {
	tally := newReplayTally()
	for i := range 30 {
		for n := range i {
			a := gate.Decision{Deny: true, Why: mitigation.ByLimit}
			if n == 0 {
				a = gate.Decision{}
			}
			tally.add(1, fmt.Appendf(nil, "key%02d", i), a)
		}
	}
	top, flagged := tally.offenders()
	if flagged != 28 || len(top) != topOffenders || top[0].Key != "key29" || top[9].Key != "key20" {
		t.Errorf("%d flagged, top %+v; want 28, and key29 down to key20", flagged, top)
	}
}

// replayCLI runs the whole program.
func TestReplayText(t *testing.T) {
	code, out, _ := replayCLI(t, "--rule", "per-ip", "--limit", "2", "--oracle",
		"../accesslog/testdata/logs/blog.tsv")
	if code != cli.ExitOK {
		t.Fatalf("exit %d", code)
	}
	for _, want := range []string{
		"requests", "denied keys", "went back", "TOP OFFENDERS",
		"ENFORCEMENT", "CLASSIFICATION", "false negatives",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
}

func TestReplayNumbers(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567",
		-1000: "-1,000", -999: "-999",
	} {
		if got := cli.Grouped(n); got != want {
			t.Errorf("grouped(%d) = %s, want %s", n, got, want)
		}
	}
	for share, want := range map[float64]string{0: "0 %", 0.5: "50.0 %", 0.000003: "0.000300 %"} {
		if got := percentOf(share); got != want {
			t.Errorf("percentOf(%v) = %s, want %s", share, got, want)
		}
	}
}

// TestReplaySuggestsWithoutANode: where every limit is tried at once no node is made, which would
// be most of the memory.
func TestReplaySuggestsWithoutANode(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log.tsv")
	if err := os.WriteFile(file, []byte(lines("100\ta", "101\ta", "99\tb")), 0o600); err != nil {
		t.Fatal(err)
	}
	o := replayOptions{rule: "per-ip", key: "client", format: "auto", suggest: true}
	r, err := o.prepare()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.readAll(t.Context(), []string{file}, &progress{}); err != nil {
		t.Fatal(err)
	}
	if s := r.summarizeTrial(); r.judge != nil || s.Requests != 3 || s.WentBack != 1 ||
		s.Began.Unix() != 100 || s.Ended.Unix() != 101 {
		t.Errorf("%v, %+v", r.judge, s)
	}
}
