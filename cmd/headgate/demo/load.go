package demo

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/demo/story"
)

const (
	// maxLate is the number of steps made up for when the machine was too busy to send in time.
	// Older requests are left out: sent all at once such requests would be a burst outside the
	// story.
	maxLate = 20
	// maxQueue is the number of batches waiting for a PoP.
	maxQueue = 2 * maxLate
)

// sender sends a batch to a PoP, waits for the answers or until story.Patience is over, and
// counts answers.
type sender func(b *story.Batch) (attack, normal story.Tally)

// load is the attacker and the normal clients.
type load struct {
	traffic *story.Traffic
	record  *story.Record
	senders [len(story.PoPs)]sender
	queue   [len(story.PoPs)]chan story.Batch
	skipped atomic.Uint64
	began   time.Time
}

// newLoad returns a load noting the answers of senders, for each PoP, in record.
func newLoad(
	traffic *story.Traffic, record *story.Record, senders [len(story.PoPs)]sender,
) *load {
	return &load{traffic: traffic, record: record, senders: senders}
}

// Start begins the story. Elapsed and Run come afterwards.
func (l *load) Start(now time.Time) { l.began = now }

// Elapsed returns the time since the story began.
func (l *load) Elapsed(now time.Time) time.Duration { return now.Sub(l.began) }

// Played returns how much of the story was played, once Run has returned.
func (l *load) Played() time.Duration { return time.Duration(l.traffic.Steps()) * story.Step }

// Skipped returns the number of batches left out because the machine was too busy.
func (l *load) Skipped() uint64 { return l.skipped.Load() }

// Run sends until ctx ends or the story was played for until (0: without end), and returns when
// everything sent is answered.
func (l *load) Run(ctx context.Context, until time.Duration) {
	var senders sync.WaitGroup
	for pop := range l.queue {
		l.queue[pop] = make(chan story.Batch, maxQueue)
		senders.Go(func() { l.send(pop) })
	}
	tick := time.NewTicker(story.Step)
	defer tick.Stop()
	for on := true; on; {
		select {
		case <-ctx.Done():
			on = false
		case now := <-tick.C:
			due := int(l.Elapsed(now) / story.Step)
			if last := int(until / story.Step); until > 0 && due >= last {
				due, on = last, false
			}
			l.advance(due)
		}
	}
	for pop := range l.queue {
		close(l.queue[pop])
	}
	senders.Wait()
}

// advance queues the batches of all steps before due, but for steps more than MaxLate steps late.
func (l *load) advance(due int) {
	for late := due - l.traffic.Steps(); late > maxLate; late-- {
		for _, one := range l.traffic.Next() {
			if !one.Empty() {
				l.skipped.Add(1)
			}
		}
	}
	for l.traffic.Steps() < due {
		for pop, one := range l.traffic.Next() {
			if one.Empty() {
				continue
			}
			select {
			case l.queue[pop] <- one:
			default:
				l.skipped.Add(1)
			}
		}
	}
}

// send sends the batches of a PoP and notes the answers.
func (l *load) send(pop int) {
	for one := range l.queue[pop] {
		attack, normal := l.senders[pop](&one)
		delay := l.Elapsed(time.Now()) - one.At
		attack.Delay, normal.Delay = delay, delay
		l.record.Attack.Note(pop, story.BinOf(one.At), attack)
		l.record.Normal.Note(pop, story.BinOf(one.At), normal)
	}
}
