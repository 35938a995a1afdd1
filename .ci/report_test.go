package main

import (
	"strings"
	"testing"
)

// The streams are those of `go test -json`, without the times.
const (
	raceStream = `{"Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestGood"}
{"Action":"output","Package":"m/a","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"pass","Package":"m/a","Test":"TestGood","Elapsed":0.1}
{"Action":"run","Package":"m/a","Test":"TestAllocs"}
{"Action":"output","Package":"m/a","Test":"TestAllocs","Output":"    a_test.go:3: not under -race\n"}
{"Action":"skip","Package":"m/a","Test":"TestAllocs"}
{"Action":"run","Package":"m/a","Test":"TestTraces"}
{"Action":"output","Package":"m/a","Test":"TestTraces","Output":"=== RUN   TestTraces\n"}
{"Action":"output","Package":"m/a","Test":"TestTraces","Output":"    a_test.go:9: no traces here\n"}
{"Action":"output","Package":"m/a","Test":"TestTraces","Output":"--- SKIP: TestTraces (0.00s)\n"}
{"Action":"skip","Package":"m/a","Test":"TestTraces"}
{"Action":"pass","Package":"m/a","Elapsed":0.2}
{"Action":"start","Package":"m/none"}
{"Action":"skip","Package":"m/none"}
`
	plainStream = `{"Action":"run","Package":"m/a","Test":"TestAllocs"}
{"Action":"pass","Package":"m/a","Test":"TestAllocs"}
`
	failStream = `{"Action":"run","Package":"m/b","Test":"TestBad"}
{"Action":"output","Package":"m/b","Test":"TestBad","Output":"    b_test.go:7: got 1, want 2\n"}
{"Action":"fail","Package":"m/b","Test":"TestBad"}
{"Action":"fail","Package":"m/b"}
`
	panicStream = `{"Action":"run","Package":"m/c","Test":"TestDies"}
{"Action":"output","Package":"m/c","Test":"TestDies","Output":"panic: oh\n"}
{"Action":"fail","Package":"m/c"}
`
	buildStream = `{"ImportPath":"m/d","Action":"build-output","Output":"d.go:1:1: expected 'package'\n"}
{"ImportPath":"m/d","Action":"build-fail"}
{"Action":"start","Package":"m/d"}
{"Action":"output","Package":"m/d","Output":"FAIL\tm/d [build failed]\n"}
{"Action":"fail","Package":"m/d","FailedBuild":"m/d"}
`
)

func TestReport(t *testing.T) {
	cases := []struct {
		name, stream string
		strict       bool
		code         int
		ends         string
		shows        string
	}{
		{"skipped once, run once", raceStream + plainStream, false, 0,
			"\nskipped: TestTraces: a_test.go:9: no traces here\n2 passed, 0 failed, 1 skipped\n",
			"ok    m/a"},
		{"a skip is strict's failure", raceStream + plainStream, true, 1, "1 skipped\n", ""},
		{"no skip, strict", plainStream, true, 0, "1 passed, 0 failed, 0 skipped\n", ""},
		{"failure", plainStream + failStream, false, 1,
			"\nfailed: m/b TestBad\n1 passed, 1 failed, 0 skipped\n", "got 1, want 2"},
		{"a failure stands, whatever the next pass says",
			failStream + strings.ReplaceAll(failStream, "fail", "pass"), false, 1,
			"0 passed, 1 failed, 0 skipped\n", ""},
		{"panic", panicStream, false, 1, "0 passed, 1 failed, 0 skipped\n", "panic: oh"},
		{"build", plainStream + buildStream, false, 1, "1 passed, 1 failed, 0 skipped\n",
			"d.go:1:1: expected"},
		{"nothing ran", "go: cannot find main module\n", false, 1,
			"0 passed, 0 failed, 0 skipped\n", "cannot find main module"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			r := newReport(&out)
			if err := r.read(strings.NewReader(c.stream)); err != nil {
				t.Fatal(err)
			}
			if code := r.finish(c.strict); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if !strings.HasSuffix(out.String(), c.ends) ||
				!strings.Contains(out.String(), c.shows) {
				t.Errorf("printed:\n%s\nwant it to end with:\n%s\nand to show: %s",
					out.String(), c.ends, c.shows)
			}
		})
	}
}

func TestReportRefusesEndlessLine(t *testing.T) {
	r := newReport(&strings.Builder{})
	if err := r.read(strings.NewReader(strings.Repeat("x", maxLine+1))); err == nil {
		t.Error("a line past maxLine was taken")
	}
}
