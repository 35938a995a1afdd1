package demo

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/demo/story"
)

// testLoad returns a load of the shortest story, whose PoPs answer through send.
func testLoad(send sender) (*load, *story.Record) {
	s := story.Story{Length: story.Shortest}
	record := story.NewRecord(s)
	return newLoad(story.NewTraffic(s, 1), record, [3]sender{send, send, send}), record
}

// admits returns a sender that admits everything, after a time.
func admits(after time.Duration) sender {
	return func(b *story.Batch) (attack, normal story.Tally) {
		time.Sleep(after)
		return story.Tally{Asked: b.Attack, Admitted: b.Attack},
			story.Tally{Asked: len(b.Normal), Admitted: len(b.Normal)}
	}
}

// expected returns the number of requests of the attacker and of the normal clients in the shortest
// story.
func expected() (attack, normal int) {
	traffic := story.NewTraffic(story.Story{Length: story.Shortest}, 1)
	for range int(story.Shortest / story.Step) {
		for _, one := range traffic.Next() {
			attack, normal = attack+one.Attack, normal+len(one.Normal)
		}
	}
	return attack, normal
}

// Where the machine keeps up, every request of the story is sent in its time.
func TestLoadSendsTheStory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, record := testLoad(admits(3 * time.Millisecond))
		l.Start(time.Now())
		l.Run(t.Context(), story.Shortest)
		attack, normal := expected()
		if got := record.Attack.Everything(); got.Asked != attack || got.Admitted != attack {
			t.Errorf("the attack: %+v, want %d", got, attack)
		}
		if got := record.Normal.Everything(); got.Asked != normal {
			t.Errorf("normal clients: %+v, want %d", got, normal)
		}
		// A batch is due at the end of its step at the latest, and is answered 3 ms later.
		if got := record.Attack.Everything().Delay; got < 3*time.Millisecond ||
			got > story.Step+3*time.Millisecond {
			t.Errorf("the longest delay is %v", got)
		}
		if l.Played() != story.Shortest || l.Skipped() != 0 {
			t.Errorf("played %v, skipped %d", l.Played(), l.Skipped())
		}
	})
}

// Batches more than MaxLate steps late are left out, and counted.
func TestLoadSkipsTheLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, record := testLoad(admits(0))
		// the attack has begun, and nothing was sent for two seconds
		l.Start(time.Now().Add(-2 * time.Second))
		ctx, end := context.WithTimeout(t.Context(), story.Step+story.Step/2)
		defer end()
		l.Run(ctx, 0)
		if l.Played() != 2010*time.Millisecond || l.Skipped() < 100 {
			t.Errorf("played %v, skipped %d", l.Played(), l.Skipped())
		}
		from := story.BinOf(l.Played() - maxLate*story.Step)
		if late := record.Attack.All(0, from); late.Asked != 0 ||
			record.Attack.Everything().Asked == 0 {
			t.Errorf("sent too late: %+v of %+v", late, record.Attack.Everything())
		}
	})
}

// A PoP that does not answer holds up neither the others nor the story: batches without room in its
// queue are counted.
func TestLoadOfASilentPoP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, record := testLoad(admits(time.Second))
		l.Start(time.Now())
		began := time.Now()
		l.Run(t.Context(), story.Shortest)
		if took := time.Since(began); took > story.Shortest+maxQueue*time.Second+2*time.Second {
			t.Errorf("it took %v", took)
		}
		if attack, _ := expected(); l.Skipped() < 1000 ||
			record.Attack.Everything().Asked > attack/2 {
			t.Errorf("skipped %d, sent %+v", l.Skipped(), record.Attack.Everything())
		}
	})
}

// A story without end stops with its context.
func TestLoadIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := testLoad(admits(0))
		ctx, end := context.WithTimeout(t.Context(), 3*time.Minute)
		defer end()
		l.Start(time.Now())
		l.Run(ctx, 0)
		if got := l.Played(); got < 3*time.Minute-story.Step || got > 3*time.Minute {
			t.Errorf("played %v", got)
		}
	})
}

func TestDialOfNoAddress(t *testing.T) {
	if _, _, err := dialDoors([]string{"127.0.0.1:1", "no address"}, "x"); err == nil {
		t.Error("dialled an address that is none")
	}
}
