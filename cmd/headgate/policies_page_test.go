package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// spans returns the texts between backquotes in one cell of a table.
func spans(cell string) []string {
	var list []string
	for _, span := range codeSpan.FindAllString(cell, -1) {
		list = append(list, strings.Trim(span, "`"))
	}
	return list
}

// requestWith returns the arguments of test-request for a request whose field is value.
func requestWith(field, value string) []string {
	const url = "https://www.example.com/"
	kind, name, _ := strings.Cut(field, ".")
	switch kind {
	case "host":
		return []string{"https://" + value + "/"}
	case "path":
		return []string{"https://www.example.com" + value}
	case "query":
		return []string{url + "?" + name + "=" + value}
	case "header":
		return []string{url, "-H", name + ": " + value}
	case "cookie":
		return []string{url, "-H", "cookie: " + name + "=" + value}
	case "method":
		return []string{url, "-X", value}
	case "client":
		return []string{url, "--client", value}
	}
	return []string{url, "-H", "headgate-" + kind + ": " + value}
}

// TestPoliciesPage holds each row of the page's table of values to requests, and loads its examples.
func TestPoliciesPage(t *testing.T) {
	edgetest.Alone(t)
	page, err := os.ReadFile("../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	file := filepath.Join(t.TempDir(), "headgate.yaml")
	_, table, _ := strings.Cut(string(page), "| field | value | fits | does not fit |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")[1:]
	for _, row := range rows {
		cells := strings.Split(strings.Trim(row, "|"), "|")
		field, value := spans(cells[0])[0], spans(cells[1])[0]
		text := fmt.Sprintf("policies:\n  - {name: p, match: {%s: %s}, limit: 5, window: 1m}\n",
			field, value)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for column, want := range []string{"\n  p  matches\n", "\n  p  no: " + field + ": "} {
			for _, one := range spans(cells[2+column]) {
				_, stdout, stderr := b.run(t.Context(), append([]string{"test-request", "-c", file},
					requestWith(field, one)...)...)
				if !strings.Contains(stdout, want) {
					t.Errorf("%s: %s, request with %s: no %q in\n%s%s", field, value, one, want,
						stdout, stderr)
				}
			}
		}
	}
	if len(rows) < 10 {
		t.Errorf("%d rows", len(rows))
	}
}
