package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExamples: each folder of deploy/examples has a configuration without warnings, cases that
// hold, and a page that is short; the index names each.
func TestExamples(t *testing.T) {
	const dir = "../../deploy/examples"
	index, err := os.ReadFile(dir + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	folders, err := filepath.Glob(dir + "/*/headgate.yaml")
	if err != nil || len(folders) < 10 {
		t.Fatal(folders, err)
	}
	b := newBench(t)
	for _, conf := range folders {
		folder := filepath.Dir(conf)
		code, out, complaint := b.run(t.Context(), "config", "check", "--strict", conf)
		if code != 0 {
			t.Errorf("%s%s", out, complaint)
		}
		code, out, complaint = b.run(t.Context(), strings.Fields("policy test -c "+conf+" "+
			folder+"/cases.yaml")...)
		if code != 0 || !strings.Contains(out, "cases: ok") {
			t.Errorf("%s%s", out, complaint)
		}
		page, err := os.ReadFile(folder + "/README.md")
		if lines := strings.Count(string(page), "\n"); err != nil || lines > 40 || lines < 5 {
			t.Errorf("%s: %d lines, %v", folder, lines, err)
		}
		if !strings.Contains(string(index), "("+filepath.Base(folder)+"/README.md)") {
			t.Errorf("%s is not in the index", folder)
		}
	}
}
