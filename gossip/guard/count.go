package guard

import "sync/atomic"

// Reason is the reason for dropping or denying something. Metrics use its name.
type Reason uint8

// The reasons.
const (
	// Oversize is a message longer than its bound, in either direction.
	Oversize Reason = iota
	// Unknown is a Send to a stranger.
	Unknown
	// SendQueue is a Send while the queue is full.
	SendQueue
	// SendError is a Send on which the socket failed.
	SendError
	// Pruned is the record sent most often, pruned by a Spread while the queue is full.
	Pruned
	// Inbox is a message behind a full queue: the callbacks are too slow.
	Inbox
	// Malformed is a message or record that does not parse.
	Malformed
	// Foreign is traffic from outside the allowed networks.
	Foreign
	// Label is a packet with another cluster's label, or none.
	Label
	// Key is a packet or stream that is not encrypted with one of the cluster's keys.
	Key
	// Backlog is a packet behind memberlist's full queue.
	Backlog
	// Accepts is a stream beyond the number accepted in a second.
	Accepts
	// Streams is a stream beyond the open streams allowed.
	Streams
	// Stream is a failed stream: not encrypted, truncated, too long, too slow.
	Stream
	// Member is a denied member: an invalid name, or a too many.
	Member
	// Compressed is a compressed packet of a member.
	Compressed
	// Reasons is the number of reasons.
	Reasons
)

var names = [Reasons]string{
	"oversize", "unknown_member", "send_queue", "send_error", "pruned", "inbox", "malformed",
	"foreign", "label", "key",
	"backlog", "accepts", "streams", "stream", "member", "compressed",
}

// String returns the reason's label value in metrics, a lower-case word.
func (r Reason) String() string {
	if r >= Reasons {
		return "unknown"
	}
	return names[r]
}

// Flow is the value of a Meter: items in both directions, and their bytes.
type Flow struct{ In, Out, InBytes, OutBytes uint64 }

// Meter counts items and their bytes in both directions.
type Meter struct{ in, out, inBytes, outBytes atomic.Uint64 }

// Came counts a received item of so many bytes.
func (m *Meter) Came(bytes int) { m.in.Add(1); m.inBytes.Add(uint64(bytes)) }

// Went counts a sent item of so many bytes.
func (m *Meter) Went(bytes int) { m.out.Add(1); m.outBytes.Add(uint64(bytes)) }

// Read counts bytes of a received item counted before.
func (m *Meter) Read(bytes int) { m.inBytes.Add(uint64(bytes)) }

// Wrote counts bytes of a sent item counted before.
func (m *Meter) Wrote(bytes int) { m.outBytes.Add(uint64(bytes)) }

// Flow returns the counters as a value.
func (m *Meter) Flow() Flow {
	return Flow{
		In: m.in.Load(), Out: m.out.Load(), InBytes: m.inBytes.Load(),
		OutBytes: m.outBytes.Load(),
	}
}

// Drops counts drops by reason.
type Drops struct{ by [Reasons]atomic.Uint64 }

// Add counts a drop.
func (d *Drops) Add(why Reason) { d.by[why].Add(1) }

// Of returns the number of drops for a reason.
func (d *Drops) Of(why Reason) uint64 { return d.by[why].Load() }

// ByName returns all counters by the reason's name; every reason is present.
func (d *Drops) ByName() map[string]uint64 {
	m := make(map[string]uint64, Reasons)
	for r := range Reasons {
		m[r.String()] = d.Of(r)
	}
	return m
}

// Traffic is the traffic of a node, framing and encryption included.
type Traffic struct {
	// Datagrams counts packets over UDP, and Streams connections over TCP.
	Datagrams, Streams Meter
	// Dropped counts drops of traffic and of its payload.
	Dropped Drops
}
