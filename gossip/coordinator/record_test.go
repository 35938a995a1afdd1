package coordinator

import (
	"bytes"
	"encoding/hex"
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func someTotals() (t window.Totals) {
	t.Period = 28_333_334
	t.By[0] = window.PeriodTotals{Offered: 300, Admitted: 7, Times: 9000}
	t.By[4] = window.PeriodTotals{Offered: 1, Admitted: 1}
	return t
}

// someRecords are records with all fields, and with none.
func someRecords() []record {
	demand := control.Report{
		Rate: 1234.5, Admitted: 1000, Over: 400 * time.Millisecond, Totals: someTotals(), Blocked: 9 * time.Minute,
		TTL: 3 * time.Second, LastSum: 5000,
	}
	view := control.GlobalView{Sum: 5000, Limit: 980, EchoRate: 1234.5, Shed: true, Others: someTotals(), Blocked: time.Minute}
	return []record{
		{kind: kindAsk, id: id{"per-ip", "203.0.113.7"}, nonce: 0xfeedbeef, alone: true, done: true, report: demand},
		{kind: kindReport, id: id{"per-ip", "203.0.113.7"}, nonce: 1, report: control.Report{Over: time.Second}},
		{kind: kindView, id: id{strings.Repeat("r", 64), strings.Repeat("k", 256)}, nonce: 2, view: view, from: "lhr"},
		{kind: kindAdvice, id: id{"r", "\x00"}, view: control.GlobalView{}, from: ""},
		{kind: kindHint, id: id{"r", "k"}, view: control.GlobalView{Sum: 5000, Limit: 1000, Shed: true}, from: "edge-1", until: 1_800_000_000_000, seq: 77},
		{kind: kindReport, id: id{"r", "k"}, nonce: 3, report: control.Report{Rate: 2, Over: time.Second, RateOnly: true}},
		{kind: kindView, id: id{"r", "k"}, nonce: 4, view: control.GlobalView{Sum: 6, Limit: 2, EchoRate: 2, RateOnly: 4}, from: "lhr"},
	}
}

func somePacket() []byte {
	packet := appendHeader(nil, header{sender: "edge-1", session: 1_800_000_000_000, sequence: 300, issued: 1_800_000_000_123})
	for _, r := range someRecords() {
		packet, _ = appendRecord(packet, &r, nil)
	}
	return packet
}

func TestRecordsRoundTrip(t *testing.T) {
	h, rest, ok := parseHeader(somePacket())
	if want := (header{"edge-1", 1_800_000_000_000, 300, 1_800_000_000_123}); !ok || h != want {
		t.Fatalf("header %+v, %v", h, ok)
	}
	for _, want := range someRecords() {
		var k kind
		var body []byte
		if k, body, rest, ok = nextRecord(rest); !ok || k != want.kind {
			t.Fatalf("kind %v, %v", k, ok)
		}
		got, err := parseRecord(k, body)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v:\n%+v, want\n%+v", err, got, want)
		}
		if _, err := parseRecord(k, append(bytes.Clone(body), 1, 2, 3)); err != nil {
			t.Errorf("kind %v with a later version's fields: %v", k, err)
		}
		for n := range body {
			if _, err := parseRecord(k, body[:n]); err == nil {
				t.Errorf("kind %v cut off after %d of %d bytes is taken", k, n, len(body))
			}
		}
	}
	if len(rest) != 0 {
		t.Errorf("%d bytes left", len(rest))
	}
}

// The bytes of a version never change: an older node must understand them.
func TestPacketGolden(t *testing.T) {
	file := filepath.Join("testdata", "packet-v1.golden")
	got := hex.EncodeToString(somePacket()) + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestRatesThatAreNone(t *testing.T) {
	for _, rate := range []float64{math.NaN(), math.Inf(1), -1, 1e30} {
		r := record{kind: kindReport, id: id{"r", "k"}, report: control.Report{Rate: rate}}
		if _, err := parseRecord(kindReport, appendBody(nil, &r)); err == nil {
			t.Errorf("a rate of %v is taken", rate)
		}
	}
	r := record{kind: kindView, id: id{"r", "k"}, view: control.GlobalView{Others: window.Totals{Period: 1, By: [6]window.PeriodTotals{{Offered: 1, Admitted: 2}}}}}
	if _, err := parseRecord(kindView, appendBody(nil, &r)); err == nil {
		t.Error("more admitted than offered is taken")
	}
}

// FuzzReceive feeds a coordinator any bytes from a member, and advances time.
func FuzzReceive(f *testing.F) {
	f.Add(somePacket())
	f.Add([]byte{})
	f.Add([]byte{Version, 2, 'b', '0', 1, 1, 0})
	f.Fuzz(func(t *testing.T, packet []byte) {
		c := newFleet(t, second, 1, 1)
		n := c.nodes["a0"]
		n.Measure(c.now, c.now.Time(), []Sample{{Rule: "r", Key: []byte("k"), Since: 1, Report: control.Report{Rate: 9_000, Over: time.Second}}})
		n.Receive(c.now, c.now.Time(), packet)
		h := header{sender: "b0", session: 1, sequence: 1, issued: int64(c.now) / int64(time.Millisecond)}
		n.Receive(c.now, c.now.Time(), append(appendHeader(nil, h), packet...))
		n.ReceiveHint(c.now, c.now.Time(), packet)
		for range 3 {
			c.now = c.now.Add(50 * time.Millisecond)
			n.Tick(c.now, c.now.Time())
		}
		if s := n.Stats(); s.Locals > MaxLocals || s.ReporterKeys > MaxReporterKeys || s.OwnedKeys > MaxOwnedKeys || s.Hints > MaxHints {
			t.Errorf("%+v", s)
		}
	})
}

// FuzzRecord checks that a parsed record is encoded as it was read.
func FuzzRecord(f *testing.F) {
	for _, r := range someRecords() {
		f.Add(uint8(r.kind), appendBody(nil, &r))
	}
	f.Fuzz(func(t *testing.T, k uint8, body []byte) {
		if k == 0 || k >= uint8(kinds) {
			return
		}
		r, err := parseRecord(kind(k), body)
		if err != nil {
			return
		}
		again, err := parseRecord(kind(k), appendBody(nil, &r))
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("%v: %+v, again %+v", err, r, again)
		}
	})
}
