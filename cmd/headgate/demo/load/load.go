// Package load sends the traffic of `headgate demo` to the PoPs in real time, and notes the answers.
//
//	Traffic.Next ──a Batch a step and PoP──► queue ──► Sender: the PoP's datagram door
//	                                                      └─► Record: answers by PoP and time
package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/demo/figures"
	"github.com/headgate-dev/headgate/cmd/headgate/demo/story"
)

const (
	// MaxLate is the number of steps that are made up for when the machine was too busy to send in time. Older ones are left
	// out: sent all at once they would be a burst that is not in the story.
	MaxLate = 20
	// MaxQueue is the number of batches that wait for one PoP.
	MaxQueue = 2 * MaxLate
)

// Sender sends a batch to one PoP, waits for the answers or until figures.Patience is over, and counts them.
type Sender func(b *story.Batch) (attack, normal figures.Tally)

// Load is the attacker and the normal clients.
type Load struct {
	traffic *story.Traffic
	record  *figures.Record
	senders [len(story.PoPs)]Sender
	queue   [len(story.PoPs)]chan story.Batch
	skipped atomic.Uint64
	began   time.Time
}

// New returns a load that notes the answers of senders, one a PoP, in record.
func New(traffic *story.Traffic, record *figures.Record, senders [len(story.PoPs)]Sender) *Load {
	return &Load{traffic: traffic, record: record, senders: senders}
}

// Start begins the story. Elapsed and Run come after it.
func (l *Load) Start(now time.Time) { l.began = now }

// Elapsed returns the time since the story began.
func (l *Load) Elapsed(now time.Time) time.Duration { return now.Sub(l.began) }

// Played returns how much of the story was played, once Run has returned.
func (l *Load) Played() time.Duration { return time.Duration(l.traffic.Steps()) * story.Step }

// Skipped returns the number of batches left out because the machine was too busy.
func (l *Load) Skipped() uint64 { return l.skipped.Load() }

// Run sends until ctx ends or the story was played for that time (0: without end), and returns when everything sent is answered.
func (l *Load) Run(ctx context.Context, until time.Duration) {
	var senders sync.WaitGroup
	for pop := range l.queue {
		l.queue[pop] = make(chan story.Batch, MaxQueue)
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

// advance queues the batches of all steps before due, but for those that are more than MaxLate steps late.
func (l *Load) advance(due int) {
	for late := due - l.traffic.Steps(); late > MaxLate; late-- {
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

// send sends the batches of one PoP and notes the answers.
func (l *Load) send(pop int) {
	for one := range l.queue[pop] {
		attack, normal := l.senders[pop](&one)
		delay := l.Elapsed(time.Now()) - one.At
		attack.Delay, normal.Delay = delay, delay
		l.record.Attack.Note(pop, figures.BinOf(one.At), attack)
		l.record.Normal.Note(pop, figures.BinOf(one.At), normal)
	}
}
