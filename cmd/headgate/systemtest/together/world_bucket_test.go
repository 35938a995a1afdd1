//go:build !race

package together

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	hg "github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/wire"
)

// worldBucket is a bucket over all PoPs, and how much its clients and its flood ask for.
type worldBucket struct {
	name   string
	limit  int64 // refill in a window
	window time.Duration
	burst  int64
	good   int // clients at worldModest of it
}

// worldBuckets are a bucket of few tokens that a pause does not fill, and one that is full after a
// quarter of a second.
var worldBuckets = []worldBucket{
	{"slow", 20, 10 * time.Second, 5, 4},
	{"quick", 200, time.Second, 50, 2},
}

const (
	// worldModest is the share of the refill and of the burst that a good client asks for at most.
	worldModest = 0.8
	// worldGreed is how many times the refill a flood asks for.
	worldGreed = 5
	// worldBucketTime is for how long they ask.
	worldBucketTime = 7 * time.Second
	// worldBucketKnown is the time after which all nodes have long known of a flood.
	worldBucketKnown = 2 * time.Second
)

// TestWorldBuckets: three PoPs hold a bucket together. A flood in all of them gets the refill, and
// the burst at each node that does not know of the others yet. A client that stays below the
// bucket, at any nodes, is not denied.
func TestWorldBuckets(t *testing.T) {
	t.Parallel()
	rules := "rules:\n"
	for _, b := range worldBuckets {
		rules += fmt.Sprintf("  - {name: %s, limit: %d, window: %v, burst: %d, scope: global}\n",
			b.name, b.limit, b.window, b.burst)
	}
	l := startPoPs(t, worldPlan{rules: rules})
	var floods []*flow
	for n := range worldBuckets {
		b := &worldBuckets[n]
		even := 1 / float64(len(l.pops))
		floods = append(floods, &flow{
			name: "flood", rule: b.name,
			rate: spread(worldGreed*b.refill(), even, even, even),
		})
	}
	began := time.Now()
	load := l.load(floods...)
	var busy sync.WaitGroup
	var all []*bucketAsker
	for n := range worldBuckets {
		for number := range worldBuckets[n].good {
			c := newBucketAsker(l, &worldBuckets[n], number)
			all = append(all, c)
			busy.Go(func() { c.askUntil(t, began.Add(worldBucketTime)) })
		}
	}
	busy.Wait()
	load.stop()
	for n, f := range floods {
		worldBuckets[n].judge(load, f, len(l.nodes))
	}
	for _, c := range all {
		t.Logf("%s: %d asked, %d denied", c.key, c.asked, len(c.denials))
		if len(c.denials) > 0 ||
			c.asked < int(worldModest/2*c.bucket.refill()*worldBucketTime.Seconds()) {
			t.Errorf("%s, at %v of its bucket: %d asked, denied %q", c.key,
				worldModest, c.asked, c.denials)
		}
	}
}

// refill is what comes back in a second.
func (b *worldBucket) refill() float64 { return float64(b.limit) / b.window.Seconds() }

// judge compares what a flood got with the bucket: in all, the refill, and at each node the burst
// and what comes back until it knows of the others; later what any bucket admits in that time, the
// refill and one burst. Where the machine stalled, the nodes may have known less of each other
// later too.
func (b *worldBucket) judge(w *worldLoad, f *flow, nodes int) {
	w.Helper()
	known, end := int(worldBucketKnown.Seconds()), int(worldBucketTime.Seconds())
	all, later := f.world(0, end*worldBins), f.world(known*worldBins, end*worldBins)
	unseen := float64(nodes) * b.refill() * fewGap.Seconds()
	least, burst := b.refill()*float64(end), float64(b.burst)
	most, mostLater := least+float64(nodes)*burst+unseen, b.refill()*float64(end-known)+burst
	for second := known; second < end; second++ {
		if !w.keptUp(second) {
			mostLater += unseen
			break
		}
	}
	w.Logf("%s: a flood of %v, %.0f to %.0f fit; from second %d on %v, %.0f fit", b.name, all,
		least, most, known, later, mostLater)
	if float64(all.Admitted) < least || float64(all.Admitted) > most ||
		float64(later.Admitted) > mostLater || all.Unanswered > 0 {
		w.Errorf("%s: a flood of %v, want %.0f to %.0f admitted; from second %d on %v, want at "+
			"most %.0f", b.name, all, least, most, known, later, mostLater)
	}
}

// bucketAsker is a client below its bucket, which moves from node to node.
type bucketAsker struct {
	bucket *worldBucket
	key    string
	// since it began: when a bucket of its own, worldModest of the other, is full again
	full  time.Duration
	nodes []*hg.Client
	dice  *rand.Rand

	asked   int
	denials []string
}

func newBucketAsker(l *worldLab, b *worldBucket, number int) *bucketAsker {
	c := &bucketAsker{
		bucket: b, key: fmt.Sprintf("%s-good-%d", b.name, number),
		dice: rand.New(rand.NewPCG(uint64(number), 7)),
	}
	for _, n := range l.nodes {
		c.nodes = append(c.nodes, n.Client())
	}
	return c
}

// askUntil asks until the end: in turn a token as soon as it is there, and all at once after a
// pause. A token is taken when the answer comes, so the daemons took it earlier.
func (c *bucketAsker) askUntil(t *testing.T, end time.Time) {
	began, node := time.Now(), 0
	token := time.Duration(float64(time.Second) / (worldModest * c.bucket.refill()))
	fill := time.Duration(int64(worldModest*float64(c.bucket.burst))) * token
	for time.Now().Before(end) && t.Context().Err() == nil {
		now := time.Since(began)
		wait := max(c.full-now-(fill-token), 0)
		if int(now/(2*time.Second))%2 == 1 && wait > 0 {
			wait = c.full - now
		}
		if wait > 0 {
			systemtest.Hold(t, min(wait, time.Until(end)))
			continue
		}
		if c.dice.IntN(5) == 0 {
			node = c.dice.IntN(len(c.nodes))
		}
		a, err := c.nodes[node].Check(t.Context(), c.bucket.name, c.key, 1)
		c.full = max(c.full, time.Since(began)) + token
		if c.asked++; err != nil || !a.Allowed() || a.View != wire.ViewGlobal {
			c.denials = append(c.denials,
				fmt.Sprintf("%v: %+v %v", now.Round(time.Millisecond), a, err))
		}
	}
}
