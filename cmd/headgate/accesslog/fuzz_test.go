package accesslog

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
)

// seed gives f the lines of an example log.
func seed(f *testing.F, file string) {
	raw, err := os.ReadFile("testdata/logs/" + file)
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(raw) {
		f.Add(bytes.TrimRight(line, "\n"))
	}
}

// checkRecord fails unless rec is one that replay can use, whatever line it came from.
func checkRecord(t *testing.T, line []byte, rec *Record) {
	t.Helper()
	if len(rec.Client) == 0 || rec.Time < 0 || rec.Digits < 0 || rec.Digits > maxDecimals {
		t.Errorf("%q was read as %+v", line, rec)
	}
	if len(rec.Client)+len(rec.Method)+len(rec.Path) > 4*len(line) {
		t.Errorf("%q grew into %+v", line, rec)
	}
	if len(rec.Method) > 0 && bytes.ContainsRune(rec.Path, '?') {
		t.Errorf("%q kept its query string: %q", line, rec.Path)
	}
}

func FuzzTSV(f *testing.F) {
	seed(f, "blog.tsv")
	f.Add([]byte("1739291346.553931\ta\tm\t/\t-"))
	f.Fuzz(func(t *testing.T, line []byte) {
		var rec, again Record
		if parseTSV(line, &rec) != nil {
			return
		}
		checkRecord(t, line, &rec)
		written := rec.AppendTime(nil)
		if setUnixSeconds(written, &again) != nil || again.Time != rec.Time ||
			again.Digits != rec.Digits {
			t.Errorf("time of %q was written as %s and read back as %d", line, written, again.Time)
		}
	})
}

func FuzzCombined(f *testing.F) { fuzzLines(f, "combined.log", parseCombined) }

func FuzzJSON(f *testing.F) { fuzzLines(f, "nginx.json", parseJSON) }

// fuzzLines checks the records that parse reads, from the lines of a file on.
func fuzzLines(f *testing.F, file string, parse func([]byte, *Record) error) {
	f.Helper()
	seed(f, file)
	f.Fuzz(func(t *testing.T, line []byte) {
		var rec Record
		// 1970 east of Greenwich lies before 1970
		if parse(line, &rec) == nil && rec.Time > 0 {
			checkRecord(t, line, &rec)
		}
	})
}

// FuzzReader reads whole logs: every line is a record, a fault or blank, and reading ends.
func FuzzReader(f *testing.F) {
	for _, file := range []string{"blog.tsv", "blog.tsv.gz", "combined.log", "nginx.json"} {
		raw, err := os.ReadFile("testdata/logs/" + file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		var faults Faults
		r, err := NewReader(bytes.NewReader(log), "fuzz", Auto, &faults)
		if err != nil {
			return
		}
		var rec Record
		var records int64
		for err = r.Read(&rec); err == nil; err = r.Read(&rec) {
			records++
		}
		if records+faults.Count > int64(r.Line()) {
			t.Errorf("%d records and %d faults from %d lines", records, faults.Count, r.Line())
		}
		if plain := !bytes.HasPrefix(log, gzipMagic); plain && !errors.Is(err, io.EOF) {
			t.Errorf("a plain log ended with %v", err)
		}
	})
}
