package override

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// wordsNow is the time of the tests, Unix milliseconds.
const testNow = int64(1_800_000_000_000)

// testWord returns a block of an hour, with changes.
func testOverride(change ...func(*Override)) Override {
	o := Override{
		Rule: "per-ip", Key: []byte("203.0.113.7"), Verb: Block, Issued: testNow,
		Until: testNow + time.Hour.Milliseconds(), Keep: testNow + 2*time.Hour.Milliseconds(),
		Node: "lhr-1", Who: "ops", Reason: "ärger",
	}
	for _, f := range change {
		f(&o)
	}
	return o
}

func TestGolden(t *testing.T) {
	golden, err := os.ReadFile("testdata/overrides.golden")
	if err != nil {
		t.Fatal(err)
	}
	all := []Override{
		testOverride(),
		testOverride(func(o *Override) {
			o.Verb, o.Until, o.Key, o.Who, o.Reason = Lift, o.Issued,
				[]byte{0, 255}, "", ""
		}),
	}
	state := AppendAll(nil, all)
	if got := hex.EncodeToString(state); got != strings.TrimSpace(string(golden)) {
		t.Errorf("released nodes would not understand\n%s", got)
	}
	read, err := ParseAll(state)
	if d := cmp.Diff(all, read); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	later := append(Append(nil, &all[0]), "what a later version adds"...)
	if o, err := Parse(later); err != nil || cmp.Diff(o, all[0]) != "" {
		t.Errorf("a later version's override: %v %v", o, err)
	}
}

func TestBounds(t *testing.T) {
	hour := time.Hour.Milliseconds()
	cases := map[string]struct {
		change func(*Override)
		want   error
	}{
		"as it is": {func(*Override) {}, nil},
		"greatest": {func(o *Override) {
			o.Until, o.Keep = o.Issued+720*hour,
				o.Issued+720*hour
		}, nil},
		"longest texts": {func(o *Override) {
			o.Who, o.Reason = strings.Repeat("w", 64),
				strings.Repeat("r", 256)
		}, nil},
		"over, remembered": {
			func(o *Override) { o.Issued -= hour; o.Until = o.Issued + 1000 },
			nil,
		},
		"a little early": {func(o *Override) { o.Issued += 120_000 }, nil},
		"early":          {func(o *Override) { o.Issued += 120_001 }, ErrEarly},
		"over": {func(o *Override) {
			o.Issued, o.Until, o.Keep = o.Issued-hour,
				o.Until-hour, testNow
		}, ErrOver},
		"too long": {func(o *Override) {
			o.Until, o.Keep = o.Issued+720*hour+1,
				o.Issued+720*hour+1
		}, ErrBad},
		"kept too long":     {func(o *Override) { o.Keep = o.Issued + 720*hour + 1 }, ErrBad},
		"kept too short":    {func(o *Override) { o.Keep = o.Until - 1 }, ErrBad},
		"too short":         {func(o *Override) { o.Until = o.Issued + 999 }, ErrBad},
		"a lift that lasts": {func(o *Override) { o.Verb = Lift }, ErrBad},
		"no key":            {func(o *Override) { o.Key = nil }, ErrBad},
		"long key":          {func(o *Override) { o.Key = make([]byte, 257) }, ErrBad},
		"no rule":           {func(o *Override) { o.Rule = "" }, ErrBad},
		"odd rule":          {func(o *Override) { o.Rule = "a b" }, ErrBad},
		"no node":           {func(o *Override) { o.Node = "" }, ErrBad},
		"says nothing":      {func(o *Override) { o.Verb = 0 }, ErrBad},
		"long who":          {func(o *Override) { o.Who = strings.Repeat("w", 65) }, ErrBad},
		"odd who":           {func(o *Override) { o.Who = "a\nb" }, ErrBad},
		"not text":          {func(o *Override) { o.Reason = "\xff" }, ErrBad},
		"before time":       {func(o *Override) { o.Issued = -1 }, ErrBad},
	}
	for name, c := range cases {
		o := testOverride(c.change)
		var s Set
		onNews, err := s.Merge(testNow, o)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) ||
			(onNews == Newest) != (c.want == nil) {
			t.Errorf("%s: %v, %v", name, onNews, err)
		}
		if is := s.Stats(); is.Held+int(is.Bad+is.Early+is.Over) != 1 {
			t.Errorf("%s: %+v", name, is)
		}
		_, err = Parse(Append(nil, &o))
		if bad := errors.Is(c.want, ErrBad); bad != (err != nil) && o.Issued > 0 {
			t.Errorf("%s: read: %v", name, err)
		}
	}
}

