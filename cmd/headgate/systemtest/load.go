package systemtest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	hg "github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/wire"
)

const (
	// ringAnswer is the time limit of a client here: no answer by then counts as a fault. It is
	// wide because the machine is shared; a decision that waited for the ring would show in slowest
	// all the same.
	ringAnswer = time.Second
	// Tick is the time from one sending of a client to the next.
	Tick = 5 * time.Millisecond
	// Slip is the most that a client held up sends late; the rest it never sends. Else the
	// burst after a pause would be over a limit that the client keeps.
	Slip = 50 * time.Millisecond
)

// Stream is a number of clients that ask one rule, evenly over all nodes.
type Stream struct {
	Name string
	Rule string
	Keys int
	Rate float64 // requests a second of each key, over all nodes together

	mu      sync.Mutex
	seconds []Second // since the load began
}

// Second counts the answers of one second.
type Second struct{ Asked, Admitted, Refused, Unanswered, alone int }

// Plus returns the sums of both.
func (s Second) Plus(o Second) Second {
	return Second{
		s.Asked + o.Asked, s.Admitted + o.Admitted, s.Refused + o.Refused,
		s.Unanswered + o.Unanswered, s.alone + o.alone,
	}
}

func (s Second) String() string {
	return fmt.Sprintf("%d asked, %d admitted, %d refused, %d unanswered, %d with view=node",
		s.Asked, s.Admitted, s.Refused, s.Unanswered, s.alone)
}

// key returns the name of one of the clients.
func (s *Stream) key(n int) string { return fmt.Sprintf("%s-%d", s.Name, n%s.Keys) }

// Total counts the answers to all requests so far.
func (s *Stream) Total() (sum Second) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.seconds {
		sum = sum.Plus(one)
	}
	return sum
}

// Between returns the whole seconds from first to before last.
func (s *Stream) Between(first, last int) []Second {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Second(nil), s.seconds[min(first, len(s.seconds)):min(last, len(s.seconds))]...)
}

// Count counts answers.
func Count(answers []hg.Answer) (sum Second) {
	for _, a := range answers {
		sum.Asked++
		switch {
		case a.Err != nil:
			sum.Unanswered++
		case a.Allowed():
			sum.Admitted++
		default:
			sum.Refused++
		}
		if a.Err == nil && a.View == wire.ViewNode {
			sum.alone++
		}
	}
	return sum
}

// note counts answers that came in the given second.
func (s *Stream) note(at int, answers []hg.Answer) {
	sum := Count(answers)
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.seconds) <= at {
		s.seconds = append(s.seconds, Second{})
	}
	s.seconds[at] = s.seconds[at].Plus(sum)
}

// Load is clients that ask all nodes at once.
type Load struct {
	testing.TB
	Nodes   []*Node
	Streams []*Stream
	began   time.Time
	Clients []*hg.Client
	end     context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	waits []time.Duration // for each exchange with a node, since the last take
}

// StartLoad begins to ask; it goes on until stop, at the latest until the test ends.
func StartLoad(t testing.TB, nodes []*Node, streams ...*Stream) *Load {
	t.Helper()
	l := &Load{TB: t, Nodes: nodes, Streams: streams, began: time.Now()}
	ctx, end := context.WithCancel(context.Background())
	l.end = end
	for n := range nodes {
		client := nodes[n].Client()
		l.Clients = append(l.Clients, client)
		l.running.Go(func() { l.ask(ctx, n, client) })
	}
	t.Cleanup(l.Stop)
	return l
}

// Client returns a client of the node that is closed when the test ends.
func (n *Node) Client() *hg.Client {
	n.Helper()
	var client *hg.Client
	var err error
	n.at.Do(func() { client, err = hg.Dial(n.UDP, hg.WithTimeout(ringAnswer)) })
	if err != nil {
		n.Fatal(err)
	}
	n.Cleanup(func() { _ = client.Close() })
	return client
}

// Stop ends the load and returns when all that was asked is answered.
func (l *Load) Stop() {
	l.end()
	l.running.Wait()
}

// pacer counts the requests of a stream that are due.
type pacer struct {
	*Stream
	rate float64 // to this node
	sent float64
	next int
}

// due returns the queries that are due after the load has run for elapsed, and leaves out those too
// late.
func (p *pacer) due(elapsed time.Duration, to []hg.Query) []hg.Query {
	should := elapsed.Seconds() * p.rate
	p.sent = max(p.sent, should-max(1, Slip.Seconds()*p.rate))
	for ; p.sent+1 <= should; p.sent++ {
		to = append(to, hg.Query{Rule: p.Rule, Key: p.key(p.next)})
		p.next++
	}
	return to
}

// ask is the clients of one node.
func (l *Load) ask(ctx context.Context, node int, client *hg.Client) {
	var pacers []*pacer
	for _, s := range l.Streams {
		keys := float64(s.Keys)
		pacers = append(pacers, &pacer{
			Stream: s, rate: s.Rate * keys / float64(len(l.Nodes)),
			sent: float64(node) / float64(len(l.Nodes)), next: node * s.Keys / len(l.Nodes),
		})
	}
	tick := time.NewTicker(Tick)
	defer tick.Stop()
	for ctx.Err() == nil {
		for _, p := range pacers {
			l.exchange(client, p)
		}
		<-tick.C
	}
}

// exchange sends the queries of one stream that are due.
func (l *Load) exchange(client *hg.Client, p *pacer) {
	queries := p.due(time.Since(l.began), nil)
	if len(queries) == 0 {
		return
	}
	asked := time.Now()
	answers, _ := client.Batch(context.Background(), queries) // an error is in the answers too
	wait := time.Since(asked)
	p.note(int(time.Since(l.began)/time.Second), answers)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits = append(l.waits, wait)
}

// Take returns how long clients waited since it was called last.
func (l *Load) Take() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	waits := l.waits
	l.waits = nil
	return waits
}

// Say logs the answers of each stream.
func (l *Load) Say(when string) {
	l.Helper()
	var text []string
	for _, s := range l.Streams {
		text = append(text, fmt.Sprintf("  %-8s %v", s.Name, s.Total()))
	}
	l.Logf("%s:\n%s", when, strings.Join(text, "\n"))
}

// Views returns with which view the nodes would answer the stream's keys now.
func (l *Load) Views(s *Stream) (alone, pop int) {
	l.Helper()
	var queries []hg.Query
	for n := range s.Keys {
		queries = append(queries, hg.Query{Op: wire.Peek, Rule: s.Rule, Key: s.key(n)})
	}
	for _, client := range l.Clients {
		answers, err := client.Batch(l.Context(), queries)
		if err != nil {
			l.Error(err)
		}
		for _, a := range answers {
			if a.View == wire.ViewPoP {
				pop++
			} else {
				alone++
			}
		}
	}
	return alone, pop
}
