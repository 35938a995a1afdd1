package setup

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/config"
)

// TestImportEnvoy: the rules are a valid configuration, and everything that they do not say is on
// stderr, with its line.
func TestImportEnvoy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	run := func(args ...string) (code int, stdout, stderr string) {
		var out, err bytes.Buffer
		code = cli.NewApp(&out, &err).Run(context.Background(), []cli.Entry{{Build: Import}},
			append([]string{"import", "envoy"}, args...))
		return code, out.String(), err.String()
	}
	good := write("good.yaml", `domain: d
descriptors:
- {key: user, rate_limit: {unit: minute, requests_per_unit: 5}}
- {key: user, value: "bot*", shadow_mode: true, rate_limit: {unit: hour, requests_per_unit: 9, replaces: [{name: x}]}}
- {key: team, rate_limit: {unlimited: true}}
- {key: spam, rate_limit: {unit: second, requests_per_unit: 0}}
- {key: free, rate_limit: {unit: month, requests_per_unit: 100}}
`)
	code, stdout, stderr := run(good)
	c, err := config.Parse("printed", []byte(stdout))
	if code != 0 || err != nil || len(c.Rules) != 3 || c.Rules[0].Name != "d.user" ||
		c.Rules[0].Limit != 5 || c.Rules[2].Limit != 4 {
		t.Errorf("%d, %v\n%s", code, err, stdout)
	}
	want := good + `:4:9: d.user_bot*: a wildcard is not in a rule: name the rule for the values that it matches
` + good + `:4:106: d.user_bot*: replaces is not in a rule: send only the descriptor that is to hold
` + good + `:5:27: d.team: unlimited makes no rule: leave the descriptor out
` + good + `:6:27: d.spam: a limit of 0 makes no rule: deny by a policy
` + good + `:7:27: d.free: a month is longer than a window can be: 4 a day
`
	if stderr != want {
		t.Errorf("stderr\n%s\nwant\n%s", stderr, want)
	}
	bad := write("bad.yaml", "domain: d\ndescriptors: [{kye: x}]\n")
	if code, stdout, stderr = run(bad); code != 1 || stdout != "" ||
		stderr != bad+":2:16: unknown key \"kye\" (did you mean \"key\"?)\n1 fault\n" {
		t.Errorf("%d %q %q", code, stdout, stderr)
	}
	var out, errs bytes.Buffer
	file := write("headgate.yaml", "rls: {files: ['"+bad+"']}\n")
	if code = cli.NewApp(&out, &errs).Run(context.Background(), []cli.Entry{{Build: Config}},
		[]string{"config", "check", file}); code != 1 ||
		!bytes.Contains(errs.Bytes(), []byte(bad+":2:16: unknown key")) {
		t.Errorf("config check: %d %q", code, errs.String())
	}
	if code, _, _ = run(filepath.Join(dir, "none.yaml")); code != 2 {
		t.Errorf("code %d", code)
	}
}

// TestLongUnits: config check names each unit that is counted by the day, with its place.
func TestLongUnits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	limits, file := filepath.Join(dir, "d.yaml"), filepath.Join(dir, "headgate.yaml")
	for path, text := range map[string]string{
		limits: "domain: d\ndescriptors:\n" +
			"  - {key: free, rate_limit: {unit: month, requests_per_unit: 100}}\n" +
			"  - {key: team, rate_limit: {unit: day, requests_per_unit: 100}}\n" +
			"  - {key: paid, descriptors: [{key: user, rate_limit: {unit: YEAR, " +
			"requests_per_unit: 365}}]}\n" +
			"  - {key: week, rate_limit: {unit: week, requests_per_unit: 7}}\n",
		file: "rls: {long_units: day, files: ['" + limits + "']}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	code := cli.NewApp(&out, &errs).Run(context.Background(), []cli.Entry{{Build: Config}},
		[]string{"config", "check", file})
	const is = " is longer than a window can be: "
	want := "warning: " + limits + ":3:29: [long-unit] d.free: a month" + is + "4 a day\n" +
		"warning: " + limits + ":5:55: [long-unit] d.paid.user: a year" + is + "1 a day\n" +
		"warning: " + limits + ":6:29: [long-unit] d.week: a week" + is + "1 a day\n"
	if code != 0 || errs.String() != want {
		t.Errorf("%d\n%swant\n%s", code, errs.String(), want)
	}
}
