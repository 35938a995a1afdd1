//go:build !race

package systemtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	hg "github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/wire"
)

const (
	// ringAnswer is the time limit of a client here: no answer by then counts as a fault. It is
	// wide because the machine is shared; a decision that waited for the ring would show in slowest
	// all the same.
	ringAnswer = time.Second
	// ringTick is the time from one sending of a client to the next.
	ringTick = 5 * time.Millisecond
	// ringSlip is the most that a client held up sends late; the rest it never sends. Else the
	// burst after a pause would be over a limit that the client keeps.
	ringSlip = 50 * time.Millisecond
)

// stream is a number of clients that ask one rule, evenly over all nodes.
type stream struct {
	name string
	rule string
	keys int
	rate float64 // requests a second of each key, over all nodes together

	mu      sync.Mutex
	seconds []second // since the load began
}

// second counts the answers of one second.
type second struct{ asked, admitted, refused, unanswered, alone int }

func (s second) plus(o second) second {
	return second{
		s.asked + o.asked, s.admitted + o.admitted, s.refused + o.refused,
		s.unanswered + o.unanswered, s.alone + o.alone,
	}
}

func (s second) String() string {
	return fmt.Sprintf("%d asked, %d admitted, %d refused, %d unanswered, %d with view=node",
		s.asked, s.admitted, s.refused, s.unanswered, s.alone)
}

// key returns the name of one of the clients.
func (s *stream) key(n int) string { return fmt.Sprintf("%s-%d", s.name, n%s.keys) }

// total counts the answers to all requests so far.
func (s *stream) total() (sum second) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.seconds {
		sum = sum.plus(one)
	}
	return sum
}

// between returns the whole seconds from first to before last.
func (s *stream) between(first, last int) []second {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]second(nil), s.seconds[min(first, len(s.seconds)):min(last, len(s.seconds))]...)
}

// note counts answers that came in the given second.
func (s *stream) note(at int, answers []hg.Answer) {
	var sum second
	for _, a := range answers {
		sum.asked++
		switch {
		case a.Err != nil:
			sum.unanswered++
		case a.Allowed():
			sum.admitted++
		default:
			sum.refused++
		}
		if a.Err == nil && a.View == wire.ViewNode {
			sum.alone++
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.seconds) <= at {
		s.seconds = append(s.seconds, second{})
	}
	s.seconds[at] = s.seconds[at].plus(sum)
}

// ringLoad is clients that ask all nodes at once.
type ringLoad struct {
	testing.TB
	nodes   []*ringNode
	streams []*stream
	began   time.Time
	clients []*hg.Client
	end     context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	waits []time.Duration // for each exchange with a node, since the last take
}

// startLoad begins to ask; it goes on until stop, at the latest until the test ends.
func startLoad(t testing.TB, nodes []*ringNode, streams ...*stream) *ringLoad {
	t.Helper()
	l := &ringLoad{TB: t, nodes: nodes, streams: streams, began: time.Now()}
	ctx, end := context.WithCancel(context.Background())
	l.end = end
	for n := range nodes {
		client := nodes[n].client()
		l.clients = append(l.clients, client)
		l.running.Go(func() { l.ask(ctx, n, client) })
	}
	t.Cleanup(l.stop)
	return l
}

// client returns a client of the node that is closed when the test ends.
func (n *ringNode) client() *hg.Client {
	n.Helper()
	var client *hg.Client
	var err error
	n.at.do(func() { client, err = hg.Dial(n.udp, hg.WithTimeout(ringAnswer)) })
	if err != nil {
		n.Fatal(err)
	}
	n.Cleanup(func() { _ = client.Close() })
	return client
}

// stop ends the load and returns when all that was asked is answered.
func (l *ringLoad) stop() {
	l.end()
	l.running.Wait()
}

// pacer counts the requests of a stream that are due.
type pacer struct {
	*stream
	rate float64 // to this node
	sent float64
	next int
}

// due returns the queries that are due after the load has run for elapsed, and leaves out those too
// late.
func (p *pacer) due(elapsed time.Duration, to []hg.Query) []hg.Query {
	should := elapsed.Seconds() * p.rate
	p.sent = max(p.sent, should-max(1, ringSlip.Seconds()*p.rate))
	for ; p.sent+1 <= should; p.sent++ {
		to = append(to, hg.Query{Rule: p.rule, Key: p.key(p.next)})
		p.next++
	}
	return to
}

// ask is the clients of one node.
func (l *ringLoad) ask(ctx context.Context, node int, client *hg.Client) {
	var pacers []*pacer
	for _, s := range l.streams {
		keys := float64(s.keys)
		pacers = append(pacers, &pacer{
			stream: s, rate: s.rate * keys / float64(len(l.nodes)),
			sent: float64(node) / float64(len(l.nodes)), next: node * s.keys / len(l.nodes),
		})
	}
	tick := time.NewTicker(ringTick)
	defer tick.Stop()
	for ctx.Err() == nil {
		for _, p := range pacers {
			l.exchange(client, p)
		}
		<-tick.C
	}
}

// exchange sends the queries of one stream that are due.
func (l *ringLoad) exchange(client *hg.Client, p *pacer) {
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

// take returns how long clients waited since it was called last.
func (l *ringLoad) take() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	waits := l.waits
	l.waits = nil
	return waits
}

// say logs the answers of each stream.
func (l *ringLoad) say(when string) {
	l.Helper()
	var text []string
	for _, s := range l.streams {
		text = append(text, fmt.Sprintf("  %-8s %v", s.name, s.total()))
	}
	l.Logf("%s:\n%s", when, strings.Join(text, "\n"))
}

// views returns with which view the nodes would answer the stream's keys now.
func (l *ringLoad) views(s *stream) (alone, pop int) {
	l.Helper()
	var queries []hg.Query
	for n := range s.keys {
		queries = append(queries, hg.Query{Op: wire.Peek, Rule: s.rule, Key: s.key(n)})
	}
	for _, client := range l.clients {
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

// joined waits until all nodes answer the first key of a rule for the PoP, and know of each other.
func joined(t testing.TB, nodes []*ringNode, rule string) {
	t.Helper()
	for _, n := range nodes {
		client := n.client()
		edgetest.Await(t, "view=pop", 3*edgetest.Patience, func() bool {
			a, err := client.Peek(t.Context(), rule, "anybody", 1)
			return err == nil && a.View == wire.ViewPoP
		})
		edgetest.Await(t, "the other nodes", 3*edgetest.Patience, func() bool {
			return page[api.ClusterView](n, "/v1/cluster").Ring.Nodes >= len(nodes)
		})
	}
}

// quantile returns the time within which that share of the waits ended.
func quantile(waits []time.Duration, share float64) time.Duration {
	if len(waits) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(waits))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))].Round(time.Microsecond)
}