// TestLastOverrideStands checks that a later override replaces an earlier one for good: not even
// after its end does the earlier one return from a node that missed the later one.
func TestLastOverrideStands(t *testing.T) {
	var here, apart Set
	block, err := here.Issue(testNow, Override{
		Rule: "r", Key: []byte("k"), Verb: Block,
		Until: testNow + 86_400_000, Node: "a",
	})
	if n, err2 := apart.Merge(testNow, block); n != Newest || err != nil || err2 != nil {
		t.Fatal(n, err, err2)
	}
	now := testNow - 60_000 // the clock went back
	allow, err := here.Issue(now, Override{
		Rule: "r", Key: []byte("k"), Verb: Allow,
		Until: now + 600_000, Node: "a",
	})
	if err != nil || allow.Compare(&block) <= 0 || allow.Keep != block.Keep ||
		allow.Until != allow.Issued+600_000 {
		t.Fatalf("%+v, %v", allow, err)
	}
	now += 3_600_000
	if n, err := here.Merge(now, block); n != Known || err != nil {
		t.Errorf("the earlier override came back: %v %v", n, err)
	}
	lift, _ := here.Issue(now, Override{Rule: "r", Key: []byte("k"), Verb: Lift, Node: "a"})
	if lift.Keep != block.Keep || lift.Until != lift.Issued {
		t.Errorf("a lift is kept until %d, its block lasts until %d", lift.Keep, block.Until)
	}
	if is, err := apart.Merge(now, lift); is != Newest || err != nil {
		t.Errorf("the lift: %v %v", is, err)
	}
	for _, o := range []Override{lift, allow, block} {
		if is, err := apart.Merge(now, o); is != Known || err != nil {
			t.Errorf("news after the lift: %v %v", is, err)
		}
	}
	if o, ok := apart.Last(now, "r", []byte("k")); !ok || o.InForce(now) {
		t.Errorf("apart: %+v %v", o, ok)
	}
	here.Sweep(lift.Keep)
	if is := here.Stats(); is.Held != 0 {
		t.Errorf("%d overrides kept that nothing needs", is.Held)
	}
	unknown, _ := here.Issue(now, Override{Rule: "r", Key: []byte("k"), Verb: Lift, Node: "a"})
	if unknown.Keep != now+MaxTTL.Milliseconds() {
		t.Errorf("a lift of an unknown override is kept for %d ms", unknown.Keep-now)
	}
}

// TestFullSet checks that the override that ends first goes, and never one in force for an expired
// one.
func TestFullSet(t *testing.T) {
	var s Set
	override := func(n int) Override {
		return testOverride(func(o *Override) {
			o.Key, o.Until, o.Keep = fmt.Appendf(nil, "%d", n), o.Issued+int64(n+1000),
				o.Issued+int64(n+1000)
		})
	}
	for n := 1; n <= MaxHeld; n++ {
		if is, err := s.Merge(testNow, override(n)); is != Newest || err != nil {
			t.Fatal(n, is, err)
		}
	}
	if is, err := s.Merge(testNow, override(0)); is != Known || !errors.Is(err, ErrRoom) {
		t.Errorf("an override shorter than all: %v %v", is, err)
	}
	if is, err := s.Merge(testNow, override(MaxHeld+1)); is != Newest || err != nil {
		t.Errorf("an override longer than all: %v %v", is, err)
	}
	if _, ok := s.Last(testNow, "per-ip", []byte("1")); ok {
		t.Error("the shortest is still there")
	}
	lift := testOverride(func(o *Override) {
		o.Verb, o.Until, o.Keep = Lift, o.Issued,
			o.Issued+MaxTTL.Milliseconds()
	})
	if is, err := s.Merge(testNow, lift); is != Known || err == nil {
		t.Errorf("a lift drove out an override in force: %v %v", is, err)
	}
	is := s.Stats()
	if is.Held != MaxHeld || is.Evicted != 1 || is.Full != 2 {
		t.Errorf("%+v", is)
	}
	if state := AppendAll(nil, s.All(testNow)); len(state) > MaxAllRecord {
		t.Errorf("%d bytes", len(state))
	}
	if is, err := s.Merge(testNow+2000, lift); is != Newest || err != nil {
		t.Errorf("a lift among expired overrides: %v %v", is, err)
	}
}

