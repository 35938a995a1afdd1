package ask_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/surge"
)

// sampledPolicies are some that a request of a browser meets.
const sampledPolicies = `policies:
  - {name: office, match: {client: 192.0.2.0/24}, skip: all}
  - {name: api, match: {path: /v2/**}, key: header.x-api-key | client, limit: 1000000, window: 1m}
  - {name: site, match: {}, limit: 1000000, window: 1m}
`

// browsed are the headers of a browser.
var browsed = [][2][]byte{
	{[]byte("User-Agent"), []byte("Mozilla/5.0 (X11; Linux x86_64) Firefox/128.0")},
	{[]byte("Accept"), []byte("text/html,*/*")},
	{[]byte("Accept-Language"), []byte("en-US,en;q=0.9")},
	{[]byte("Accept-Encoding"), []byte("gzip, br")},
	{[]byte("Cookie"), []byte("session=0123456789")},
	{[]byte("Referer"), []byte("https://www.example.com/")},
	{[]byte("Sec-Fetch-Mode"), []byte("navigate")},
}

var browsing = [][]byte{
	[]byte("GET"), []byte("/blog/2016/an-article"), []byte("www.example.com"),
}

// browse asks as a door does.
func (h *house) browse(b *gate.Batch, client uint32) {
	f := h.s.Read(netip.Addr{})
	f.Method(browsing[0])
	f.Target(browsing[1])
	f.Host(browsing[2])
	for _, header := range browsed {
		f.Header(header[0], header[1])
	}
	f.Client(netip.AddrFrom4([4]byte{10, byte(client >> 16), byte(client >> 8), byte(client)}))
	f.End()
	h.s.Decide(b, h.now, rand.Uint64())
}

// watched has h draw share of 2^32 of the requests.
func (h *house) watched(share uint32) *surge.Watch {
	w := surge.New([32]byte{}, rand.Uint64)
	w.Set(surge.Settings{Sample: 2000, Learn: time.Hour, MinRate: 5}, int64(h.now))
	w.Share.Store(share)
	h.room.Sample(&w.Share, w)
	h.s = h.room.NewSession()
	return w
}

// TestSampledAllocatesNothing: a request that is drawn allocates as little as any other.
func TestSampledAllocatesNothing(t *testing.T) {
	h := open(t, sampledPolicies)
	w := h.watched(math.MaxUint32)
	b := h.gate.Lane(0).Batch(h.now, rand.Uint64)
	defer b.End()
	client := uint32(0)
	if n := testing.AllocsPerRun(500, func() {
		client++
		h.browse(&b, client%8)
	}); n > 0 {
		t.Errorf("%.0f allocations", n)
	}
	if w.Look(int64(h.now), false); w.Report().Sampled < 400 {
		t.Errorf("%d requests are kept", w.Report().Sampled)
	}
}

// BenchmarkSampled asks with one of so many requests drawn, and without a watch.
func BenchmarkSampled(b *testing.B) {
	for _, of := range []uint32{0, 20_000, 1} {
		b.Run(fmt.Sprint("of", of), func(b *testing.B) {
			h := open(b, sampledPolicies)
			if of > 0 {
				h.watched(math.MaxUint32 / of)
			}
			batch := h.gate.Lane(0).Batch(h.now, rand.Uint64)
			defer batch.End()
			client := uint32(0)
			b.ReportAllocs()
			for b.Loop() {
				client++
				h.browse(&batch, client%1000)
			}
		})
	}
}
