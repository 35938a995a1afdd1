package udp

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

const clientPolicies = `
policies:
  - {name: open-client, match: {path: "/open/**"}, limit: 1000000000, window: 10s}
  - {name: open-path, match: {path: "/open/**"}, key: [client, path], limit: 1000000000, window: 10s}
  - {name: tight-client, match: {path: "/tight/**"}, limit: 100, window: 10s}
  - {name: tight-path, match: {path: "/tight/**"}, key: [client, path], limit: 1000000000, window: 10s}
`

// BenchmarkAskLinesClients answers packets of 20 lines with two questions each, of 4,096 clients,
// as row asks of bench/doors.sh sends them. It prints percentiles of slices of 16 packets: other
// work on the machine leaves the first ones alone.
func BenchmarkAskLinesClients(b *testing.B) {
	for _, path := range []string{"open", "tight"} {
		for _, clients := range []int{1, 4096} {
			b.Run(fmt.Sprintf("%s/%d", path, clients),
				func(b *testing.B) { benchmarkClients(b, path, clients) })
		}
	}
}

func benchmarkClients(b *testing.B, path string, clients int) {
	const perSlice = 16
	c, err := config.Parse("headgate.yaml", []byte(clientPolicies))
	if err != nil {
		b.Fatal(err)
	}
	e, err := config.LoadPolicies(&c, [32]byte{1})
	if err != nil {
		b.Fatal(err)
	}
	u := doorOf(gatetest.New(b, 64<<20, c.AllRules()...), false)
	u.room.Set(e, c.AllRules(), time.Minute)
	rng := rand.New(rand.NewPCG(1, 2))
	packets := make([][]byte, 1024)
	for i := range packets {
		for range 20 {
			n := rng.IntN(clients)
			packets[i] = fmt.Appendf(packets[i],
				"ask method=GET path=/%s/x host=a.example client=198.18.%d.%d\n", path, n>>8, n&255)
		}
	}
	packet, reply := make([]byte, 0, 2000), make([]byte, 0, 5000)
	decisions, k := u.gate.Lane(0).Batch(u.gate.Now(), rand.Uint64), u.newAsker()
	i, began, took := 0, time.Now(), []time.Duration{0}
	for b.Loop() {
		if i++; i%perSlice == 0 {
			decisions.End()
			k.now = u.gate.Now()
			decisions = u.gate.Lane(0).Batch(k.now, rand.Uint64)
			at := time.Now()
			took, began = append(took, at.Sub(began)), at
		}
		packet = append(packet[:0], packets[i%len(packets)]...)
		u.respond(&u.stats[0], &decisions, &k, packet, reply)
	}
	slices.Sort(took)
	for _, p := range []int{1, 5, 25} {
		b.ReportMetric(float64(took[len(took)*p/100].Nanoseconds())/perSlice/20,
			fmt.Sprintf("p%d-ns/request", p))
	}
}
