//go:build !race

package together

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	hg "github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/wire"
)

// TestRingSmallLimitIsExact asks four nodes in turn for clients with a limit of 5 a minute, never
// sooner than two flushes after the last time: each gets 5, wherever it begins.
func TestRingSmallLimitIsExact(t *testing.T) {
	const limit, rounds, keys = 5, 10, 40
	nodes := startNodes(t, 4, systemtest.AddressesOf(startRingServers(t, 3)),
		"rules: [{name: few, limit: 5, window: 1m, scope: pop}]\n")
	joined(t, nodes, "few")
	var clients []*hg.Client
	for _, n := range nodes {
		clients = append(clients, n.Client())
	}
	var admitted [keys]int
	for round := range rounds {
		// half a flush for a machine that is late
		systemtest.Hold(t, 2*systemtest.FlushInterval+systemtest.FlushInterval/2)
		for at, client := range clients {
			askFew(t, client, (len(clients)+at-round%len(clients))%len(clients), round, admitted[:])
		}
	}
	for k, n := range admitted {
		if n != limit {
			t.Errorf("client %d was admitted %d times, want %d", k, n, limit)
		}
	}
}

// askFew asks one node for every fourth client, from first on, and notes in admitted who was.
func askFew(t *testing.T, client *hg.Client, first, round int, admitted []int) {
	t.Helper()
	for k := first; k < len(admitted); k += 4 {
		a, err := client.Check(t.Context(), "few", fmt.Sprintf("client-%d", k), 1)
		if err != nil {
			t.Fatal(err)
		}
		admitted[k] = checkFew(t, a, k, round, admitted[k])
	}
}

// checkFew checks the answer to a client that was admitted so often before, and returns how often
// it is now.
func checkFew(t *testing.T, a hg.Answer, client, round, before int) int {
	t.Helper()
	want := before < 5
	if a.Allowed() != want || a.View != wire.ViewPoP {
		t.Errorf("client %d, round %d, %d admitted before: allowed %v, %v, view %v", client, round,
			before, a.Allowed(), a.Why, a.View)
	}
	switch {
	case !a.Allowed() && (a.Why != wire.WhyLimit || a.Remaining != 0 || a.Retry < 50*time.Second ||
		a.Retry > time.Minute):
		t.Errorf("client %d, round %d: refused by %v, remaining %d, retry %d", client, round, a.Why,
			a.Remaining, a.Retry)
	// a node that never saw the client believes it has its whole limit
	case a.Allowed() && (a.Remaining > 4 || round >= 4 && a.Remaining != int64(4-before)):
		t.Errorf("client %d, round %d, %d admitted before: remaining %d", client, round,
			before, a.Remaining)
	}
	if a.Allowed() {
		return before + 1
	}
	return before
}

// The rules of the tests of large limits.
const paceRules = `rules:
  - {name: large, limit: 10000, window: 1s, scope: pop}
  - {name: thousand, limit: 1000, window: 1s, scope: pop}
`

// TestRingLargeLimit offers five times a limit of 10,000 a second over four nodes, beside a client
// that keeps to 0.9 of its limit. The bounds are wide, for machines with other work: the figures
// are in the log, and the soak has narrow bounds.
func TestRingLargeLimit(t *testing.T) {
	const seconds = 10
	nodes := startNodes(t, 4, systemtest.AddressesOf(startRingServers(t, 3)), paceRules)
	joined(t, nodes, "large")
	flood := &systemtest.Stream{Name: "flood", Rule: "large", Keys: 1, Rate: 50_000}
	quiet := &systemtest.Stream{Name: "quiet", Rule: "thousand", Keys: 1, Rate: 900}
	load := systemtest.StartLoad(t, nodes, flood, quiet)
	holds := false
	for n := 0; n < 3*seconds && !holds; n += seconds { // again on a machine with other work
		systemtest.Hold(t, seconds*time.Second+seconds*systemtest.Tick)
		mean := logSeconds(t, flood.Between(n, n+seconds), 10_000)
		holds = mean >= 0.90 && mean <= 1.05
	}
	load.Stop()
	load.Say("in the end")
	if !holds {
		t.Error("want 0.90 to 1.05 of the limit")
	}
	if got := quiet.Total(); got.Refused > 0 || got.Unanswered > 0 {
		t.Errorf("0.9 of the limit: %v", got)
	}
	if got := flood.Total(); got.Unanswered > 0 {
		t.Errorf("the flood: %v", got)
	}
}

// logSeconds logs the admitted share of the limit in each second, and returns the mean from the
// third on.
func logSeconds(t *testing.T, all []systemtest.Second, limit float64) (mean float64) {
	t.Helper()
	text, least, most := "", 1e9, 0.0
	for n, s := range all {
		share := float64(s.Admitted) / limit
		text += fmt.Sprintf(" %.3f", share)
		if n >= 2 {
			mean += share / float64(len(all)-2)
			least, most = min(least, share), max(most, share)
		}
	}
	t.Logf("admitted of the limit, by second:%s; from the third on %.3f..%.3f, mean %.4f",
		text, least, most, mean)
	return mean
}
