package mitigation

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

// wordsNow is when the tests' words are heard, Unix milliseconds.
const wordsNow = int64(1_800_000_000_000)

// testWord returns a block of an hour, with changes.
func testWord(change ...func(*Word)) Word {
	w := Word{
		Rule: "per-ip", Key: []byte("203.0.113.7"), Says: SaysBlock, Issued: wordsNow,
		Until: wordsNow + time.Hour.Milliseconds(), Keep: wordsNow + 2*time.Hour.Milliseconds(),
		Node: "lhr-1", Who: "ops", Reason: "ärger",
	}
	for _, f := range change {
		f(&w)
	}
	return w
}

func TestWordGolden(t *testing.T) {
	golden, err := os.ReadFile("testdata/words.golden")
	if err != nil {
		t.Fatal(err)
	}
	all := []Word{testWord(), testWord(func(w *Word) { w.Says, w.Until, w.Key, w.Who, w.Reason = SaysLift, w.Issued, []byte{0, 255}, "", "" })}
	state := AppendWords(nil, all)
	if got := hex.EncodeToString(state); got != strings.TrimSpace(string(golden)) {
		t.Errorf("released nodes would not understand\n%s", got)
	}
	read, err := ParseWords(state)
	if d := cmp.Diff(all, read); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	later := append(AppendWord(nil, &all[0]), "what a later version adds"...)
	if w, err := ParseWord(later); err != nil || cmp.Diff(w, all[0]) != "" {
		t.Errorf("a later version's word: %v %v", w, err)
	}
}

func TestWordBounds(t *testing.T) {
	hour := time.Hour.Milliseconds()
	cases := map[string]struct {
		change func(*Word)
		want   error
	}{
		"as it is":          {func(*Word) {}, nil},
		"greatest":          {func(w *Word) { w.Until, w.Keep = w.Issued+720*hour, w.Issued+720*hour }, nil},
		"longest texts":     {func(w *Word) { w.Who, w.Reason = strings.Repeat("w", 64), strings.Repeat("r", 256) }, nil},
		"over, remembered":  {func(w *Word) { w.Issued -= hour; w.Until = w.Issued + 1000 }, nil},
		"a little early":    {func(w *Word) { w.Issued += 120_000 }, nil},
		"early":             {func(w *Word) { w.Issued += 120_001 }, ErrWordEarly},
		"over":              {func(w *Word) { w.Issued, w.Until, w.Keep = w.Issued-hour, w.Until-hour, wordsNow }, ErrWordOver},
		"too long":          {func(w *Word) { w.Until, w.Keep = w.Issued+720*hour+1, w.Issued+720*hour+1 }, ErrWordBad},
		"kept too long":     {func(w *Word) { w.Keep = w.Issued + 720*hour + 1 }, ErrWordBad},
		"kept too short":    {func(w *Word) { w.Keep = w.Until - 1 }, ErrWordBad},
		"too short":         {func(w *Word) { w.Until = w.Issued + 999 }, ErrWordBad},
		"a lift that lasts": {func(w *Word) { w.Says = SaysLift }, ErrWordBad},
		"no key":            {func(w *Word) { w.Key = nil }, ErrWordBad},
		"long key":          {func(w *Word) { w.Key = make([]byte, 257) }, ErrWordBad},
		"no rule":           {func(w *Word) { w.Rule = "" }, ErrWordBad},
		"odd rule":          {func(w *Word) { w.Rule = "a b" }, ErrWordBad},
		"no node":           {func(w *Word) { w.Node = "" }, ErrWordBad},
		"says nothing":      {func(w *Word) { w.Says = 0 }, ErrWordBad},
		"long who":          {func(w *Word) { w.Who = strings.Repeat("w", 65) }, ErrWordBad},
		"odd who":           {func(w *Word) { w.Who = "a\nb" }, ErrWordBad},
		"not text":          {func(w *Word) { w.Reason = "\xff" }, ErrWordBad},
		"before time":       {func(w *Word) { w.Issued = -1 }, ErrWordBad},
	}
	for name, c := range cases {
		w := testWord(c.change)
		var s Words
		news, err := s.Merge(wordsNow, w)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || (news == Newest) != (c.want == nil) {
			t.Errorf("%s: %v, %v", name, news, err)
		}
		if is := s.Stats(); is.Held+int(is.Bad+is.Early+is.Over) != 1 {
			t.Errorf("%s: %+v", name, is)
		}
		_, err = ParseWord(AppendWord(nil, &w))
		if bad := errors.Is(c.want, ErrWordBad); bad != (err != nil) && w.Issued > 0 {
			t.Errorf("%s: read: %v", name, err)
		}
	}
}

