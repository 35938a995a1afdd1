package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
)

// TestFormats: the results of several files in each format, and how the worst of the files ends the
// command.
func TestFormats(t *testing.T) {
	b := newBench(t)
	b.file("good.yaml", "policies: [{name: env, match: {path: /.env}, deny: 404}]\n")
	b.file("b,a:d.yaml", "popp: lhr\nrules: [{name: '100%', limit: 1, window: 1m}]\n")
	b.file("scope.yaml", "rules: [{name: a, limit: 7, window: 1m, scope: pop}]\n")
	b.file("cases.yaml", `- {request: {url: "a/.env"}, name: one, verdict: deny}
- {request: {url: a/b}, name: "<two>", verdict: deny}
`)
	var all strings.Builder
	for _, line := range []string{
		"config check $DIR/b,a:d.yaml $DIR/good.yaml $DIR/none.yaml",
		"config check --format github $DIR/good.yaml $DIR/b,a:d.yaml",
		"config check --format github $DIR/good.yaml $DIR/scope.yaml",
		"config check --format github --strict $DIR/scope.yaml",
		"config check --format junit $DIR/good.yaml $DIR/b,a:d.yaml",
		"config check --format json $DIR/b,a:d.yaml $DIR/none.yaml",
		"config check --format xml $DIR/good.yaml",
		"config check --print $DIR/good.yaml $DIR/good.yaml",
		"policy test -c $DIR/good.yaml --format github $DIR/cases.yaml",
		"policy test -c $DIR/good.yaml --format junit $DIR/cases.yaml",
		"policy test -c $DIR/good.yaml --format json $DIR/cases.yaml",
		"policy test -c $DIR/good.yaml --format xml $DIR/cases.yaml",
	} {
		code, out, stderr := b.run(t.Context(), strings.Fields(line)...)
		fmt.Fprintf(&all, "$ %s\n%s%s[%d]\n\n", line, out, stderr, code)
	}
	clitest.CompareGolden(t, "testdata/formats.golden", all.String())
}
