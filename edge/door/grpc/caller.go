package grpc

import (
	"math/rand/v2"
	"net/netip"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/budget"
	"github.com/headgate-dev/headgate/edge/door/lines"
	"github.com/headgate-dev/headgate/edge/door/stream"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/h2"
	"github.com/headgate-dev/headgate/edge/pb"
	"github.com/headgate-dev/headgate/edge/rls"
	"github.com/headgate-dev/headgate/edge/wire"
)

// caller answers the calls of a connection. Slices grow to the largest call of the connection and
// are used again; see forget for unusually long calls.
type caller struct {
	door    *Door
	conn    *stream.Conn
	session *ask.Session // of the batch
	lane    *gate.Lane
	batch   gate.Batch
	// From a unix socket everything is believed: whoever may open the socket is this machine's
	// operator.
	peer    netip.Addr // zero: a unix socket
	batches uint64
	loan    budget.Loan

	descriptors []descriptor
	entries     []entry
	parts       []ask.Part
	found       []*rls.Limit // of the descriptors, in files; nil: none
	walk        rls.Walk
	text        []byte   // of keys and of names
	values      []byte   // of headers
	least       least    // of an answer
	denied      []string // names of rules denying but for shadow
}

// newCaller returns the memory of a connection.
func (d *Door) newCaller(c *stream.Conn, lane *gate.Lane) *caller {
	return &caller{door: d, conn: c, lane: lane, peer: c.Peer(), loan: budget.Loan{From: d.budget}}
}

// The methods.
const (
	methodLimit = iota
	methodAuthz
	methodHealth
)

// Method returns the number of the method at path.
// The paths are those of the proto files: package, service, method.
func (*caller) Method(path string) int {
	switch path {
	case "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit":
		return methodLimit
	case "/envoy.service.auth.v3.Authorization/Check":
		return methodAuthz
	case "/grpc.health.v1.Health/Check":
		return methodHealth
	}
	return -1
}

// Begin begins a batch of decisions at a single reading of the clock.
func (k *caller) Begin() {
	k.session = k.door.room.Borrow(ask.GRPC, k.conn.ID)
	k.batch = k.lane.Batch(k.door.gate.Now(), rand.Uint64)
}

// End ends the batch. A batch in LatencyEvery is timed: reading the clock twice for each would cost
// more than most questions.
func (k *caller) End() {
	k.batch.End()
	k.session.Return()
	k.session = nil
	if k.batches++; k.batches%door.LatencyEvery == 0 {
		k.door.latency.Note(k.door.gate.Now().Sub(k.batch.Now()))
	}
}

// leave gives back the streams a panic between two calls left.
func (k *caller) leave() {
	if k.session != nil {
		k.session.Return()
	}
}

// Lend takes memory of the doors' budget.
func (k *caller) Lend(bytes int) bool { return k.loan.Add(int64(bytes)) }

// Call answers a call.
func (k *caller) Call(dst []byte, method int, message []byte) (answer []byte, status h2.Status) {
	defer func() {
		if fault := recover(); fault != nil {
			k.door.panics.Note(fault)
			answer, status = dst, h2.Status{
				Code:    h2.Internal,
				Message: "a fault of the daemon, which its log shows",
			}
		}
	}()
	switch method {
	case methodLimit:
		return k.limit(dst, message)
	case methodAuthz:
		k.session.Also = nil // limits of files are not for it
		return k.authz(dst, message)
	}
	if message == nil {
		return dst, h2.Status{
			Code:    h2.ResourceExhausted,
			Message: "a message has at most 65536 bytes",
		}
	}
	return k.health(dst, message)
}

// Unread keeps the unread lines of this door.
func (d *Door) Unread() *lines.Unread { return &d.unread }

// malformed is the answer to a message that is not of the grammar. Envoy then follows
// failure_mode_deny, as for a server gone; the counter is how an operator learns that it is the
// messages.
func (k *caller) malformed(dst []byte, why string) ([]byte, h2.Status) {
	k.door.malformed.Add(1)
	k.door.unread.Note(wire.BadRequest, []byte("ask "+why))
	return dst, h2.Status{Code: h2.InvalidArgument, Message: why}
}

// notProto is the fault of an unreadable message.
const notProto = "the message is not the protobuf message of this method"

// health answers a call of grpc.health.v1.Health/Check. grpc.health.v1. "" asks for the server as a
// whole. While stopping the door is not serving, so balancers send nothing new.
func (k *caller) health(dst, message []byte) ([]byte, h2.Status) {
	var service []byte
	w := pb.Walk(message)
	for w.Next() {
		if w.Is(1, pb.Bytes) {
			service = w.Data
		}
	}
	if w.Bad {
		return k.malformed(dst, notProto)
	}
	const limits = "envoy.service.ratelimit.v3.RateLimitService"
	switch string(service) {
	case "", limits, "envoy.service.auth.v3.Authorization":
	default:
		return dst, h2.Status{Code: h2.NotFound, Message: "no such service"}
	}
	const serving, notServing = 1, 2
	if k.door.stopped.Load() || string(service) == limits && k.door.waiting.Load() {
		return pb.AppendNumber(dst, 1, notServing), h2.Status{}
	}
	return pb.AppendNumber(dst, 1, serving), h2.Status{}
}
