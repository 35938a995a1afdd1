package council

import "github.com/headgate-dev/headgate/window"

// budget is what a node may send. Each kind of record has a purse of its own, or what answers others, which comes as it comes, would leave
// nothing to ask with; what a full purse cannot hold goes into one for all.
//
//	refill ─► purses, see shares ─► may, spend
//	             └─ overflow ─► common ─┘
type budget struct {
	rate   float64 // bytes a second
	filled window.Instant
	purses [kinds]float64 // bytes that may be sent
	common float64
	denied float64 // bytes that might not be sent since the last refill
}

// burst is how many seconds of the budget may be sent at once.
const burst = 1

// shares are the parts of the budget that go into the purses: of each key that is asked about two owners are told, and answer.
var shares = [kinds]float64{kindAsk: 1. / 7, kindDemand: 2. / 7, kindView: 2. / 7, kindAdvice: 1. / 7, kindNotice: 1. / 7}

func newBudget(rate int, now window.Instant) budget {
	return budget{rate: float64(rate), filled: now, common: burst * float64(rate)}
}

// refill adds what may be sent by now.
func (b *budget) refill(now window.Instant) {
	more := now.Sub(b.filled).Seconds() * b.rate
	b.filled, b.denied = now, 0
	for k := kindAsk; k < kinds; k++ {
		b.purses[k] += more * shares[k]
		over := max(0, b.purses[k]-burst*b.rate*shares[k])
		b.purses[k] -= over
		b.common += over
	}
	b.common = min(b.common, burst*b.rate)
}

// may reports whether a record of kind k may be sent now. Notices have nothing but their purse, which those of others take from too.
func (b *budget) may(k kind) bool {
	if b.left(k) {
		return true
	}
	if k != kindNotice {
		b.denied += typical
	}
	return false
}

// left is may for who only wants to know whether it is worth while to find out what to send.
func (b *budget) left(k kind) bool { return b.purses[k] > 0 || k != kindNotice && b.common > 0 }

// typical is what a record takes, with its share of a packet, bytes.
const typical = 60

// spend takes what was sent for records of kind k. What was sent unasked is owed for no longer than it takes to refill.
func (b *budget) spend(k kind, bytes int) {
	if b.purses[k] > 0 || k == kindNotice {
		b.purses[k] = max(b.purses[k]-float64(bytes), -burst*b.rate)
		return
	}
	b.common = max(b.common-float64(bytes), -burst*b.rate)
}
