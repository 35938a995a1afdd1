package door_test

import (
	"net"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/headgate-dev/headgate/edge/door"
)

// TestYield: on one processor, which the caller never leaves otherwise, a goroutine whose socket
// has become readable runs before Yield returns, and GiveWay. Now and then another thread is handed
// the event and has no time to pass it on: then it runs at a later one.
func TestYield(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	in, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	out, err := net.Dial("udp", in.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	y, err := door.NewYielder()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = y.Close() }()
	var ran atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for b := make([]byte, 8); ; ran.Add(1) {
			if _, _, err := in.ReadFrom(b); err != nil {
				return
			}
		}
	}()
	if err := y.Yield(); err != nil { // the other goroutine waits for its socket now
		t.Fatal(err)
	}
	const events = int64(200)
	atOnce := int64(0)
	for n := range events {
		if _, err := out.Write([]byte("go")); err != nil {
			t.Fatal(err)
		}
		for tries := 0; ran.Load() <= n; tries++ {
			if err := [...]func() error{y.Yield, y.GiveWay}[n%2](); err != nil {
				t.Fatal(err)
			}
			if tries == 0 && ran.Load() > n {
				atOnce++
			}
		}
	}
	if atOnce < events/2 {
		t.Errorf("the other goroutine ran at once after %d of %d events", atOnce, events)
	}
	_ = in.Close()
	<-ended
}

// TestYieldAllocates: a GiveWay, and so a Yield, allocates nothing, and says when its descriptor is
// gone.
func TestYieldAllocates(t *testing.T) {
	y, err := door.NewYielder()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = y.Close() }()
	if n := testing.AllocsPerRun(1000, func() { err = y.GiveWay() }); n != 0 || err != nil {
		t.Errorf("%v allocations, %v", n, err)
	}
	if err := y.Close(); err != nil {
		t.Fatal(err)
	}
	if y.Yield() == nil {
		t.Error("a closed descriptor yields")
	}
}

// BenchmarkYield is the price of letting others run when nobody wants to.
func BenchmarkYield(b *testing.B) {
	y, err := door.NewYielder()
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = y.Close() }()
	for b.Loop() {
		if err := y.Yield(); err != nil {
			b.Fatal(err)
		}
	}
}
