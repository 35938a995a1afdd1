package gate

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// TestBlockBegunByAnotherReaderIsAnswered checks that a reader that lost the race to begin a block
// answers with the time that the other reader's block still lasts. It begins both blocks itself,
// because only a race would reach this through Decide.
func TestBlockBegunByAnotherReaderIsAnswered(t *testing.T) {
	block := mitigation.Rule{
		Name: "block", Limit: 3, Window: 10 * time.Second,
		Action: mitigation.Block, BlockFor: time.Minute,
	}
	g := New(Options{
		Node: "test", Memory: 1 << 20, Rules: []mitigation.Rule{block},
		Flush: 100 * time.Millisecond, Start: time.Now(),
	})
	lane := g.Lane(0)
	now, r := g.Now(), lane.rule([]byte(block.Name))
	begin := func(now window.Instant) time.Duration {
		return lane.flag(r, now, r.meter.Index([]byte("k")), []byte("k"), mitigation.Effect{})
	}
	if lasts := begin(now.Add(time.Second)); lasts != block.BlockFor {
		t.Errorf("the first reader's block lasts %v", lasts)
	}
	if lasts := begin(now); lasts != block.BlockFor+time.Second {
		t.Errorf("the second reader, whose clock was read earlier, answers %v", lasts)
	}
}
