package gossip

import (
	"net"
	"runtime"
	"testing"

	"github.com/headgate-dev/headgate/gossip/guard"
	"github.com/headgate-dev/headgate/gossip/guard/guardtest"
)

// A packet that unpacks to megabytes costs a node nothing if its sender lacks the key: 1,900 bytes
// for 1 MiB are refused before they are unpacked, longer ones before they are read.
func TestBombCostsNothing(t *testing.T) {
	a := newPeer(t, "a", nil)
	conn, err := net.Dial("udp", a.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	head := append([]byte{guard.LabelMark, 4}, "test"...)
	small, big := append(head, guardtest.Bomb(t, 1<<20)...),
		append(head, guardtest.Bomb(t, 16<<20)...)
	if len(small) > guard.MaxDatagram || len(big) < guard.MaxDatagram {
		t.Fatalf("bombs of %d and %d bytes", len(small), len(big))
	}
	const each = 50
	before := allocated()
	for i := range each {
		_, _ = conn.Write(small)
		_, _ = conn.Write(big)
		eventually(t, "the packets were refused", func() bool {
			d := a.Stats().Dropped
			return d["key"] > uint64(i) && d["oversize"] > uint64(i)
		})
	}
	perPacket := (allocated() - before) / (2 * each)
	t.Logf("%d bytes allocated a packet, this test's own waiting included", perPacket)
	if perPacket > 70<<10 {
		t.Errorf("%d bytes allocated a packet, want at most 70 KiB", perPacket)
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
