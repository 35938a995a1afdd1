package ask

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/gate"
)

const recordPolicies = `rules: []
policies:
  - {name: login, match: {path: /login}, count_when: {path: /login, status: 401, response.header.x-failed: true}, limit: 5, window: 1m}
  - {name: tokens, match: {path: /tokens}, cost: {of: response.header.x-tokens, max: 50}, limit: 5, window: 1m}
`

// FuzzRecord holds that no record, of whatever bytes, ends the daemon, nor charges a rule but those
// in force.
func FuzzRecord(f *testing.F) {
	c, err := config.Parse("headgate.yaml", []byte(recordPolicies))
	if err != nil {
		f.Fatal(err)
	}
	e, err := config.LoadPolicies(&c, [32]byte{1})
	if err != nil {
		f.Fatal(err)
	}
	g := gate.New(gate.Options{
		Node: "test", Memory: 1 << 20, Rules: c.AllRules(), Flush: time.Second, Start: time.Now(),
	})
	r := New(g, TicketBytes)
	r.Set(e, c.AllRules(), time.Minute)
	good := append(beginRecord(nil, 1, 1, 0).addNumber(7), 0, 3, 0, 0, 1, 'k')
	for _, seed := range [][]byte{
		nil, good, good[:len(good)-1], good[:9:9],
		append(good[:15:15], 255, 255, 255, 255, 127),
		{1, 0, 0, 0, 200, 1, 1},
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := r.NewSession()
		now := g.Now()
		batch := g.Lane(0).Batch(now, rand.Uint64)
		defer batch.End()
		number := r.tickets.Add(b, now.Add(time.Second), rand.Uint64())
		fits := record(b).fits(r.now.Load().tickets)
		s.Begin()
		s.Request.Status = 401
		if counted := s.Report(&batch, now, number); counted != (fits &&
			record(b).generation() == 1) {
			t.Errorf("counted %v, the record fits: %v", counted, fits)
		}
	})
}

// TestRecordIsReadAsWritten: what add writes, next reads; a cut record, or a number of no policy or
// rule, fits none.
func TestRecordIsReadAsWritten(t *testing.T) {
	c, err := config.Parse("headgate.yaml", []byte(recordPolicies))
	if err != nil {
		t.Fatal(err)
	}
	e, err := config.LoadPolicies(&c, [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	in := &generation{settles: e.Settler(), rules: [][]byte{[]byte("login"), []byte("tokens")}}
	whole := append(beginRecord(nil, 1<<30, 2, 1).addNumber(7).addNumber(9).addNumber(11), 1, 3, 1,
		4, 3, 'k', 'e', 'y')
	var leases []uint64
	for n := range whole.leases() {
		leases = append(leases, n)
	}
	w, rest, ok := whole[whole.questionsAt():].next()
	if whole.generation() != 1<<30 || len(leases) != 2 || leases[1] != 9 || !ok || len(rest) > 0 ||
		w.rule != 1 || w.counted != 4 || string(w.key) != "key" || !whole.fits(in) {
		t.Errorf("%v %+v %v %v", leases, w, ok, whole.fits(in))
	}
	for n := range whole {
		if n != whole.questionsAt() && whole[:n].fits(in) {
			t.Errorf("the first %d of %d bytes fit", n, len(whole))
		}
	}
	for _, at := range []int{0, 2, 4} { // policy, rule, length of the key
		other := bytes.Clone(whole)
		other[whole.questionsAt()+at] = 100
		if record(other).fits(in) {
			t.Errorf("number %d fits", at)
		}
	}
	if big := binary.AppendUvarint(whole[:whole.questionsAt():whole.questionsAt()],
		1<<40); record(append(big, 3, 1, 4, 1, 'k')).fits(in) {
		t.Error("a policy of 40 bits fits")
	}
}
