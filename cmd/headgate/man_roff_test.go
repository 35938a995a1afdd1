package main

import "testing"

func TestRoffText(t *testing.T) {
	for text, want := range map[string]string{
		`.SH X`:     `\&.SH X`,
		`'it`:       `\(aqit`,
		`a\b -c`:    `a\eb \-c`,
		"`~^":       `\(ga\(ti\(ha`,
		"203.0.113": "203.0.113",
	} {
		if got := roffText(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