// TestWordsLastStands checks that a later word takes the place of an earlier one for good: not even when it
// is over itself does the earlier one come back from a node that has heard nothing since.
func TestWordsLastStands(t *testing.T) {
	var here, apart Words
	block, err := here.Issue(wordsNow, Word{Rule: "r", Key: []byte("k"), Says: SaysBlock, Until: wordsNow + 86_400_000, Node: "a"})
	if n, err2 := apart.Merge(wordsNow, block); n != Newest || err != nil || err2 != nil {
		t.Fatal(n, err, err2)
	}
	now := wordsNow - 60_000 // the clock went back
	allow, err := here.Issue(now, Word{Rule: "r", Key: []byte("k"), Says: SaysAllow, Until: now + 600_000, Node: "a"})
	if err != nil || allow.Compare(&block) <= 0 || allow.Keep != block.Keep || allow.Until != allow.Issued+600_000 {
		t.Fatalf("%+v, %v", allow, err)
	}
	now += 3_600_000
	if n, err := here.Merge(now, block); n != Known || err != nil {
		t.Errorf("the earlier word came back: %v %v", n, err)
	}
	lift, _ := here.Issue(now, Word{Rule: "r", Key: []byte("k"), Says: SaysLift, Node: "a"})
	if lift.Keep != block.Keep || lift.Until != lift.Issued {
		t.Errorf("a lift is kept until %d, what it lifts lasts until %d", lift.Keep, block.Until)
	}
	if is, err := apart.Merge(now, lift); is != Newest || err != nil {
		t.Errorf("the lift: %v %v", is, err)
	}
	for _, w := range []Word{lift, allow, block} {
		if is, err := apart.Merge(now, w); is != Known || err != nil {
			t.Errorf("news after the lift: %v %v", is, err)
		}
	}
	if w, ok := apart.Last(now, "r", []byte("k")); !ok || w.InForce(now) {
		t.Errorf("apart: %+v %v", w, ok)
	}
	here.Sweep(lift.Keep)
	if is := here.Stats(); is.Held != 0 {
		t.Errorf("%d words kept that nothing needs", is.Held)
	}
	unheard, _ := here.Issue(now, Word{Rule: "r", Key: []byte("k"), Says: SaysLift, Node: "a"})
	if unheard.Keep != now+MaxWordTTL.Milliseconds() {
		t.Errorf("a lift of what was never heard is kept for %d ms", unheard.Keep-now)
	}
}

// TestWordsFull checks that what ends soonest goes, and never a word in force for one that is over.
func TestWordsFull(t *testing.T) {
	var s Words
	word := func(n int) Word {
		return testWord(func(w *Word) {
			w.Key, w.Until, w.Keep = fmt.Appendf(nil, "%d", n), w.Issued+int64(n+1000), w.Issued+int64(n+1000)
		})
	}
	for n := 1; n <= MaxWords; n++ {
		if is, err := s.Merge(wordsNow, word(n)); is != Newest || err != nil {
			t.Fatal(n, is, err)
		}
	}
	if is, err := s.Merge(wordsNow, word(0)); is != Known || !errors.Is(err, ErrWordRoom) {
		t.Errorf("a word shorter than all: %v %v", is, err)
	}
	if is, err := s.Merge(wordsNow, word(MaxWords+1)); is != Newest || err != nil {
		t.Errorf("a word longer than all: %v %v", is, err)
	}
	if _, ok := s.Last(wordsNow, "per-ip", []byte("1")); ok {
		t.Error("the shortest is still there")
	}
	lift := testWord(func(w *Word) { w.Says, w.Until, w.Keep = SaysLift, w.Issued, w.Issued+MaxWordTTL.Milliseconds() })
	if is, err := s.Merge(wordsNow, lift); is != Known || err == nil {
		t.Errorf("a lift drove out a word in force: %v %v", is, err)
	}
	is := s.Stats()
	if is.Held != MaxWords || is.Evicted != 1 || is.Full != 2 {
		t.Errorf("%+v", is)
	}
	if state := AppendWords(nil, s.All(wordsNow)); len(state) > MaxWordsRecord {
		t.Errorf("%d bytes", len(state))
	}
	if is, err := s.Merge(wordsNow+2000, lift); is != Newest || err != nil {
		t.Errorf("a lift among words that are gone: %v %v", is, err)
	}
}

