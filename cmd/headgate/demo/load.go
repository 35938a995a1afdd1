package demo

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/client"
)

const (
	demoStep    = 10 * time.Millisecond  // from one sending to the next
	demoSlip    = 20                     // steps that are made up for when the machine was too busy to send in time
	demoQueue   = 2 * demoSlip           // sendings to a PoP that wait
	demoPatient = 500 * time.Millisecond // for an answer: the machine may be busy, and the figures are to be the limiter's
)

// demoLoad is everybody who asks: the attacker and the normal clients.
//
//	story ──rates──► attack ─┐                           ┌─► the PoP's datagram door
//	                         ├─ a sending a step and PoP ┤
//	crowd ──due────► good   ─┘                           └─► attack, good: what became of it
type demoLoad struct {
	story    demoStory
	rule     string
	limit    float64 // of the rule, a second
	attacker []byte
	crowd    *demoCrowd
	asked    [len(demoPoPs)]*client.Client

	attack, good *demoFlow
	skipped      atomic.Uint64 // sendings left out because the machine was too busy

	owed  demoRates
	step  int // to be sent next
	queue [len(demoPoPs)]chan demoSending
	began time.Time
}

// demoSending is the batch of requests sent to one PoP at once.
type demoSending struct {
	bin    int
	attack int      // requests of the attacker
	good   [][]byte // keys of the normal clients
}

// newDemoLoad returns a load that nobody is asked by yet.
func newDemoLoad(story demoStory, seed uint64) *demoLoad {
	crowd, attacker := newDemoCrowd(seed, demoLimit)
	keep := 2 * binOf(story.length)
	return &demoLoad{
		story: story, rule: demoRule, limit: demoLimit, attacker: []byte(attacker), crowd: crowd,
		attack: newDemoFlow(keep), good: newDemoFlow(keep),
	}
}

// dial connects to the doors of the PoPs.
func (l *demoLoad) dial(doors []string) error {
	for pop, door := range doors {
		c, err := client.Dial("udp", door, client.WithTimeout(demoPatient))
		if err != nil {
			return errors.Join(err, l.close())
		}
		l.asked[pop] = c
	}
	return nil
}

func (l *demoLoad) close() error {
	var errs []error
	for _, c := range l.asked {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// start begins the story. What uses elapsed must come after it.
func (l *demoLoad) start(now time.Time) { l.began = now }

// elapsed returns how long the story has been told.
func (l *demoLoad) elapsed(now time.Time) time.Duration { return now.Sub(l.began) }

// told returns how much of the story was told, once run has returned.
func (l *demoLoad) told() time.Duration { return time.Duration(l.step) * demoStep }

// run asks until ctx ends, or for as long as until says (0: for ever), and returns when all that was asked is answered.
func (l *demoLoad) run(ctx context.Context, until time.Duration) {
	var askers sync.WaitGroup
	for pop := range l.queue {
		l.queue[pop] = make(chan demoSending, demoQueue)
		askers.Go(func() { l.ask(pop) })
	}
	tick := time.NewTicker(demoStep)
	defer tick.Stop()
	for on := true; on; {
		select {
		case <-ctx.Done():
			on = false
		case now := <-tick.C:
			due := int(l.elapsed(now) / demoStep)
			if last := int(until / demoStep); until > 0 && due >= last {
				due, on = last, false
			}
			l.advance(due)
		}
	}
	for pop := range l.queue {
		close(l.queue[pop])
	}
	askers.Wait()
}

// advance sends what has come due before the given step. Requests late by more than demoSlip are left out: sent all at once
// it would be a burst that its client never asked for.
func (l *demoLoad) advance(due int) {
	for late := due - l.step; late > demoSlip; late-- {
		for _, one := range l.next() {
			if one.attack+len(one.good) > 0 {
				l.skipped.Add(1)
			}
		}
	}
	for l.step < due {
		for pop, one := range l.next() {
			if one.attack+len(one.good) == 0 {
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

// next returns the sendings of the next step: the same ones whenever it is called.
func (l *demoLoad) next() (all [len(demoPoPs)]demoSending) {
	at := time.Duration(l.step) * demoStep
	rates := l.story.rates(at)
	var good [len(demoPoPs)][][]byte
	l.crowd.due(at, &good)
	for pop := range all {
		l.owed[pop] += rates[pop] * l.limit * demoStep.Seconds()
		whole := int(l.owed[pop])
		l.owed[pop] -= float64(whole)
		all[pop] = demoSending{bin: binOf(at), attack: whole, good: good[pop]}
	}
	l.step++
	return all
}

// ask asks one PoP.
func (l *demoLoad) ask(pop int) {
	var queries []client.Query
	for one := range l.queue[pop] {
		queries = queries[:0]
		for range one.attack {
			queries = append(queries, l.query(l.attacker))
		}
		for _, key := range one.good {
			queries = append(queries, l.query(key))
		}
		answers, _ := l.asked[pop].Ask(context.Background(), queries) // an error is in the answers too
		l.attack.note(pop, one.bin, tallyOf(answers[:one.attack]))
		l.good.note(pop, one.bin, tallyOf(answers[one.attack:]))
	}
}

func (l *demoLoad) query(key []byte) client.Query {
	return client.Query{Rule: l.rule, Key: string(key)}
}

// tallyOf counts answers.
func tallyOf(answers []client.Answer) (t demoTally) {
	for _, a := range answers {
		t.asked++
		switch {
		case a.Err != nil:
			t.unanswered++
		case a.Allowed():
			t.admitted++
		default:
			t.refused++
		}
	}
	return t
}
