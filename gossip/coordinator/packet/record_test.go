package packet_test

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

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/moments"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func someTotals() (t window.Totals) {
	t.Period = 28_333_334
	t.By[0] = window.PeriodTotals{Offered: 300, Admitted: 7, Times: 9000}
	t.By[4] = window.PeriodTotals{Offered: 1, Admitted: 1}
	return t
}

// someMoments are some beside someTotals: the newest after the beginning of its running period.
var someMoments = moments.List{
	{Bin: 28_333_334*moments.Parts + 300, Units: 5},
	{Bin: 28_333_334*moments.Parts + 2, Units: 2},
	{Bin: 28_333_333 * moments.Parts, Units: 1000},
}

// someRecords are records with all fields, and with none.
func someRecords() []packet.Record {
	demand := control.Report{
		Rate: 1234.5, Admitted: 1000, Over: 400 * time.Millisecond, Totals: someTotals(),
		Blocked: 9 * time.Minute,
		TTL:     3 * time.Second, LastSum: 5000,
	}
	view := control.GlobalView{
		Sum: 5000, Limit: 980, EchoRate: 1234.5, Shed: true,
		Others: someTotals(), Blocked: time.Minute,
	}
	return []packet.Record{
		{
			Kind: packet.Ask, ID: packet.ID{Rule: "per-ip", Key: "203.0.113.7"}, Nonce: 0xfeedbeef,
			Alone: true, Done: true, Report: demand,
		},
		{
			Kind: packet.Report, ID: packet.ID{Rule: "per-ip", Key: "203.0.113.7"}, Nonce: 1,
			Report: control.Report{Over: time.Second},
		},
		{Kind: packet.View, ID: packet.ID{
			Rule: strings.Repeat("r", 64),
			Key:  strings.Repeat("k", 256),
		}, Nonce: 2, View: view, From: "lhr"},
		{
			Kind: packet.Advice, ID: packet.ID{Rule: "r", Key: "\x00"}, View: control.GlobalView{},
			From: "",
		},
		{
			Kind: packet.Report, ID: packet.ID{Rule: "r", Key: "k"}, Nonce: 3,
			Report: control.Report{Rate: 2, Over: time.Second, RateOnly: true},
		},
		{
			Kind: packet.View, ID: packet.ID{Rule: "r", Key: "k"}, Nonce: 4,
			View: control.GlobalView{Sum: 6, Limit: 2, EchoRate: 2, RateOnly: 4}, From: "lhr",
		},
		{
			Kind: packet.View, ID: packet.ID{Rule: "r", Key: "k"}, Nonce: 5,
			View: control.GlobalView{
				Sum: 6000, Limit: 2000, EchoRate: 3000, Share: 1500,
				Shed: true,
			}, From: "lhr",
		},
		{
			Kind: packet.Advice, ID: packet.ID{Rule: "r", Key: "k"}, Nonce: 6,
			View: control.GlobalView{
				Sum: 6, Limit: 2, Share: 1.5, Others: someTotals(),
				RateOnly: 1, Blocked: time.Minute,
			}, From: "lhr",
		},
		{
			Kind: packet.Ask, ID: packet.ID{Rule: "r", Key: "k"}, Nonce: 7,
			Report: control.Report{
				Rate: 2, Over: time.Second, Totals: someTotals(),
				Moments: someMoments,
			},
		},
		{
			Kind: packet.View, ID: packet.ID{Rule: "r", Key: "k"}, Nonce: 8,
			View: control.GlobalView{
				Sum: 6, Limit: 2, Share: 1.5, Others: someTotals(),
				Moments: someMoments,
			}, From: "lhr",
		},
	}
}

func somePacket() []byte {
	b := packet.AppendHeader(nil, packet.Header{
		Sender: "edge-1", Session: 1_800_000_000_000,
		Sequence: 300, Issued: 1_800_000_000_123,
	})
	for _, r := range someRecords() {
		b, _ = packet.AppendRecord(b, &r, nil)
	}
	return b
}

// bodyOf returns the encoded body of r.
func bodyOf(r *packet.Record) []byte {
	b, _ := packet.AppendRecord(nil, r, nil)
	_, body, _, _ := packet.NextRecord(b)
	return body
}

