package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
)

func TestDemoFlow(t *testing.T) {
	f := newDemoFlow(4)
	f.note(1, 3, demoTally{asked: 5, admitted: 3, refused: 2})
	f.note(1, 3, demoTally{asked: 1, unanswered: 1})
	f.note(0, 4, demoTally{asked: 7, admitted: 7})
	if got := f.at(1, 0, 4); got != (demoTally{6, 3, 2, 1}) {
		t.Errorf("fra: %+v", got)
	}
	if got := f.all(3, 5); got.asked != 13 {
		t.Errorf("all: %+v", got)
	}
	f.note(1, 7, demoTally{asked: 10}) // takes the place of bin 3
	f.note(1, 3, demoTally{asked: 100})
	if got := f.at(1, 0, 8); got.asked != 10 {
		t.Errorf("after four more bins: %+v", got)
	}
	if got := f.everything(); got.asked != 123 || f.total(1).asked != 116 {
		t.Errorf("everything: %+v", got)
	}
}

// played returns a load whose attack was asked and admitted as given, a value a second of the story.
func played(length time.Duration, admitted func(second int) float64) *demoLoad {
	l := newDemoLoad(demoStory{demoPhases, length}, 1)
	for bin := range 2 * binOf(length) {
		rate := l.story.rates(time.Duration(bin) * demoBin)
		if rate.sum() == 0 {
			continue
		}
		got := int(admitted(bin/demoBins) * l.limit / float64(demoBins))
		l.attack.note(bin%len(demoPoPs), bin, demoTally{asked: int(rate.sum() * l.limit / float64(demoBins)), admitted: got})
	}
	return l
}

func TestDemoRecord(t *testing.T) {
	const length = 100 * time.Second
	l := played(length, func(second int) float64 {
		switch second {
		case 8: // the attack's first
			return 1.4
		case 55, 155: // the move to fra
			return 1.2
		}
		return 1
	})
	r := newDemoRecord(l)
	r.catchUp(length + demoPatient/2)
	if r.rounds != 0 {
		t.Error("a round is added up before everything is answered")
	}
	r.catchUp(length + 2*demoPatient)
	r.finish(length + 60*time.Second)
	watch := newDemoWatch(l, []*demoPoP{{name: "lhr", ring: &demoRing{what: "stand-in"}}})
	s := r.summary(length+60*time.Second, watch.pops, watch)
	if s.Attack.Rounds != 2 || s.Attack.Outside != 3 || len(s.Attack.BySecond) != 52 || !s.Held {
		t.Errorf("%d rounds, %d seconds outside, %d seconds of the last, held %v", s.Attack.Rounds, s.Attack.Outside, len(s.Attack.BySecond), s.Held)
	}
	if got := s.Attack.Seconds; got != 136 {
		t.Errorf("the attack went on for %v s, want 136", got)
	}
	// one second of 1.4 and two of 1.2 among them
	if got, want := s.Attack.OfLimit, 136.8/136; got < want-0.001 || got > want+0.001 {
		t.Errorf("the attack got %v of the limit, want %v", got, want)
	}
	start, fra := s.Attack.Phases[0], s.Attack.Phases[2]
	if start.Phase != "start" || start.Most != 1.4 || start.Least != 1 || *start.Settled != 0.9 {
		t.Errorf("start: %+v, settled after %v", start, *start.Settled)
	}
	if fra.Phase != "to-fra" || fra.Seconds != 20 || fra.Most != 1.2 || *fra.Settled != 0.75 {
		t.Errorf("to-fra: %+v, settled after %v", fra, *fra.Settled)
	}
	l.good.note(0, 3, demoTally{asked: 1, refused: 1})
	if r.summary(length, watch.pops, watch).Held {
		t.Error("held, though a normal client was refused")
	}
}

// A demo that is ended at once has nothing to say of the attack, and does not say it held.
func TestDemoRecordOfNothing(t *testing.T) {
	l := newDemoLoad(demoStory{demoPhases, Shortest}, 1)
	r := newDemoRecord(l)
	r.finish(200 * time.Millisecond)
	s := r.summary(200*time.Millisecond, nil, newDemoWatch(l, nil))
	if s.Held || s.Attack.Phases != nil || s.Attack.Settled != nil || s.Attack.BySecond != nil {
		t.Errorf("%+v", s)
	}
	var out strings.Builder
	(&app{&cli.App{Stdout: &out}}).printDemo(s)
	if !strings.Contains(out.String(), "It ended before the attack began.") {
		t.Errorf("%s", out.String())
	}
}

// A phase that never settles in one round says never, whatever the others did.
func TestDemoSettle(t *testing.T) {
	var p demoPhaseResult
	p.settle(time.Second, true)
	p.settle(500*time.Millisecond, true)
	if p.Settled == nil || *p.Settled != 1 {
		t.Errorf("the worst of 1 s and 0.5 s is %v", after(p.Settled))
	}
	p.settle(0, false)
	p.settle(time.Second, true)
	if p.Settled != nil {
		t.Errorf("settled after %v", after(p.Settled))
	}
}
