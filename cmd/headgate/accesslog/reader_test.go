package accesslog

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// readAll reads src to its end and returns its records and faults.
func readAll(t *testing.T, src io.Reader, format Format) ([]flat, Faults, error) {
	t.Helper()
	var faults Faults
	r, err := NewReader(src, "test.log", format, &faults)
	if err != nil {
		t.Fatal(err)
	}
	var records []flat
	var rec Record
	for {
		if err := r.Read(&rec); err != nil {
			return records, faults, err
		}
		records = append(records, flatten(&rec))
	}
}

func readString(t *testing.T, log string) ([]flat, Faults) {
	t.Helper()
	records, faults, err := readAll(t, strings.NewReader(log), Auto)
	if !errors.Is(err, io.EOF) {
		t.Fatalf("the log ended with %v", err)
	}
	return records, faults
}

func TestReaderReadsTheExamples(t *testing.T) {
	for file, want := range map[string]int{
		"blog.tsv": 60, "blog.tsv.gz": 60, "combined.log": 6,
		"nginx.json": 6,
	} {
		raw, err := os.ReadFile("testdata/logs/" + file)
		if err != nil {
			t.Fatal(err)
		}
		records, faults, err := readAll(t, bytes.NewReader(raw), Auto)
		if !errors.Is(err, io.EOF) || len(records) != want || faults.Count != 0 {
			t.Errorf("%s: %d records, %+v, %v; want %d, no faults, EOF", file,
				len(records), faults, err, want)
		}
	}
}

func TestReaderCountsBadLinesAndGoesOn(t *testing.T) {
	records, faults := readString(t,
		"1\ta\tm\t/\t200\nbad\n\n2\tb\tm\t/\t200\r\nworse\n3\tc\tm\t/\t200")
	if len(records) != 3 || records[2].Client != "c" || records[1].Status != 200 {
		t.Errorf("records %+v, want the three good ones", records)
	}
	if faults.Count != 2 ||
		faults.First[1].Error() != "test.log:5: bad line (tsv): fewer than 5 tab-separated fields" {
		t.Errorf("faults %+v, want lines 2 and 5", faults)
	}
}

func TestReaderKeepsOnlyTheFirstFaults(t *testing.T) {
	_, faults := readString(t, "1\ta\tm\t/\t200\n"+strings.Repeat("bad\n", 1000))
	if faults.Count != 1000 || len(faults.First) != MaxShown {
		t.Errorf("%d faults, %d kept; want 1000 and %d", faults.Count, len(faults.First), MaxShown)
	}
}

func TestReaderBoundsLines(t *testing.T) {
	const good = "1\ta\tm\t/\t200\n"
	fits := "2\t" + strings.Repeat("x", MaxLine-len("2\t\tm\t/\t200\n")) + "\tm\t/\t200\n"
	records, faults := readString(t,
		good+fits+strings.Repeat("y", 3*MaxLine)+"\n"+good+strings.Repeat("z", MaxLine))
	if len(records) != 3 {
		t.Errorf("%d records, want 3: the one of exactly MaxLine bytes and its neighbours",
			len(records))
	}
	if faults.Count != 2 || faults.First[0].Line != 3 ||
		!errors.Is(faults.First[1].Err, errTooLong) {
		t.Errorf("faults %+v, want lines 3 and 5 as too long", faults)
	}
}

func TestReaderReportsABrokenFile(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(strings.Repeat("1\ta\tm\t/\t200\n", 50_000)))
	_ = z.Close()
	cut := zipped.Bytes()[:zipped.Len()-20]
	records, _, err := readAll(t, bytes.NewReader(cut), Auto)
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(records) == 0 {
		t.Errorf("%d records, then %v; want some, then an unexpected end", len(records), err)
	}
}

func TestReaderRefusesABrokenGzipHeader(t *testing.T) {
	if _, err := NewReader(strings.NewReader("\x1f\x8bnot gzip"), "x.gz", Auto,
		&Faults{}); err == nil {
		t.Error("a file that only begins like gzip was opened")
	}
}

func TestReaderOfNothing(t *testing.T) {
	for _, log := range []string{"", "\n", "\r\n\n"} {
		if records, faults := readString(t, log); len(records) != 0 || faults.Count != 0 {
			t.Errorf("%q: %v, %v; want nothing", log, records, faults)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for _, file := range []string{"blog.tsv", "combined.log", "nginx.json"} {
		b.Run(file, func(b *testing.B) {
			raw, err := os.ReadFile("testdata/logs/" + file)
			if err != nil {
				b.Fatal(err)
			}
			raw = bytes.Repeat(raw, 1000)
			lines := bytes.Count(raw, []byte("\n"))
			for b.Loop() {
				var rec Record
				r, err := NewReader(bytes.NewReader(raw), file, Auto, &Faults{})
				for err == nil {
					err = r.Read(&rec)
				}
			}
			b.ReportMetric(float64(lines)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}
