package stream_test

import (
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/door/stream"
)

// greedy is a Feeder with little room. It calls first with the first bytes.
type greedy struct {
	room  [16]byte
	first func()
	takes atomic.Int64
}

func (f *greedy) Room() []byte            { return f.room[:] }
func (f *greedy) Patience() time.Duration { return never }

func (f *greedy) Take(_ int, err error) bool {
	if f.takes.Add(1) == 1 {
		f.first()
	}
	return err == nil
}

// TestOthersRunBesideABusyConnection: while a connection takes what fills its socket on the only
// processor, a goroutine whose own socket becomes readable runs before it has come to the end.
func TestOthersRunBesideABusyConnection(t *testing.T) {
	const takes = 1000
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	other, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	wake, err := net.Dial("udp", other.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = wake.Close() }()
	f := &greedy{first: func() { _, _ = wake.Write([]byte("go")) }}
	filled := make(chan struct{})
	at, stop := start(t, &stream.Server{
		Name: "greedy", Most: 1, Drain: time.Second,
		Handle: func(c *stream.Conn) {
			<-filled
			c.Feed(f)
		},
	})
	defer stop()
	c, _ := dial(t, at)
	write(t, c, strings.Repeat("a room of it all", takes))
	ran := make(chan int64, 1)
	go func() {
		_, _, _ = other.ReadFrom(make([]byte, 8))
		ran <- f.takes.Load()
	}()
	runtime.Gosched() // it waits for its socket now
	close(filled)
	if n := <-ran; n >= takes {
		t.Errorf("it ran when all %d reads were taken", n)
	}
	_ = c.Close()
}
