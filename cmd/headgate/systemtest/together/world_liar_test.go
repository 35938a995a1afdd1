//go:build soak && !race

package together

import (
	"context"
	"encoding/binary"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/gossip"
	"github.com/headgate-dev/headgate/gossip/coordinator"
)

// A packet of the coordinator and its records, as package gossip/coordinator/packet describes them:
// encoded by hand, since a liar may send records that the coordinator would not.
const (
	liarAsk, liarDemand, liarView, liarAdvice, liarNotice = 1, 2, 3, 4, 5

	liarTotals, liarShed = 2, 16 // flags
	hugeRate             = 1e12  // cost a second
)

// forger is a member that has the cluster's key. It answers every request with lies, and keeps the
// packets that it receives.
type forger struct {
	*gossip.Node
	name, pop string
	answers   atomic.Bool // lies to whoever asks
	sequence  atomic.Uint64
	began     time.Time

	mu    sync.Mutex
	asked map[string]int // by key: how often it was asked
	kept  [][]byte       // packets of others
	lied  int
}

const mostKept = 2000

// joinLiar makes a liar a member of the PoP, until the test ends.
func (l *worldLab) joinLiar(name, pop string) *forger {
	l.Helper()
	v := &forger{name: name, pop: pop, began: time.Now(), asked: map[string]int{}}
	var err error
	v.Node, err = gossip.Open(gossip.Config{
		Name: name, Bind: systemtest.Address(systemtest.Port(l)), Join: l.seeds, Key: l.key,
		Label:   "headgate",
		Profile: gossip.Local,
		Meta:    gossip.Meta{PoP: pop, Wire: coordinator.Version}, Receive: v.receive,
	})
	if err != nil {
		l.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- v.Run(ctx) }()
	l.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			l.Error(err)
		}
	})
	edgetest.Await(l, name+" is a member", worldTogether,
		func() bool { return len(v.Members()) == len(l.nodes)+1 })
	edgetest.Await(l, "all know "+name, worldTogether, func() bool {
		for _, n := range l.nodes {
			if n.Alive() != len(l.nodes)+1 {
				return false
			}
		}
		return true
	})
	return v
}

// packet is a packet of sender, at a time of its, with a new number.
func (v *forger) packet(sender string, incarnation, issued time.Time, records ...[]byte) []byte {
	b := append([]byte{coordinator.Version, byte(len(sender))}, sender...)
	b = binary.AppendUvarint(b, uint64(incarnation.UnixMilli()))
	b = binary.AppendUvarint(b, v.sequence.Add(1))
	b = binary.AppendVarint(b, issued.UnixMilli())
	for _, r := range records {
		b = append(b, r...)
	}
	return b
}

// own is a packet that is honest about its sender and its time.
func (v *forger) own(records ...[]byte) []byte {
	return v.packet(v.name, v.began, time.Now(), records...)
}

// all sends a packet to every other member.
func (v *forger) all(packet func() []byte) {
	for _, m := range v.Members() {
		if m.Name != v.name {
			v.Send(m.Name, packet())
		}
	}
}

func liarRecord(kind byte, rule, key string, nonce uint32, body []byte) []byte {
	b := append([]byte{byte(len(rule))}, rule...)
	b = append(append(b, byte(len(key)-1)), key...)
	b = append(binary.LittleEndian.AppendUint32(b, nonce), body...)
	return append(binary.AppendUvarint([]byte{kind}, uint64(len(b))), b...)
}

func liarFloat(b []byte, f float64) []byte {
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(f)))
}

// viewOf is a view in which a key is offered a million million times a second, and none of it may
// pass.
func viewOf(kind byte, key string, nonce, period uint32, from string) []byte {
	flags := byte(liarShed)
	if period != 0 {
		flags |= liarTotals
	}
	b := liarFloat(liarFloat(liarFloat([]byte{flags}, hugeRate), 1), 1)
	b = append(append(b, byte(len(from))), from...)
	if period != 0 {
		b = append(binary.LittleEndian.AppendUint32(b, period), 1)
		for _, n := range []uint64{1 << 40, 1 << 30, 0} {
			b = binary.AppendUvarint(b, n)
		}
	}
	return liarRecord(kind, "thousand", key, nonce, b)
}

