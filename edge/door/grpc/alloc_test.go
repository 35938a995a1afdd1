//go:build !race

// The race detector makes sync.Pool forget at random, which is an allocation each time.

package grpc_test

import (
	"encoding/binary"
	"testing"
)

// TestAllocations: a call that is like the one before allocates nothing.
func TestAllocations(t *testing.T) {
	h := open(t, twoRules)
	c := h.dial(t)
	message := limits("d", describe("rule", "api", "key", "k"),
		describe("rule", "login", "user", "u"))
	for range 4 {
		c.limit(message)
	}
	c.head(limitMethod)
	prefix := string(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))))
	head := frame(1, 4, c.id, c.block.String())
	call := append(append([]byte{}, head...), frame(0, 1, c.id, prefix+message)...)
	buf := make([]byte, 64<<10)
	allocs := testing.AllocsPerRun(500, func() {
		binary.BigEndian.PutUint32(call[5:], c.id)
		binary.BigEndian.PutUint32(call[len(head)+5:], c.id)
		c.id += 2
		if _, err := c.conn.Write(call); err != nil {
			t.Fatal(err)
		}
		if _, err := c.conn.Read(buf); err != nil {
			t.Fatal(err)
		}
	})
	if allocs >= 1 {
		t.Errorf("%v allocations a call", allocs)
	}
}
