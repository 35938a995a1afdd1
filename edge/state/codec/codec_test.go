package codec_test

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"hash/crc64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/gate/snapshot"
	"github.com/headgate-dev/headgate/edge/state/codec"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

var updateGolden = flag.Bool("update", false, "write the golden files of this package anew")

// goldenWritten is when the golden states were written, Unix microseconds.
const goldenWritten = 1_700_000_000_000_000

// stateBefore is before.state: as written before counts had an exchanged part.
func stateBefore() *gate.Snapshot {
	return &gate.Snapshot{
		Written: goldenWritten, Stopped: true,
		Rules: []snapshot.Rule{
			{Name: "shed", Window: 10 * time.Second},
			{Name: "world", Window: time.Minute},
		},
		Flags: []snapshot.Flag{{
			Rule: 0, Key: []byte("10.0.0.1"), Action: mitigation.Shed, Ratio: 1 << 31,
			Source: mitigation.Gossip,
			Since:  goldenWritten - 3_000_000, Until: goldenWritten + 7_000_000,
			Origin: "fra", Reason: "too much",
		}},
		Counts: []snapshot.Count{
			{
				Rule: 0, Key: []byte("10.0.0.1"), Refusing: true, Asked: 30,
				Marks: []snapshot.Mark{
					{At: goldenWritten - 4_000_000, Units: 2},
					{At: goldenWritten - 1_000_000, Units: 1},
				},
			},
			{
				Rule: 1, Key: []byte("10.0.0.2"), Asked: 60,
				Marks: []snapshot.Mark{{At: goldenWritten - 20_000_000, Units: 60}},
			},
		},
	}
}

// stateExchanged is whose.state, which says whose counts they are: the same, with the exchanged
// part of each count.
func stateExchanged() *gate.Snapshot {
	s := stateBefore()
	s.Counts[0].Apart, s.Counts[0].Ring = true,
		window.RingSnapshot{
			Kind: 1<<31 | 1<<29, Period: 850_000_000,
			Last: 3<<40 | 5000<<14 | 3, Before: 1 << 63,
		}
	told, heard := window.Totals{Period: 141_666_666}, window.Totals{Period: 141_666_665}
	told.By[0] = window.PeriodTotals{Offered: 25, Admitted: 20, Times: 41_000}
	heard.By[window.Periods-1] = window.PeriodTotals{Offered: 40, Admitted: 40, Times: 82_000}
	s.Counts[1].Apart, s.Counts[1].Global = true,
		control.Snapshot{Reported: told, Alone: true, Merged: heard}
	byPoP := s.Counts[1]
	byPoP.Key, byPoP.Global = []byte("10.0.0.3"), control.Snapshot{Merged: heard}
	s.Counts = append(s.Counts, byPoP)
	return s
}

// TestStrikes: the strikes of keys are read as they were written, and one without a number is torn.
func TestStrikes(t *testing.T) {
	t.Parallel()
	s := stateBefore()
	s.Strikes = []snapshot.Strikes{{
		Rule: 1, Key: []byte("10.0.0.2"), Number: 3,
		Forget: goldenWritten + 86_400_000_000,
	}}
	all, left := codec.Encode(nil, s)
	if left != 0 {
		t.Fatalf("%d did not fit", left)
	}
	if back, err := codec.Decode(all); err != nil || len(back.Strikes) != 1 ||
		fmt.Sprintf("%+v", back.Strikes) != fmt.Sprintf("%+v", s.Strikes) {
		t.Errorf("%+v, %v", back, err)
	}
	s.Strikes[0].Number = 0
	if all, _ = codec.Encode(nil, s); len(all) == 0 {
		t.Fatal("nothing was written")
	}
	if _, err := codec.Decode(all); err == nil {
		t.Error("strikes without a number were read")
	}
}

