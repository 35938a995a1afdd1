package pop

import (
	"context"
	"time"

	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/window"
)

// write gets numbers for the notices, and writes them.
func (b *board) write(ctx context.Context, now func() window.Instant) {
	numbers := b.reserve(ctx)
	b.ops = b.ops[:0]
	for n := range b.notes {
		note, at := &b.notes[n], b.serverOf(&b.notes[n])
		left := max(note.Until.Sub(now())/time.Millisecond, 0)
		number, ok := numbers[at]
		if !ok || left == 0 && note.Until != 0 {
			b.dropped.Add(1)
			continue
		}
		numbers[at] = number + 1
		b.o.Table.Put(note.Name, note.Until, note.Version)
		b.sent.Add(1)
		b.ops = b.op(b.ops, digestName, number,
			ring.Op{Server: at, Delta: note.Digest, TTL: noticeLife})
		// a day
		b.ops = b.op(b.ops, factsName, number, ring.Op{
			Server: at,
			Delta:  uint64(note.Check)<<checkShift | written | uint64(left), TTL: noticeLife,
		})
		b.ops = b.op(b.ops, versionName, number,
			ring.Op{Server: at, Delta: note.Version, TTL: noticeLife})
	}
	b.notes = b.notes[:0]
	b.o.Do(ctx, b.ops)
}

// reserve adds to the numbers of the servers the notices go to, and returns the first of this
// node's numbers on each.
func (b *board) reserve(ctx context.Context) map[int]uint64 {
	for n := range b.notes {
		if at := b.serverOf(&b.notes[n]); at >= 0 {
			b.servers[at].want++
		}
	}
	b.ops = b.ops[:0]
	for n := range b.servers {
		if want := b.servers[n].want; want > 0 {
			b.ops = append(b.ops,
				ring.Op{Key: b.servers[n].key, Server: n, Delta: want, TTL: numberLife})
		}
	}
	b.o.Do(ctx, b.ops)
	numbers := make(map[int]uint64, len(b.ops))
	for n := range b.ops {
		op := &b.ops[n]
		s := &b.servers[op.Server]
		if s.want = 0; op.Err != nil || op.Total < op.Delta {
			continue
		}
		numbers[op.Server] = op.Total - op.Delta + 1
		if s.looked != 0 && s.known == op.Total-op.Delta {
			s.known = op.Total // this node need not read its own
		}
	}
	return numbers
}

// serverOf returns the server a notice goes to, an answering server; -1 if none does.
func (b *board) serverOf(n *notice) int {
	for k := range b.servers {
		if at := (int(n.Digest>>1) + k) % len(b.servers); b.o.Up(at) { // 63 bits
			return at
		}
	}
	return -1
}