// FuzzParseWord holds the codec to itself: what is read is within its bounds and is written as it was read.
func FuzzParseWord(f *testing.F) {
	w := testWord()
	record := AppendWord(nil, &w)
	f.Add(record)
	f.Add(append(slices.Clone(record), 1, 2, 3))
	f.Add(record[:len(record)-1])
	f.Add([]byte{1, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, record []byte) {
		w, err := ParseWord(record)
		if err != nil {
			return
		}
		if err := w.check(); err != nil {
			t.Fatalf("%+v: %v", w, err)
		}
		again, err := ParseWord(AppendWord(nil, &w))
		if d := cmp.Diff(w, again); err != nil || d != "" {
			t.Fatalf("%v %s", err, d)
		}
		all, err := ParseWords(AppendWords(nil, []Word{w, again}))
		if err != nil || len(all) != 2 {
			t.Fatalf("together: %v %v", all, err)
		}
	})
}

func FuzzParseWords(f *testing.F) {
	f.Add(AppendWords(nil, []Word{testWord(), testWord(func(w *Word) { w.Key = []byte("other") })}))
	f.Add([]byte{})
	f.Add([]byte{1, 0})
	f.Fuzz(func(t *testing.T, state []byte) {
		all, err := ParseWords(state)
		if err != nil && all != nil {
			t.Fatal("words beside an error")
		}
		if again, err2 := ParseWords(AppendWords(nil, all)); err == nil && (err2 != nil || len(again) != len(all)) {
			t.Fatalf("%d words, then %d: %v", len(all), len(again), err2)
		}
	})
}

// FuzzMergeWords checks the laws of merging: whatever order words come in, and however often, what is held at
// the end is the same, and nothing is news twice.
func FuzzMergeWords(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x10\x11\x12\x13\x33\x22\x11\x00"))
	f.Add([]byte{0xff, 0xfe, 0x01, 0x81, 0x42})
	f.Add([]byte{0x06, 0x86}) // alike but for who
	f.Add([]byte{0x06, 0x02}) // alike but for the action
	f.Add([]byte{0x06, 0x26}) // alike but for the end
	f.Fuzz(func(t *testing.T, spec []byte) {
		var all []Word
		for _, b := range spec[:min(len(spec), 64)] { // few values a field, so that ties abound
			all = append(all, testWord(func(w *Word) {
				w.Key, w.Says = []byte{b & 1}, min(Says(1+b>>1&3), SaysBlock)
				w.Issued -= int64(b >> 3 & 3)
				w.Until = w.Issued
				if w.Says != SaysLift {
					w.Until += 1000 + int64(b>>5&1)
				}
				w.Keep = w.Until + 2000 + int64(b>>6&1)*500
				w.Who = string(rune('a' + b>>7))
			}))
		}
		var forth, back, halves Words
		merge := func(s *Words, all []Word) {
			if _, err := s.MergeAll(wordsNow, all, nil); err != nil {
				t.Fatal(err)
			}
		}
		merge(&forth, all)
		merge(&halves, all[len(all)/2:])
		var first Words
		merge(&first, all[:len(all)/2])
		merge(&halves, first.All(wordsNow)) // what was merged elsewhere
		slices.Reverse(all)
		merge(&back, all)
		want := forth.All(wordsNow)
		if d := cmp.Diff(want, back.All(wordsNow)); d != "" {
			t.Fatalf("not commutative: %s", d)
		}
		if d := cmp.Diff(want, halves.All(wordsNow)); d != "" {
			t.Fatalf("not associative: %s", d)
		}
		_, err := forth.MergeAll(wordsNow, append(all, want...), func(w Word, n News) { t.Fatalf("news again: %+v %v", w, n) })
		if err != nil {
			t.Fatal(err)
		}
	})
}