// demandOf is a report of a key's offered rate in a PoP.
func demandOf(rule, key string, rate float64) []byte {
	b := liarFloat(liarFloat([]byte{0}, rate), 0)
	b = binary.AppendUvarint(b, 1000)
	b = liarFloat(binary.AppendUvarint(b, 3000), rate)
	return liarRecord(liarDemand, rule, key, 7, b)
}

// noticeOf is a notice of a key until then, in the name of an owner.
func noticeOf(key, from string, until time.Time, number uint64) []byte {
	b := liarFloat(liarFloat(liarFloat([]byte{liarShed}, hugeRate), 1), 1)
	b = append(append(b, byte(len(from))), from...)
	b = binary.AppendUvarint(binary.AppendVarint(b, until.UnixMilli()), number)
	return append([]byte{'n', coordinator.Version},
		liarRecord(liarNotice, "thousand", key, 0, b)...)
}

// receive keeps a packet and answers the requests in it.
func (v *forger) receive(packet []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.kept) < mostKept {
		v.kept = append(v.kept, packet)
	}
	sender, rest := liarHeader(packet)
	for len(rest) > 1 {
		kind := rest[0]
		size, n := binary.Uvarint(rest[1:])
		body := rest[1+n : 1+n+int(size)]
		rest = rest[1+n+int(size):]
		if kind != liarAsk && kind != liarDemand {
			continue
		}
		ruleEnd := 1 + int(body[0])
		keyEnd := ruleEnd + 2 + int(body[ruleEnd])
		key := string(body[ruleEnd+1 : keyEnd])
		if v.asked[key]++; !v.answers.Load() {
			continue
		}
		nonce, period := binary.LittleEndian.Uint32(body[keyEnd:]), liarPeriod(body[keyEnd+4:])
		v.lied++
		v.Send(sender, v.own(viewOf(map[byte]byte{liarAsk: liarAdvice, liarDemand: liarView}[kind],
			key, nonce, period, "lhr")))
	}
}

// liarHeader returns who a packet is of, and its records.
func liarHeader(packet []byte) (sender string, rest []byte) {
	end := 2 + int(packet[1])
	sender, rest = string(packet[2:end]), packet[end:]
	for range 3 { // incarnation, sequence, issued
		_, n := binary.Uvarint(rest)
		rest = rest[n:]
	}
	return sender, rest
}

// liarPeriod returns the running period in a report, 0 for none.
func liarPeriod(demand []byte) uint32 {
	if demand[0]&liarTotals == 0 || demand[0]&4 != 0 {
		return 0
	}
	rest := demand[9:] // flags, rate, admitted
	for range 2 {      // over, hold
		_, n := binary.Uvarint(rest)
		rest = rest[n:]
	}
	return binary.LittleEndian.Uint32(rest[4:])
}

// keyOf returns a key for which is holds: the liar has the part in it that the test needs.
func (l *worldLab) keyOf(prefix string, v *forger, is func(owner, standby string) bool) string {
	members := []coordinator.Member{{Name: v.name, PoP: v.pop}}
	for _, p := range l.pops {
		for _, n := range p.nodes {
			members = append(members, coordinator.Member{Name: n.ID, PoP: p.name})
		}
	}
	seats := coordinator.NewAssignment(l.key, members)
	for n := range 10_000 {
		key := prefix + "-" + string(rune('a'+n%26)) + string(rune('a'+n/26%26)) +
			string(rune('a'+n/676))
		if is(seats.Owners("thousand", key)) {
			return key
		}
	}
	l.Fatal("no such key")
	return ""
}

// replay sends the packets that the liar kept to all members again.
func (v *forger) replay() (count int) {
	v.mu.Lock()
	kept := v.kept
	v.mu.Unlock()
	for _, packet := range kept {
		v.all(func() []byte { return packet })
		count++
	}
	return count
}

// every calls what once a gap, until the time long is over.
func every(t *testing.T, gap, long time.Duration, what func(n int)) {
	t.Helper()
	tick := time.NewTicker(gap)
	defer tick.Stop()
	end := time.Now().Add(long)
	for n := 0; time.Now().Before(end); n++ {
		what(n)
		<-tick.C
	}
}
