//go:build soak && !race

package together

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
)

// TestRingSoakLatency alternates health and faults, so that other work of the machine falls on
// both, and compares how long clients wait. It asserts no times: the ratios are for the log.
func TestRingSoakLatency(t *testing.T) {
	servers := startRingServers(t, 3)
	l := openLab(t, servers, systemtest.AddressesOf(servers))
	l.awaitCalm()
	found := map[string][]figures{}
	for range 5 {
		for _, f := range faultsInTurn {
			found["healthy"] = append(found["healthy"], l.measure())
			f.begin(servers)
			systemtest.Hold(t, time.Second)
			found[f.name] = append(found[f.name], l.measure())
			f.end(servers)
			l.awaitRecovered("after " + f.name)
			systemtest.Hold(t, time.Second)
		}
	}
	l.Stop()
	l.check("after all faults")
	healthy := middleOf(found["healthy"])
	t.Logf("healthy: median of 15 runs: p50 %v, p99 %v", healthy.half, healthy.most)
	for _, f := range faultsInTurn {
		faulty := middleOf(found[f.name])
		t.Logf("%s: median of 5 runs: p50 %v (%.2f of healthy), p99 %v (%.2f, %+v)",
			f.name, faulty.half,
			ratioOf(faulty.half, healthy.half), faulty.most, ratioOf(faulty.most, healthy.most),
			faulty.most-healthy.most)
		logPairs(t, found["healthy"], found[f.name])
	}
}

// faultsInTurn are faults of servers, and their repairs.
var faultsInTurn = []struct {
	name       string
	begin, end func([]*systemtest.Memcached)
}{
	{
		"one stopped", func(all []*systemtest.Memcached) { all[0].Signal(syscall.SIGSTOP) },
		func(all []*systemtest.Memcached) { all[0].Signal(syscall.SIGCONT) },
	},
	{"all stopped", signalAll(syscall.SIGSTOP), signalAll(syscall.SIGCONT)},
	{"all killed", func(all []*systemtest.Memcached) {
		for _, s := range all {
			s.Kill()
		}
	}, func(all []*systemtest.Memcached) {
		for _, s := range all {
			s.Start()
		}
	}},
}

func signalAll(sig syscall.Signal) func([]*systemtest.Memcached) {
	return func(all []*systemtest.Memcached) {
		for _, s := range all {
			s.Signal(sig)
		}
	}
}

// figures are how long half of the clients waited at most, and 99 % of them.
type figures struct{ half, most time.Duration }

// measure returns the figures of a few seconds.
func (l *lab) measure() figures {
	l.Helper()
	l.Take()
	systemtest.Hold(l, 5*time.Second)
	waits := l.Take()
	return figures{quantile(waits, 0.5), quantile(waits, 0.99)}
}

// middleOf returns the medians of several runs.
func middleOf(runs []figures) (m figures) {
	pick := func(of func(figures) time.Duration) time.Duration {
		var all []time.Duration
		for _, r := range runs {
			all = append(all, of(r))
		}
		slices.Sort(all)
		return all[(len(all)-1)/2]
	}
	return figures{
		pick(func(f figures) time.Duration { return f.half }),
		pick(func(f figures) time.Duration { return f.most }),
	}
}

func ratioOf(a, b time.Duration) float64 { return float64(a) / float64(max(b, 1)) }

// logPairs logs the 99th percentiles run by run, so that the noise can be seen.
func logPairs(t *testing.T, healthy, faulty []figures) {
	t.Helper()
	var h, f []time.Duration
	for _, one := range healthy {
		h = append(h, one.most)
	}
	for _, one := range faulty {
		f = append(f, one.most)
	}
	t.Logf("  p99 run by run: healthy %v, faulty %v", h, f)
}