// FuzzParse checks the codec against itself: a parsed override is within its bounds and is encoded
// as it was read.
func FuzzParse(f *testing.F) {
	o := testOverride()
	record := Append(nil, &o)
	f.Add(record)
	f.Add(append(slices.Clone(record), 1, 2, 3))
	f.Add(record[:len(record)-1])
	f.Add([]byte{1, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, record []byte) {
		o, err := Parse(record)
		if err != nil {
			return
		}
		if err := o.check(); err != nil {
			t.Fatalf("%+v: %v", o, err)
		}
		again, err := Parse(Append(nil, &o))
		if d := cmp.Diff(o, again); err != nil || d != "" {
			t.Fatalf("%v %s", err, d)
		}
		all, err := ParseAll(AppendAll(nil, []Override{o, again}))
		if err != nil || len(all) != 2 {
			t.Fatalf("together: %v %v", all, err)
		}
	})
}

func FuzzParseAll(f *testing.F) {
	f.Add(AppendAll(nil, []Override{
		testOverride(),
		testOverride(func(o *Override) { o.Key = []byte("other") }),
	}))
	f.Add([]byte{})
	f.Add([]byte{1, 0})
	f.Fuzz(func(t *testing.T, state []byte) {
		all, err := ParseAll(state)
		if err != nil && all != nil {
			t.Fatal("overrides beside an error")
		}
		if again, err2 := ParseAll(AppendAll(nil, all)); err == nil &&
			(err2 != nil || len(again) != len(all)) {
			t.Fatalf("%d overrides, then %d: %v", len(all), len(again), err2)
		}
	})
}

// FuzzMergeOverrides checks the laws of merging: whatever the order and the repetitions of
// overrides, the resulting set is the same, and nothing is news twice.
func FuzzMergeOverrides(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x10\x11\x12\x13\x33\x22\x11\x00"))
	f.Add([]byte{0xff, 0xfe, 0x01, 0x81, 0x42})
	f.Add([]byte{0x06, 0x86}) // alike but for who
	f.Add([]byte{0x06, 0x02}) // alike but for the action
	f.Add([]byte{0x06, 0x26}) // alike but for the end
	f.Fuzz(func(t *testing.T, spec []byte) {
		var all []Override
		for _, b := range spec[:min(len(spec), 64)] { // few values a field, so that ties abound
			all = append(all, testOverride(func(o *Override) {
				o.Key, o.Verb = []byte{b & 1}, min(Verb(1+b>>1&3), Block)
				o.Issued -= int64(b >> 3 & 3)
				o.Until = o.Issued
				if o.Verb != Lift {
					o.Until += 1000 + int64(b>>5&1)
				}
				o.Keep = o.Until + 2000 + int64(b>>6&1)*500
				o.Who = string(rune('a' + b>>7))
			}))
		}
		var forth, back, halves Set
		merge := func(s *Set, all []Override) { s.MergeAll(testNow, all, nil) }
		merge(&forth, all)
		merge(&halves, all[len(all)/2:])
		var first Set
		merge(&first, all[:len(all)/2])
		merge(&halves, first.All(testNow)) // merged elsewhere
		slices.Reverse(all)
		merge(&back, all)
		want := forth.All(testNow)
		if d := cmp.Diff(want, back.All(testNow)); d != "" {
			t.Fatalf("not commutative: %s", d)
		}
		if d := cmp.Diff(want, halves.All(testNow)); d != "" {
			t.Fatalf("not associative: %s", d)
		}
		forth.MergeAll(testNow, append(all, want...),
			func(o Override, n News) { t.Fatalf("news again: %+v %v", o, n) })
	})
}
