package edge_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge"
)

// rls.files are read at the start and again at a reload, all or none; their limits are rules.
func TestRLSFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, limits := filepath.Join(dir, "headgate.yaml"), filepath.Join(dir, "a.yaml")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const head = "memory: 4MiB\nlisten: {udp: [], http: [], admin: [], grpc: '127.0.0.1:0'}\n"
	files := "rls: {files: ['" + dir + "/?.yaml']}\n"
	write(file, head+"rules: []\n"+files)
	write(limits, "domain: d\ndescriptors: [{key: user, rate_limit: {unit: minute, "+
		"requests_per_unit: 3}}]\n")
	n, err := edge.New(t.Context(), edge.Options{File: file})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Close() }()
	names := func() string { return strings.Join(slices.Collect(n.Gate().RuleNames()), " ") }
	if names() != "d.user" {
		t.Errorf("rules %s", names())
	}
	write(filepath.Join(dir, "b.yaml"),
		"domain: e\ndescriptors: [{key: ip, rate_limit: {unit: age, requests_per_unit: 3}}]\n")
	if _, err := n.Reload(); err == nil ||
		!strings.Contains(err.Error(), "b.yaml:1:") &&
			!strings.Contains(err.Error(), "b.yaml:2:44") || names() != "d.user" {
		t.Errorf("%v, rules %s", err, names())
	}
	write(filepath.Join(dir, "b.yaml"),
		"domain: e\ndescriptors: [{key: ip, rate_limit: {unit: hour, requests_per_unit: 3}}]\n")
	if _, err := n.Reload(); err != nil || names() != "d.user e.ip" {
		t.Errorf("%v, rules %s", err, names())
	}
	write(file, head+"rules: [{name: d.user, limit: 1, window: 1s}]\n"+files)
	if _, err := n.Reload(); err == nil ||
		!strings.Contains(err.Error(), "a rule is called d.user already") {
		t.Error(err)
	}
	write(file, "rls: {files: ['"+dir+"/none.yaml']}\n")
	if _, err := n.Reload(); err == nil ||
		!strings.Contains(err.Error(), "none.yaml: there is no such file") {
		t.Error(err)
	}
}
