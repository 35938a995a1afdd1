package surge

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/request"
)

// TestForget: addresses and texts of requests are gone after a minute, or once the sample is off.
func TestForget(t *testing.T) {
	for _, off := range []bool{false, true} {
		w := New([32]byte{}, rand.Uint64)
		s, now := Settings{Sample: 200, Learn: time.Hour, MinRate: 5}, time.Now().UnixNano()
		w.Set(s, now)
		w.Look(now, false)
		var r request.Request
		r.Reset(nil)
		r.Sample, r.Client = true, netip.MustParseAddr("192.0.2.77")
		r.AddHeader([]byte("X-Name"), []byte("ann"))
		for range 30 {
			w.Keep(&r, now, 0, false)
		}
		client := r.Client.As16()
		held := func() (there, text bool) {
			return slices.ContainsFunc(w.rows, func(r row) bool { return r.client == client }),
				bytes.Contains(slices.Concat(w.fill.texts.now.bytes[:cap(w.fill.texts.now.bytes)],
					w.fill.texts.before.bytes[:cap(w.fill.texts.before.bytes)]), []byte("ann"))
		}
		w.Look(now+1, false)
		if there, text := held(); !there || !text {
			t.Fatal("nothing is kept")
		}
		if off {
			s.Sample = 0
			w.Set(s, now)
		}
		for range 12 {
			now += int64(Every)
			w.Look(now, false)
		}
		if there, text := held(); there || text {
			t.Errorf("off %v: row %v, text %v", off, there, text)
		}
	}
}

// TestKeepBesideLooks: requests are kept and answered, and the state is read, while looks go on.
func TestKeepBesideLooks(t *testing.T) {
	w, now := New([32]byte{}, rand.Uint64), time.Now().UnixNano()
	w.Set(Settings{Sample: 2000, Learn: time.Second, MinRate: 5}, now)
	w.Keep(new(request.Request), now, 0, false) // a request of which nothing is known
	var group sync.WaitGroup
	for lane := range uint64(4) {
		group.Go(func() {
			var r request.Request
			for i := range uint64(500) {
				r.Reset(nil)
				r.Sample = w.Share.Load() > 0
				r.AddHeader([]byte("X-Name"), []byte("ann"))
				w.Keep(&r, now, lane<<32|i+1, false)
				w.Answered(lane<<32|i+1, 401)
				w.Report()
			}
		})
	}
	for i := range 20 {
		w.Look(now+int64(i), false)
		w.LookAgain(now)
		_ = w.Kept(nil)
		w.Set(Settings{Sample: 2000, Learn: time.Second, MinRate: 5}, now)
	}
	group.Wait()
	w.Look(now, false)
	if r := w.Report(); r.Sampled == 0 {
		t.Errorf("%+v", r)
	}
}
