package story

import (
	"testing"
	"time"
)

func TestFlow(t *testing.T) {
	f := newFlow(4)
	f.Note(1, 3, Tally{Asked: 5, Admitted: 3, Denied: 2, Delay: time.Second})
	f.Note(1, 3, Tally{Asked: 1, Unanswered: 1, Delay: time.Millisecond})
	f.Note(0, 4, Tally{Asked: 7, Admitted: 7})
	if got := f.At(1, 0,
		4); got != (Tally{
		Asked: 6, Admitted: 3, Denied: 2, Unanswered: 1,
		Delay: time.Second,
	}) {
		t.Errorf("fra: %+v", got)
	}
	if got := f.All(3, 5); got.Asked != 13 {
		t.Errorf("all: %+v", got)
	}
	f.Note(1, 7, Tally{Asked: 10}) // takes the place of bin 3
	f.Note(1, 3, Tally{Asked: 100})
	if got := f.At(1, 0, 8); got.Asked != 10 {
		t.Errorf("after four more bins: %+v", got)
	}
	if got := f.Everything(); got.Asked != 123 || f.Total(1).Asked != 116 {
		t.Errorf("everything: %+v", got)
	}
}

func TestShares(t *testing.T) {
	f := newFlow(100)
	for bin := range 2*BinsASecond + 5 {
		f.Note(bin%3, bin, Tally{Asked: Limit / 5, Admitted: Limit / 40})
	}
	admitted, offered := f.Shares(0, 45), f.Offered(5, 45)
	if len(admitted) != 2 || admitted[0] != 0.48 || admitted[1] != 0.48 {
		t.Errorf("admitted %v of the limit, want 0.48 in each of two seconds", admitted)
	}
	if len(offered) != 2 || offered[0] != 4 || offered[1] != 4 {
		t.Errorf("offered %v of the limit, want 4 in each of two seconds", offered)
	}
}

// played returns the record of an attack that was admitted the given share of the limit in each
// second of two rounds.
func played(length time.Duration, admitted func(second int) float64) *Record {
	s := Story{Length: length}
	r := NewRecord(s)
	for bin := range 2 * BinOf(length) {
		rate := s.Rates(time.Duration(bin) * Bin)
		if rate.Sum() == 0 {
			continue
		}
		got := int(admitted(bin/BinsASecond) * Limit / float64(BinsASecond))
		r.Attack.Note(bin%len(PoPs), bin, Tally{
			Asked: int(rate.Sum() * Limit / float64(BinsASecond)), Admitted: got,
			Delay: time.Duration(bin) * time.Millisecond,
		})
	}
	return r
}

// peaks is 1 but for three seconds: the attack's first, and the one in which it moves to fra, in
// both rounds of 100 s.
func peaks(second int) float64 {
	switch second {
	case 8:
		return 1.4
	case 55, 155:
		return 1.2
	}
	return 1
}

func TestRecord(t *testing.T) {
	const length = 100 * time.Second
	r := played(length, peaks)
	r.CatchUp(length + Patience/2)
	if got := r.Summary(length).Attack.Rounds; got != 0 {
		t.Errorf("%d rounds are added up before everything is answered", got)
	}
	r.CatchUp(length + 2*Patience)
	r.Finish(length + 60*time.Second)
	s := r.Summary(length + 60*time.Second)
	if s.Attack.Rounds != 2 || s.Attack.Outside != 3 || len(s.Attack.BySecond) != 52 || !s.Held {
		t.Errorf("%d rounds, %d seconds outside, %d seconds of the last, held %v", s.Attack.Rounds,
			s.Attack.Outside, len(s.Attack.BySecond), s.Held)
	}
	if got := s.Attack.Seconds; got != 136 {
		t.Errorf("the attack went on for %v s, want 136", got)
	}
	// one second of 1.4 and two of 1.2 among them
	if got, want := s.Attack.OfLimit, 136.8/136; got < want-0.001 || got > want+0.001 {
		t.Errorf("the attack was admitted %v of the limit, want %v", got, want)
	}
	if len(s.PoPs) != 3 || s.PoPs[1].PoP != "fra" || s.PoPs[1].Attack.Admitted == 0 {
		t.Errorf("PoPs: %+v", s.PoPs)
	}
	r.Normal.Note(0, 3, Tally{Asked: 1, Denied: 1})
	if r.Summary(length).Held {
		t.Error("held, though a normal client was denied")
	}
}

func TestRecordOfPhases(t *testing.T) {
	const length = 100 * time.Second
	r := played(length, peaks)
	r.Finish(length + 60*time.Second)
	phases := r.Summary(length + 60*time.Second).Attack.Phases
	start, fra := phases[0], phases[2]
	if start.Phase != "start" || start.Most != 1.4 || start.Least != 1 || *start.Settled != 0.9 {
		t.Errorf("start: %+v, settled after %v", start, *start.Settled)
	}
	if fra.Phase != "to-fra" || fra.Seconds != 20 || fra.Most != 1.2 || *fra.Settled != 0.75 {
		t.Errorf("to-fra: %+v, settled after %v", fra, *fra.Settled)
	}
	// its last bin ends at 120 s of the second round, 2,400 bins after the beginning
	if start.Delay != 2.399 {
		t.Errorf("start: the longest delay is %v s", start.Delay)
	}
}

// A demo that is ended at once has nothing to report of the attack, and does not report that the
// limit held.
func TestRecordOfNothing(t *testing.T) {
	r := NewRecord(Story{Length: Shortest})
	r.Finish(200 * time.Millisecond)
	s := r.Summary(200 * time.Millisecond)
	if s.Held || s.Attack.Phases != nil || s.Attack.Settled != nil || s.Attack.BySecond != nil {
		t.Errorf("%+v", s)
	}
}

// A phase that settles in one round and not in another is reported as not settled; of two that
// settled, the slower counts.
func TestSettled(t *testing.T) {
	const length = 100 * time.Second
	toFra := func(first, second float64) *float64 {
		r := played(length, func(at int) float64 {
			switch {
			case at >= 55 && at < 70:
				return first
			case at >= 155 && at < 170:
				return second
			}
			return 1
		})
		r.Finish(2 * length)
		return r.Summary(2 * length).Attack.Phases[2].Settled
	}
	if got := toFra(1, 1); got == nil || *got != 0 {
		t.Errorf("settled after %v, want 0 s", got)
	}
	if got := toFra(1.5, 1); got != nil {
		t.Errorf("settled after %v s, though not in the first round", *got)
	}
	if got := toFra(1, 1.5); got != nil {
		t.Errorf("settled after %v s, though not in the second round", *got)
	}
}
