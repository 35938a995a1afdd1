package live

import (
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/headgate-dev/headgate/edge/api"
)

// totals returns a series' totals: offered, and half of it admitted.
func totals(name string, offered uint64) Totals {
	t := Totals{Name: name}
	t.Values[Offered], t.Values[Admitted] = float64(offered), float64(offered/2)
	return t
}

// shownRates returns the JSON of a series.
func shownRates(t *testing.T, h *History, name string, value int) string {
	t.Helper()
	_, all := h.Read(Quarter, name)
	if len(all) != 1 || all[0].Name != name {
		t.Fatalf("%s: %+v", name, all)
	}
	text, err := json.Marshal(all[0].Rates[value])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestHistory(t *testing.T) {
	t.Parallel()
	var h History
	const begin = 1000 * time.Hour
	h.Sample(begin, []Totals{totals("a", 1000)})
	if ends, _ := h.Read(Quarter, ""); len(ends) != 0 || shownRates(t, &h, "a", Offered) != "[]" {
		t.Errorf("something is known at the first sample: %v", ends)
	}
	h.Sample(begin+Every, []Totals{totals("a", 1100), totals("b", 7)})
	h.Sample(begin+Every+time.Second, []Totals{totals("a", 9999)}) // too soon
	h.Sample(begin+2*Every, []Totals{totals("b", 17), totals("a", 1100)})
	// b began anew
	h.Sample(begin+3*Every+time.Millisecond, []Totals{totals("b", 7), totals("a", 1101)})
	// two were missed
	h.Sample(begin+6*Every, []Totals{totals("b", 12), totals("a", 1401)})
	ends, all := h.Read(Quarter, "")
	want := []time.Duration{
		Every, 2 * Every, 3*Every + time.Millisecond, 4 * Every,
		5 * Every, 6 * Every,
	}
	for n := range want {
		want[n] += begin
	}
	if diff := cmp.Diff(want, ends); diff != "" || len(all) != 2 || all[0].Name != "b" {
		t.Errorf("%d series (-want +got):\n%s", len(all), diff)
	}
	for name, want := range map[string]string{
		"a": "[20,0,0.2,null,null,20]",
		"b": "[null,2,null,null,null,0.3334]",
	} {
		if got := shownRates(t, &h, name, Offered); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := shownRates(t, &h, "a", Admitted); got != "[10,0,0,null,null,10]" {
		t.Errorf("admitted: %s", got)
	}
	h.Sample(begin+7*Every, []Totals{totals("a", 1401)})
	if _, all := h.Read(Quarter, "b"); len(all) != 0 {
		t.Errorf("b is gone and remembered: %+v", all)
	}
}

// TestHistoryAgainstAllThereWas runs for longer than a history lasts, with gaps, beside one that
// forgets nothing.
func TestHistoryAgainstAllThereWas(t *testing.T) {
	t.Parallel()
	var h History
	var rates api.Rates
	var ends []time.Duration
	at, offered := 5*time.Hour, uint64(0)
	h.Sample(at, []Totals{totals("a", 0)})
	for n := range 4 * Steps {
		missed := 0
		if n%37 == 36 {
			missed = n % 5
		}
		for m := range missed {
			rates, ends = append(rates, float32(math.NaN())),
				append(ends, at+time.Duration(m+1)*Every)
		}
		gone := time.Duration(missed+1) * Every
		at += gone
		offered += uint64(n)
		h.Sample(at, []Totals{totals("a", offered)})
		rates, ends = append(rates, float32(float64(n)/gone.Seconds())), append(ends, at)
		last := max(0, len(ends)-Steps)
		gotEnds, got := h.Read(Quarter, "a")
		if diff := cmp.Diff(ends[last:], gotEnds); diff != "" {
			t.Fatalf("step %d (-want +got):\n%s", n, diff)
		}
		if want, got := fmt.Sprint(rates[last:]), fmt.Sprint(got[0].Rates[Offered]); want != got {
			t.Fatalf("step %d: %s\nwant %s", n, got, want)
		}
	}
	h.Sample(at+1000*time.Hour, []Totals{totals("a", offered)}) // longer than it goes back
	if ends, all := h.Read(Quarter, ""); len(ends) != Steps ||
		all[0].Rates[Offered][Steps-1] != 0 ||
		all[0].Rates[Offered][0] == all[0].Rates[Offered][0] {
		t.Errorf("%d steps, %v", len(ends), all[0].Rates[Offered])
	}
}

// TestHistorySize checks the memory of a series.
func TestHistorySize(t *testing.T) {
	t.Parallel()
	if size := Ranges * (unsafe.Sizeof(series{}) + unsafe.Sizeof(rates{})); size != SeriesBytes ||
		size > 9<<10 {
		t.Errorf("%d bytes a series, %d said", size, SeriesBytes)
	}
}

// TestHistoryRanges counts 1 a second for 7 hours, then 3 a second for the last minute, with a
// sample every second asked for.
func TestHistoryRanges(t *testing.T) {
	t.Parallel()
	var h History
	at, offered := 2*time.Hour, uint64(0)
	for second := range 7*3600 + 1 {
		if h.Due(at) {
			h.Sample(at, []Totals{totals("a", offered)})
		}
		at += time.Second
		offered++
		if second >= 7*3600-60 {
			offered += 2
		}
	}
	for r, lasts := range map[Range]time.Duration{
		Quarter: 15 * time.Minute, Hour: time.Hour,
		SixHours: 6 * time.Hour,
	} {
		ends, all := h.Read(r, "a")
		if len(ends) != Steps || r.Step()*Steps != lasts ||
			ends[Steps-1]-ends[0] != lasts-r.Step() {
			t.Errorf("%v: %d steps from %v to %v", r, len(ends), ends[0], ends[len(ends)-1])
		}
		rates, sum := all[0].Rates[Offered], 0.0
		for _, rate := range rates {
			sum += float64(rate) * r.Step().Seconds()
		}
		if want := lasts.Seconds() + 120; rates[0] != 1 || math.Abs(sum-want) > 1 {
			t.Errorf("%v: begins with %v, %v in all, want %v", r, rates[0], sum, want)
		}
	}
}

// TestParseRange checks the names of the ranges.
func TestParseRange(t *testing.T) {
	t.Parallel()
	for r := range Range(Ranges) {
		if got, ok := ParseRange(r.String()); got != r || !ok {
			t.Errorf("%v: %v, %v", r, got, ok)
		}
	}
	if _, ok := ParseRange("2h"); ok {
		t.Error("2h is a range")
	}
}

// TestHistoryConcurrently reads while samples come.
func TestHistoryConcurrently(t *testing.T) {
	t.Parallel()
	var h History
	var working sync.WaitGroup
	for range 2 {
		working.Go(func() {
			for range 200 {
				ends, all := h.Read(Quarter, "")
				for _, s := range all {
					if len(s.Rates[Offered]) != len(ends) {
						t.Errorf("%d rates, %d steps", len(s.Rates[Offered]), len(ends))
					}
				}
			}
		})
	}
	for n := range 200 {
		h.Sample(time.Duration(n)*Every,
			[]Totals{totals("a", uint64(n)), totals(fmt.Sprint(n%3), 1)})
	}
	working.Wait()
}

func TestRates(t *testing.T) {
	t.Parallel()
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for want, r := range map[string]api.Rates{
		"[]": nil, "[null,null]": {nan, inf}, "[0,0.3333,1.235e+06,12]": {0, 1. / 3, 1234567, 12},
	} {
		got, err := json.Marshal(r)
		if string(got) != want || err != nil {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}

// TestHistoryOfTheQuiet: a series that never grew has the rate 0 since its first sample, and no
// rate where a sample was missed; so it has once it grows, or restarts.
func TestHistoryOfTheQuiet(t *testing.T) {
	t.Parallel()
	var h History
	for i, at := range []time.Duration{0, 1, 2, 4, 5, 6} { // the sample 3 is missed
		all := []Totals{totals("old", 7)}
		if i >= 2 {
			all = append(all, totals("new", 7), totals("restarts", 7))
		}
		if i == 5 {
			all = []Totals{totals("old", 9), totals("new", 8), totals("restarts", 1)}
		}
		h.Sample(at*Every, all)
		_, is := h.Read(Quarter, "")
		got := ""
		for _, s := range is {
			got += fmt.Sprint(s.Rates[Offered], " ")
		}
		per := 1 / Every.Seconds()
		if want := map[int]string{
			1: "[0] ",
			4: "[0 0 NaN 0 0] [NaN NaN NaN 0 0] [NaN NaN NaN 0 0] ",
			5: fmt.Sprintf("[0 0 NaN 0 0 %v] [NaN NaN NaN 0 0 %v] [NaN NaN NaN 0 0 NaN] ", 2*per,
				per),
		}[i]; want != "" && got != want {
			t.Errorf("after %d samples: %s, want %s", i+1, got, want)
		}
	}
}
