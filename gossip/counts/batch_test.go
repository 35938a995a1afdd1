package counts_test

import (
	"fmt"
	"testing"

	"github.com/headgate-dev/headgate/gossip/counts"
)

// TestBatchKeepsItsSize: a batch takes as many records, and rules, as fit into so many bytes, and
// parses to what was put in.
func TestBatchKeepsItsSize(t *testing.T) {
	for _, size := range []int{60, 200, 1200} {
		var b counts.Batch
		added := 0
		for b.Add(counts.Rule{Name: fmt.Sprint("rule", added%20), Terms: 7},
			&counts.Record{Digest: counts.Digest(added + 1), Now: 1}, size) {
			added++
		}
		body, records := b.Take(nil, true)
		if len(body) > size || records != added || added == 0 || !b.Empty() {
			t.Fatalf("%d bytes of %d, %d records of %d", len(body), size, records, added)
		}
		h, rest, err := counts.ParseHead(body)
		if err != nil || !h.Alone {
			t.Fatal(h, err)
		}
		for n := range added {
			var r counts.Record
			if r, rest = counts.ParseRecord(rest); r.Digest != counts.Digest(n+1) ||
				h.Rules[r.Rule].Name != fmt.Sprint("rule", n%20) {
				t.Errorf("record %d is %+v", n, r)
			}
		}
	}
}

// TestOrigins: PoPs and lone nodes have numbers of their own; those of a node's own PoP are not
// others, but for lone nodes while the key is counted alone.
func TestOrigins(t *testing.T) {
	var o counts.Origins
	a, b := o.Number("a", "a"), o.Number("b", "b")
	lone := o.Number("a/n1", "a")
	if a == b || lone == a || a == 0 || o.Number("a", "a") != a || !o.In(lone, "a") ||
		o.In(b, "a") || o.In(0, "a") {
		t.Errorf("numbers %d %d %d", a, b, lone)
	}
	for _, c := range []struct {
		n           uint8
		alone, want bool
	}{{b, false, true}, {a, false, false}, {a, true, false}, {lone, false, false}, {
		lone, true,
		true,
	}} {
		if got := o.Other(c.n, "a", c.alone); got != c.want {
			t.Errorf("origin %d, alone %v: %v", c.n, c.alone, got)
		}
	}
	for n := range 300 {
		o.Number(fmt.Sprint(n), "b")
	}
	if o.Number("new", "b") != 0 || o.Number("a", "a") != a {
		t.Error("there are more than MaxOrigins")
	}
}
