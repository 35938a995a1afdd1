package counts_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/counts"
	"github.com/headgate-dev/headgate/window"
)

// BenchmarkUsedUp asks about keys that are new, of a full table: of which nothing is known, and of
// which three PoPs told.
func BenchmarkUsedUp(b *testing.B) {
	table := counts.NewTable(counts.Entries)
	table.SetSecret([]byte("secret"))
	var key [8]byte
	running := uint32(uint64(began) / 2e9)
	for n := range uint64(counts.Entries / 3) {
		binary.LittleEndian.PutUint64(key[:], n)
		for origin := range uint8(3) {
			s := counts.State{Origin: origin + 1, Period: running, By: [window.Periods]uint8{2, 3}}
			table.Put(began, table.Digest("r", key[:]), &s)
		}
	}
	for name, first := range map[string]uint64{"unknown": 1 << 40, "known": 0} {
		b.Run(name, func(b *testing.B) {
			q := counts.Query{
				Now: began, Rule: "r", Limit: 20,
				Window: 10 * time.Second, Key: key[:],
			}
			n := uint64(0)
			for b.Loop() {
				binary.LittleEndian.PutUint64(key[:], first+n*7919%(counts.Entries/3))
				n++
				table.UsedUp(&q)
			}
		})
	}
}