func TestRecordsRoundTrip(t *testing.T) {
	h, rest, ok := packet.ParseHeader(somePacket())
	if want := (packet.Header{
		Sender: "edge-1", Session: 1_800_000_000_000, Sequence: 300,
		Issued: 1_800_000_000_123,
	}); !ok || h != want {
		t.Fatalf("header %+v, %v", h, ok)
	}
	for _, want := range someRecords() {
		var k packet.Kind
		var body []byte
		if k, body, rest, ok = packet.NextRecord(rest); !ok || k != want.Kind {
			t.Fatalf("kind %v, %v", k, ok)
		}
		got, err := packet.ParseRecord(k, body)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v:\n%+v, want\n%+v", err, got, want)
		}
		if _, err := packet.ParseRecord(k, append(bytes.Clone(body), 1, 2, 3)); err != nil {
			t.Errorf("kind %v with a later version's fields: %v", k, err)
		}
		for n := range body {
			if _, err := packet.ParseRecord(k, body[:n]); err == nil {
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

// TestMomentsThatAreNone: what no list has is malformed, and a list that is too long loses its
// oldest lumps.
func TestMomentsThatAreNone(t *testing.T) {
	r := packet.Record{
		Kind: packet.Report, ID: packet.ID{Rule: "r", Key: "k"},
		Report: control.Report{Totals: someTotals()},
	}
	for _, l := range []moments.List{
		{{Bin: 1, Units: 0}},
		{{Bin: 1, Units: -1}},
		{{Bin: -1, Units: 1}},
		{{Bin: 5, Units: 1}, {Bin: 5, Units: 1}},
		{{Bin: 5, Units: 1}, {Bin: 6, Units: 1}},
		{{Bin: math.MaxInt64, Units: 1}},
		{{Bin: 5, Units: packet.MaxCount + 1}},
	} {
		r.Report.Moments = l
		if got, err := packet.ParseRecord(packet.Report, bodyOf(&r)); err == nil {
			t.Errorf("%v is taken for %v", l, got.Report.Moments)
		}
	}
	r.Report.Moments = nil
	for n := range 2 * moments.MaxLumps {
		r.Report.Moments = append(r.Report.Moments, moments.Lump{
			Bin:   moments.Bin(1000 - n),
			Units: 1,
		})
	}
	if got, err := packet.ParseRecord(packet.Report, bodyOf(&r)); err != nil ||
		!reflect.DeepEqual(got.Report.Moments, r.Report.Moments[:moments.MaxLumps]) {
		t.Errorf("%v: %v", err, got.Report.Moments)
	}
	r.Report.Totals = window.Totals{} // moments of no totals are not sent
	if got, err := packet.ParseRecord(packet.Report, bodyOf(&r)); err != nil ||
		got.Report.Moments != nil {
		t.Errorf("%v: %v", err, got.Report.Moments)
	}
}

func TestRatesThatAreNone(t *testing.T) {
	for _, rate := range []float64{math.NaN(), math.Inf(1), -1, 1e30} {
		r := packet.Record{
			Kind: packet.Report, ID: packet.ID{Rule: "r", Key: "k"},
			Report: control.Report{Rate: rate},
		}
		if _, err := packet.ParseRecord(packet.Report, bodyOf(&r)); err == nil {
			t.Errorf("a rate of %v is taken", rate)
		}
	}
	r := packet.Record{
		Kind: packet.View, ID: packet.ID{Rule: "r", Key: "k"},
		View: control.GlobalView{Others: window.Totals{
			Period: 1,
			By:     [6]window.PeriodTotals{{Offered: 1, Admitted: 2}},
		}},
	}
	if _, err := packet.ParseRecord(packet.View, bodyOf(&r)); err == nil {
		t.Error("more admitted than offered is taken")
	}
}

// FuzzRecord checks that a parsed record is encoded as it was read.
func FuzzRecord(f *testing.F) {
	for _, r := range someRecords() {
		f.Add(uint8(r.Kind), bodyOf(&r))
	}
	f.Fuzz(func(t *testing.T, k uint8, body []byte) {
		if k == 0 || k >= uint8(packet.Kinds) {
			return
		}
		r, err := packet.ParseRecord(packet.Kind(k), body)
		if err != nil {
			return
		}
		again, err := packet.ParseRecord(packet.Kind(k), bodyOf(&r))
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("%v: %+v, again %+v", err, r, again)
		}
	})
}
