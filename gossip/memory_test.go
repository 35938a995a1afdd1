package gossip

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"io"
	"net"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// sealWith encrypts a message as memberlist does: a version, a nonce (always the same here),
// ciphertext and tag.
func sealWith(t *testing.T, key, plain, auth []byte) []byte {
	t.Helper()
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	sealed := append([]byte{1}, make([]byte, 12)...)
	return gcm.Seal(sealed, sealed[1:], plain, auth)
}

// streamOf is a member's stream: the label, a head, and the sealed message.
func streamOf(t *testing.T, key, plain []byte) []byte {
	t.Helper()
	head := binary.BigEndian.AppendUint32([]byte{10}, uint32(1+12+len(plain)+16))
	sealed := sealWith(t, key, plain, append(head[:5:5], "test"...))
	return append(append([]byte{labelMark, 4, 't', 'e', 's', 't'}, head...), sealed...)
}

// packetOf is a member's packet.
func packetOf(t *testing.T, key, plain []byte) []byte {
	t.Helper()
	return append([]byte{labelMark, 4, 't', 'e', 's', 't'}, sealWith(t, key, plain, []byte("test"))...)
}

// pushPull is an exchange of states whose header says that there are so many members and bytes of
// state, and the rest.
func pushPull(members, state uint32, rest []byte) []byte {
	b := append([]byte{6, 0x83, 0xa4}, "Join\xc2\xa5Nodes\xce"...)
	b = append(binary.BigEndian.AppendUint32(b, members), "\xacUserStateLen\xce"...)
	return append(binary.BigEndian.AppendUint32(b, state), rest...)
}

// flood sends the stream again and again from many connections at once until stop says so.
func flood(addr string, what []byte, stop *atomic.Bool) {
	var wg sync.WaitGroup
	for range maxHostStream {
		wg.Go(func() {
			for !stop.Load() {
				conn, err := net.DialTimeout("tcp", addr, time.Second)
				if err != nil {
					continue
				}
				_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
				_, _ = conn.Write(what)
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.Close()
			}
		})
	}
	wg.Wait()
}

// mapped is the process's memory in use, bytes: the quantity that RSS follows.
func mapped() uint64 {
	all := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(all)
	return all[0].Value.Uint64() - all[1].Value.Uint64()
}

// TestMemberTakesNoMemory: messages of a member that would unpack to many times their size cost the
// node at most 32 MiB, and their streams are counted.
func TestMemberTakesNoMemory(t *testing.T) {
	members := bytes.Repeat([]byte{0x80}, 900<<10)
	for name, plain := range map[string][]byte{
		"compressed":                 lzwBomb(t, 39<<20),
		"a million members":          pushPull(1<<20, 0, nil),
		"a million empty members":    pushPull(900<<10, 0, members),
		"20 MiB of state":            pushPull(0, 20<<20, nil),
		"maps in a map":              append(append([]byte{6, 0x81, 0xa1, 'x', 0xdd}, 0, 14, 16, 0), members...),
		"as long as it may be, good": pushPull(0, 256<<10, append([]byte{1, 9}, make([]byte, 256<<10-2)...)),
	} {
		t.Run(name, func(t *testing.T) {
			a := newPeer(t, "a", func(c *Config) { c.Merge = func([]byte) {} })
			debug.FreeOSMemory()
			before, most := mapped(), uint64(0)
			var stop atomic.Bool
			var wg sync.WaitGroup
			wg.Go(func() { flood(a.Addr().String(), streamOf(t, a.cfg.Key, plain), &stop) })
			streams := a.Stats().Streams.In
			eventually(t, "many streams came", func() bool {
				most = max(most, mapped())
				return a.Stats().Streams.In > streams+100
			})
			stop.Store(true)
			wg.Wait()
			t.Logf("%d bytes a stream: %.1f MiB more", len(plain), (float64(most)-float64(before))/(1<<20))
			if most > before+32<<20 {
				t.Errorf("took %d MiB more, want at most 32", (most-before)>>20)
			}
		})
	}
}
