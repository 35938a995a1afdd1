package counts_test

import (
	"bytes"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/counts"
	"github.com/headgate-dev/headgate/window"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// someBatches are batches of all forms.
func someBatches() []counts.Head {
	rules := []counts.Rule{
		{"per-ip", counts.Terms(5, 10*time.Second, false)},
		{strings.Repeat("r", 64), 7},
	}
	return []counts.Head{
		{Rules: rules},
		{Alone: true, Rules: rules},
		{Relayed: true, Origin: "lhr", Issued: 1_800_000_000_123, Rules: rules},
		{},
	}
}

func someRecords() []counts.Record {
	d := counts.NewDigester([]byte("secret"))
	return []counts.Record{
		{
			Digest: d.Of("per-ip", []byte("203.0.113.7")), Period: 5, Now: 3,
			Before: 1, Mean: 77, Age: 6,
		},
		{Digest: 1, Rule: 1, Period: 7, Now: 127, Before: 127, Mean: 127, Age: 15},
	}
}

func encode(h *counts.Head) []byte {
	b := counts.AppendHead(nil, h)
	if len(h.Rules) > 0 {
		for _, r := range someRecords() {
			b = counts.AppendRecord(b, &r)
		}
	}
	return b
}

// TestGoldenBytes: bytes of version 1 mean the same for as long as there is a version 1.
func TestGoldenBytes(t *testing.T) {
	var lines []string
	for _, h := range someBatches() {
		lines = append(lines, hex.EncodeToString(encode(&h)))
	}
	name := filepath.Join("testdata", "batch-v1.golden")
	if *update {
		if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(string(golden))
	if !reflect.DeepEqual(lines, want) {
		t.Errorf("batches are\n%s\nwant\n%s", strings.Join(lines, "\n"), golden)
	}
	for n, h := range someBatches() {
		b, _ := hex.DecodeString(want[n])
		got, records, err := counts.ParseHead(b)
		if err != nil || !reflect.DeepEqual(got, h) {
			t.Errorf("batch %d is %+v, %v, want %+v", n, got, err, h)
		}
		if len(h.Rules) == 0 {
			continue
		}
		for _, want := range someRecords() {
			var r counts.Record
			if r, records = counts.ParseRecord(records); r != want {
				t.Errorf("record is %+v, want %+v", r, want)
			}
		}
		if len(records) != 0 {
			t.Errorf("%d bytes are left", len(records))
		}
	}
}

// TestMalformedBatches: what a later version may have changed, and what ends too early, is no
// batch.
func TestMalformedBatches(t *testing.T) {
	whole := encode(&counts.Head{
		Relayed: true, Origin: "lhr", Issued: 1,
		Rules: []counts.Rule{{"r", 1}, {"s", 2}},
	})
	for n := range len(whole) - 2*counts.RecordBytes {
		if _, _, err := counts.ParseHead(whole[:n]); err == nil {
			t.Errorf("the first %d bytes are a batch", n)
		}
	}
	cases := map[string]func([]byte) []byte{
		"another version":       func(b []byte) []byte { b[0]++; return b },
		"unknown flag":          func(b []byte) []byte { b[1] |= 4; return b },
		"no origin":             func(b []byte) []byte { return append(b[:2], 0, 0, 0) },
		"17 rules":              func(b []byte) []byte { b[7] = 17; return b },
		"unnamed rule":          func(b []byte) []byte { b[8] = 0; return b },
		"part of a record":      func(b []byte) []byte { return b[:len(b)-1] },
		"rule beyond the table": func(b []byte) []byte { b[len(b)-1] |= 2 << 4; return b },
	}
	for name, spoil := range cases {
		if _, _, err := counts.ParseHead(spoil(bytes.Clone(whole))); err == nil {
			t.Errorf("%s: is a batch", name)
		}
	}
	if _, _, err := counts.ParseHead(whole); err != nil {
		t.Error(err)
	}
}

// TestPeriodNear: three bits tell the periods from six ago to the next one apart.
func TestPeriodNear(t *testing.T) {
	for _, running := range []uint32{8, 1 << 20, 1<<20 + 5, 1<<32 - 9} {
		for back := -1; back <= 6; back++ {
			period := uint32(int64(running) - int64(back))
			if got := counts.PeriodNear(period&7, running); got != period {
				t.Errorf("running %d: period %d is taken for %d", running, period, got)
			}
		}
	}
}

// TestAges: a code stands for at least the age that it was made of, and at most twice it.
func TestAges(t *testing.T) {
	for _, period := range []time.Duration{time.Second, 2 * time.Second, 24 * time.Hour / 5} {
		for age := period / 1024; age < 32*period; age += age / 3 {
			if got := counts.Age(counts.AgeOf(age, period), period); got < age || got > 2*age {
				t.Errorf("period %v: age %v is sent as %v", period, age, got)
			}
		}
		if got := counts.AgeOf(1000*period, period); got != 15 {
			t.Errorf("an age beyond all codes has the code %d", got)
		}
	}
}

// TestRecordOf: totals in units, rounded down; times as their mean.
func TestRecordOf(t *testing.T) {
	totals := window.Totals{Period: 77}
	totals.By[0] = window.PeriodTotals{Admitted: 4, Times: 4 * 1000}
	totals.By[1] = window.PeriodTotals{Admitted: 2}
	got := counts.RecordOf(&totals, 5, 10*time.Second, 100*time.Millisecond)
	if want := (counts.Record{Period: 77, Now: 4, Before: 2, Mean: 31, Age: 6}); got != want {
		t.Errorf("record is %+v, want %+v", got, want)
	}
	totals.By[0] = window.PeriodTotals{Admitted: 1_000_000, Times: 0}
	got = counts.RecordOf(&totals, 1_000_000, time.Hour, 0)
	if want := (counts.Record{Period: 77, Now: 100}); got != want {
		t.Errorf("record is %+v, want %+v", got, want)
	}
	if unit := counts.UnitOf(100); unit != 1 {
		t.Errorf("a limit of 100 is counted in units of %d", unit)
	}
}

// TestTerms: rules that differ in limit, window or shadow have other terms.
func TestTerms(t *testing.T) {
	seen := map[uint32]string{}
	for _, limit := range []int64{1, 2, 5, 10, 600, 1e9} {
		for _, length := range []time.Duration{
			time.Second, 2 * time.Second, 10 * time.Second,
			time.Minute, 24 * time.Hour,
		} {
			for _, shadow := range []bool{false, true} {
				terms := counts.Terms(limit, length, shadow)
				if seen[terms] != "" {
					t.Errorf("%d in %v (%t) has the terms of %s", limit, length,
						shadow, seen[terms])
				}
				seen[terms] = length.String()
			}
		}
	}
}

// TestDigest: a digest follows from secret, rule and key, each alone changes it, and making one
// allocates nothing.
func TestDigest(t *testing.T) {
	d := counts.NewDigester([]byte("secret"))
	other := counts.NewDigester([]byte("Secret"))
	long, key := strings.Repeat("r", 64), []byte(strings.Repeat("k", 256))
	is := d.Of("r", []byte("ab"))
	for name, got := range map[string]counts.Digest{
		"another secret": other.Of("r", []byte("ab")), "another rule": d.Of("ra", []byte("b")),
		"another key": d.Of("r", []byte("abc")), "a long one": d.Of(long, key),
	} {
		if got == is || got == 0 {
			t.Errorf("%s has the digest %x", name, got)
		}
	}
	if is != d.Of("r", []byte("ab")) {
		t.Error("a digest changes")
	}
	if n := testing.AllocsPerRun(100, func() { d.Of(long, key) }); n != 0 {
		t.Errorf("a digest costs %v allocations", n)
	}
}

// FuzzBatch: no bytes upset the parser, and what it takes for a batch is encoded to the same bytes.
func FuzzBatch(f *testing.F) {
	for _, h := range someBatches() {
		f.Add(encode(&h))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, records, err := counts.ParseHead(b)
		if err != nil {
			return
		}
		again := counts.AppendHead(nil, &h)
		for len(records) > 0 {
			var r counts.Record
			if r, records = counts.ParseRecord(records); r.Rule >= len(h.Rules) {
				t.Fatalf("a record of rule %d of %d", r.Rule, len(h.Rules))
			}
			again = counts.AppendRecord(again, &r)
		}
		h2, _, err := counts.ParseHead(again)
		if err != nil || !reflect.DeepEqual(h, h2) || len(again) > len(b) {
			t.Errorf("%x is encoded as %x: %v", b, again, err)
		}
	})
}
