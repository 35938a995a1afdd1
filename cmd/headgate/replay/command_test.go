package replay

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
)

func replayCLI(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = cli.NewApp(&out, &errs).Run(t.Context(), []cli.Entry{{Build: Command}},
		append([]string{"replay"}, args...))
	return code, out.String(), errs.String()
}

func TestReplayCommand(t *testing.T) {
	decisions := filepath.Join(t.TempDir(), "decisions.tsv")
	code, out, errs := replayCLI(t, "--rule", "per-ip", "--limit", "2", "--window", "1m",
		"--oracle", "--json",
		"--decisions", decisions, "../accesslog/testdata/logs/blog.tsv.gz",
		"../accesslog/testdata/logs/blog.tsv")
	if code != cli.ExitOK || errs != "" {
		t.Fatalf("exit %d, stderr %q", code, errs)
	}
	var s replaySummary
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if s.Requests != 120 || s.Denied == 0 || s.WentBack == 0 || s.Oracle == nil {
		t.Errorf("summary %+v; want 120 requests, some denied, some back in time, an oracle", s)
	}
	if e := s.Oracle.Enforcement; e.WrongDeny+e.WrongAllow != 0 {
		t.Errorf("enforcement of a limit of 2: %+v, want nothing wrong", e)
	}
	raw, err := os.ReadFile(decisions)
	if err != nil {
		t.Fatal(err)
	}
	written := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	if len(written) != 120 || int64(strings.Count(string(raw), "\tdeny\tlimit\n")) != s.Denied {
		t.Errorf("%d decisions, %d of them denied; want 120 and %d", len(written),
			strings.Count(string(raw), "\tdeny\t"), s.Denied)
	}
}

func TestReplayCommandKeepsTheLogsSeconds(t *testing.T) {
	dir := t.TempDir()
	log, decisions := filepath.Join(dir, "log"), filepath.Join(dir, "out")
	content := "1739291346.553931\ta\tM\t/x\t-\n1739291347.1\tb\tM\t/x\t-\n1739291348\tc\tM\t/x\t-\n"
	if err := os.WriteFile(log, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := replayCLI(t, "--rule", "login", "--key", "path", "--limit", "2",
		"--decisions", decisions, log); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	raw, err := os.ReadFile(decisions)
	if err != nil {
		t.Fatal(err)
	}
	want := "1739291346.553931\ta\tallow\t\n1739291347.1\tb\tallow\t\n1739291348\tc\tdeny\tlimit\n"
	if diff := cmp.Diff(want, string(raw)); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
}

func TestReplayCommandRefuses(t *testing.T) {
	log := "../accesslog/testdata/logs/blog.tsv"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--rule", "per-ip"}, "at least one log"},
		{[]string{log}, `required flag(s) "rule" not set`},
		{
			[]string{"--rule", "nobody", log},
			`there is no rule "nobody"; the rules are per-ip, login`,
		},
		{[]string{"--rule", "login", "--key", "agent", log}, `"agent" is neither client nor path`},
		{
			[]string{"--rule", "login", "--format", "csv", log},
			"not one of auto, combined, json, tsv",
		},
		{[]string{"--rule", "login", "--limit", "-1", log}, "not within 1..1000000000"},
		{[]string{"--rule", "login", "--window", "10ms", log}, "not within 1s..24h"},
		{[]string{"--rule", "login", "no-such-file"}, "no-such-file"},
		{[]string{"--rule", "login", "-c", "no-such.yaml", log}, "no-such.yaml"},
		{[]string{"--rule", "login", "--format", "json", log}, "no request could be read"},
	} {
		code, out, errs := replayCLI(t, c.args...)
		if code != cli.ExitFailed || !strings.Contains(errs, c.want) || out != "" {
			t.Errorf("replay %v: exit %d, stdout %q, stderr %q; want %d, nothing, %q",
				c.args, code, out, errs, cli.ExitFailed, c.want)
		}
	}
}