func readGolden(t testing.TB, name string) []byte {
	t.Helper()
	all, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestStateGolden holds the bytes of a state: those of before are still read, and are never written
// anew.
func TestStateGolden(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]*gate.Snapshot{
		"before.state": stateBefore(),
		"whose.state":  stateExchanged(),
	} {
		all, _ := codec.Encode(nil, want)
		if *updateGolden && name == "whose.state" {
			if err := os.WriteFile(filepath.Join("testdata", name), all, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		is, err := codec.Decode(readGolden(t, name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d := cmp.Diff(want, is); d != "" {
			t.Errorf("%s is read as something else: %s", name, d)
		}
		if d := cmp.Diff(readGolden(t, name), all); d != "" {
			t.Errorf("%s is written otherwise: %s", name, d)
		}
	}
}

// frame returns the state whose body is body, with the length and the checksum of package codec's
// comment.
func frame(body []byte) []byte {
	all := append([]byte("headgate\x01"), binary.BigEndian.AppendUint64(nil, uint64(len(body)))...)
	all = append(all, body...)
	return binary.BigEndian.AppendUint64(all, crc64.Checksum(all, crc64.MakeTable(crc64.ECMA)))
}

// bodyOf returns the body of a state.
func bodyOf(all []byte) []byte { return all[17 : len(all)-8] }

// countRecord returns the fields of the only count of s, and the body of its state up to them.
func countRecord(s *gate.Snapshot) (before, fields []byte) {
	all, _ := codec.Encode(nil, s)
	for rest := bodyOf(all); ; {
		length, n := binary.Uvarint(rest[1:])
		end := 1 + n + int(length)
		if rest[0] == 5 { // a count
			return bodyOf(all)[:len(bodyOf(all))-len(rest)], rest[1+n : end]
		}
		rest = rest[end:]
	}
}

// stateOfCount returns the state that ends with a count of fields.
func stateOfCount(before, fields []byte) []byte {
	body := binary.AppendUvarint(append(bytes.Clone(before), 5), uint64(len(fields)))
	return frame(append(body, fields...))
}

// TestExchangedIsAllOrNothing cuts the exchanged part of a count's record at every byte: a part is
// torn. So is one of an unknown sender, and of a PoP that sent nothing.
func TestExchangedIsAllOrNothing(t *testing.T) {
	t.Parallel()
	for n := range stateExchanged().Counts {
		s := stateExchanged()
		s.Counts = s.Counts[n : n+1]
		before, whole := countRecord(s)
		s.Counts[0].Apart = false
		_, without := countRecord(s)
		if _, err := codec.Decode(stateOfCount(before, whole)); err != nil {
			t.Fatalf("whole: %v", err)
		}
		for end := len(without) + 1; end < len(whole); end++ {
			if is, err := codec.Decode(stateOfCount(before, whole[:end])); err == nil {
				t.Errorf("count %d cut at %d of %d is read as %+v", n, end-len(without),
					len(whole)-len(without), is.Counts)
			}
		}
		for _, sender := range []byte{1, 3} { // a PoP that sent nothing, and an unknown sender
			if _, err := codec.Decode(stateOfCount(before,
				append(bytes.Clone(without), 0, sender, 0, 0))); err == nil {
				t.Errorf("sender %d is accepted", sender)
			}
		}
	}
}

// exampleState returns a state with a record of every type.
func exampleState(t testing.TB) []byte {
	g := gatetest.New(t, 1<<20, gatetest.Shed, gatetest.Block)
	gatetest.Refuse(g, "block", "blocked")
	gatetest.Refuse(g, "shed", "shed")
	if _, err := g.Override(g.Now(),
		gate.ByHand{
			Rule: "shed", Key: []byte("by hand"), Action: mitigation.Block,
			TTL: time.Hour,
		}); err != nil {
		t.Fatal(err)
	}
	all, _ := codec.Encode(nil, g.Snapshot(g.Now(), false))
	return all
}

// TestStateBounds: a state never grows beyond its bound, and dropped records are counted.
func TestStateBounds(t *testing.T) {
	t.Parallel()
	s := &gate.Snapshot{Written: 1 << 50, Rules: []snapshot.Rule{{Name: "r", Window: time.Second}}}
	for n := range 33_000 {
		key := bytes.Repeat([]byte{byte(n), byte(n >> 8)}, 128)
		s.Flags = append(s.Flags, snapshot.Flag{
			Key: key, Source: mitigation.Self,
			Reason: strings.Repeat("r", 256),
		})
	}
	all, left := codec.Encode(nil, s)
	if len(all) > codec.MaxBytes || left == 0 || left > 10_000 {
		t.Errorf("%d bytes, %d left out", len(all), left)
	}
	if back, err := codec.Decode(all); err != nil || len(back.Flags) != len(s.Flags)-left {
		t.Errorf("%v", err)
	}
}

// FuzzSnapshot reads any bytes as a state: it is refused, or is the same after another round; and a
// state that was read is put in force without harm, whatever its checksum was made to hide.
func FuzzSnapshot(f *testing.F) {
	f.Add(exampleState(f))
	for _, name := range []string{"before.state", "whose.state"} {
		f.Add(readGolden(f, name))
	}
	f.Add([]byte("headgate"))
	f.Add([]byte{})
	g := gatetest.New(f, 1<<20, gatetest.Shed, gatetest.Block)
	f.Fuzz(func(t *testing.T, all []byte) {
		// as a file, and as a body that adds up
		for _, file := range [][]byte{all, frame(all), frame(all[min(len(all), 17):])} {
			s, err := codec.Decode(file)
			if err != nil {
				continue
			}
			again, left := codec.Encode(nil, s)
			back, err := codec.Decode(again)
			if err != nil || left != 0 {
				t.Fatalf("%v, %d left out", err, left)
			}
			if d := cmp.Diff(s, back); d != "" {
				t.Fatal(d)
			}
			if _, err := g.Restore(g.Now(), s, time.Second); err != nil &&
				g.FlagStats().Flags > 1000 {
				t.Fatal("more than there is room for")
			}
		}
	})
}
