//go:build !race

package life

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	hg "github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/window"
)

// The tests named TestState… kill a daemon and check the state that the next one restores.

// stateRules are a limit that sheds and one that blocks.
const stateRules = `rules:
  - {name: shed, limit: 200, window: 3s}
  - {name: block, limit: 3, window: 1m, action: block, block_for: 10m}
policies:
  - {name: api, match: {}, key: header.x-api-key, limit: 3, window: 1m, action: block,
     block_for: 10m}
`

// stateNode is a daemon on one machine's one state directory, which is killed and started again.
type stateNode struct {
	*systemtest.Node
	file string
	dir  string
}

// newStateNode starts a daemon that keeps its state in dir.
func newStateNode(t testing.TB, dir string) *stateNode {
	t.Helper()
	n := &stateNode{
		Node: &systemtest.Node{TB: t, ID: "edge"},
		file: filepath.Join(t.TempDir(), "headgate.yaml"), dir: dir,
	}
	conf := fmt.Sprintf("node: edge\nmemory: 16MiB\nstate_dir: %q\nlisten: {udp: %q, http: [], "+
		"admin: %q}\n%s",
		dir, systemtest.Address(systemtest.Port(t)), systemtest.Address(systemtest.Port(t)),
		stateRules)
	if err := os.WriteFile(n.file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	n.start()
	t.Cleanup(func() { n.Stop() })
	return n
}

// start starts the daemon and returns how long it took until it answered.
func (n *stateNode) start() time.Duration {
	n.Helper()
	daemon := exec.Command(systemtest.Binary(n), "serve", "-c", n.file) // which may be built first
	began := time.Now()
	n.Launch(daemon)
	n.AwaitDoors()
	if a := n.check("shed", "first"); a.Status != wire.Allow {
		n.Fatalf("%+v: %s", a, n.Said)
	}
	return time.Since(began)
}

// kill ends the daemon as kill -9 does.
func (n *stateNode) kill() {
	_ = n.Cmd.Process.Kill()
	_ = n.Cmd.Wait() // that it was killed
}

func (n *stateNode) check(rule, key string) hg.Answer {
	n.Helper()
	answers, err := n.Client().Batch(n.Context(), []hg.Query{{Rule: rule, Key: key}})
	if err != nil {
		n.Fatal(err)
	}
	return answers[0]
}

// attack sends ten times the limit of shed for a while, and notes in log each request that was
// admitted.
func (n *stateNode) attack(lasts time.Duration, log *window.Log, worst *int64) {
	n.Helper()
	client, tick := n.Client(), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	ask := make([]hg.Query, 4) // 800/s
	for k := range ask {
		ask[k] = hg.Query{Rule: "shed", Key: "attacker"}
	}
	for end := time.Now().Add(lasts); time.Now().Before(end); <-tick.C {
		now := window.Instant(time.Now().UnixNano())
		answers, err := client.Batch(n.Context(), ask)
		if err != nil {
			n.Fatal(err)
		}
		for _, a := range answers {
			if a.Status == wire.Allow {
				log.Admit(now, 1)
			}
		}
		*worst = max(*worst, log.Admitted(now))
	}
}

// attackUntilKept attacks for a second, and until the state of its end is kept: a machine under
// load writes later.
func (n *stateNode) attackUntilKept(log *window.Log, worst *int64) {
	n.Helper()
	late := time.Now().Add(900 * time.Millisecond)
	n.attack(1100*time.Millisecond, log, worst)
	edgetest.Await(n, "a state that is kept", edgetest.Patience, func() bool {
		file, err := os.Stat(filepath.Join(n.dir, "headgate.state"))
		if err == nil && file.ModTime().After(late) {
			return true
		}
		n.attack(100*time.Millisecond, log, worst)
		return false
	})
}

// TestStateSurvivesKill: a client over its limit, one that is blocked and one that an operator
// blocked stay so when the daemon is killed three times, a client near its limit is not freed, and
// no request waits for the state.
func TestStateSurvivesKill(t *testing.T) {
	n := newStateNode(t, filepath.Join(t.TempDir(), "state"))
	for range 5 {
		n.check("block", "guesser")
	}
	customer := hg.Request{Path: "/", Headers: http.Header{"X-Api-Key": {"k-3"}}}
	for range 5 {
		_, _ = n.Client().Ask(n.Context(), customer)
	}
	n.post(`{"rule":"shed","key":"crawler","action":"block","ttl":"30m","reason":"scrapes","by":"ann"}`)
	log, worst := window.NewLog(2990*time.Millisecond, time.Microsecond), int64(0)
	n.attack(3500*time.Millisecond, log, &worst) // into the second window's admissions
	for kill := range 3 {
		n.kill()
		took := n.start()
		for rule, key := range map[string]string{"block": "guesser", "shed": "crawler"} {
			if a := n.check(rule, key); a.Why != wire.WhyBlock {
				t.Errorf("kill %d: %s is not blocked: %+v", kill, key, a)
			}
		}
		// the key of a policy by an API key is a digest
		if a, err := n.Client().Ask(n.Context(), customer); err != nil || a.Why != wire.WhyBlock {
			t.Errorf("kill %d: the customer is not blocked: %+v, %v", kill, a, err)
		}
		n.attackUntilKept(log, &worst)
		t.Logf("kill %d: it answered after %v, what was in the worst window so far is %.1f %% of "+
			"the limit", kill, took, float64(worst)/2)
	}
	n.attack(3*time.Second, log, &worst)
	if worst > 210 {
		t.Errorf("%d admitted within 3 s; the limit is 200", worst)
	}
	flag := n.Explain("shed", "crawler").Flag
	if flag == nil || flag.Source != "manual:ann" || flag.Reason != "scrapes" ||
		time.Until(flag.Expires) > 30*time.Minute {
		t.Errorf("the operator's block: %+v", flag)
	}
	if x := n.Explain("shed", "attacker"); x.Admitted > 200 || x.Admitted < 150 {
		t.Errorf("a window after: %v admitted", x.Admitted)
	}
}

// TestStateOfAStop: a daemon that is stopped loses nothing and assumes nothing; one with a damaged
// state file starts empty and logs it.
func TestStateOfAStop(t *testing.T) {
	n := newStateNode(t, t.TempDir())
	for range 3 {
		n.check("block", "guesser")
	}
	for range 150 {
		n.check("shed", "busy")
	}
	n.Stop()
	n.start()
	if a := n.check("block", "guesser"); a.Why != wire.WhyBlock && a.Why != wire.WhyLimit {
		t.Errorf("at its limit before: %+v", a)
	}
	if a := n.check("shed", "busy"); a.Status != wire.Allow || a.Remaining > 50 {
		t.Errorf("near its limit before: %+v", a)
	}
	n.Stop()
	path := filepath.Join(n.dir, "headgate.state")
	all, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, all[:len(all)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	n.start()
	if a := n.check("block", "guesser"); a.Status != wire.Allow {
		t.Errorf("with a torn state: %+v", a)
	}
	if m := n.Metrics("headgate_state_ignored_total"); m["headgate_state_ignored_total"] != 1 ||
		!strings.Contains(n.Said.String(), "torn") {
		t.Errorf("%v: %s", m, n.Said)
	}
}

// TestStateNowhere: a directory that cannot be is no reason not to decide.
func TestStateNowhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n := newStateNode(t, filepath.Join(file, "state"))
	for range 5 {
		n.check("block", "guesser")
	}
	if a := n.check("block", "guesser"); a.Why != wire.WhyBlock {
		t.Errorf("%+v", a)
	}
	const failures = "headgate_state_write_failures_total"
	edgetest.Await(t, "failures are counted", edgetest.Patience,
		func() bool { return n.Metrics(failures)[failures] > 1 })
	if lines := strings.Count(n.Said.String(), "state not written"); lines != 1 {
		t.Errorf("%d lines of it: %s", lines, n.Said)
	}
}

// post sends one change to the admin listener.
func (n *stateNode) post(body string) {
	n.Helper()
	resp, err := http.Post("http://"+n.Admin+"/v1/mitigations", "application/json",
		strings.NewReader(body))
	if err != nil {
		n.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusCreated {
		n.Fatalf("%s, %v", resp.Status, err)
	}
}

// TestStateOfAStopInAPoP: a node that is stopped reports its last admissions to the ring and then
// saves them, so that they count once, whether the ring keeps them or is restarted too.
func TestStateOfAStopInAPoP(t *testing.T) {
	for _, forgets := range []bool{false, true} {
		server := systemtest.StartMemcached(t)
		more := fmt.Sprintf("state_dir: %q\nrules: [{name: sixty, limit: 60, window: 1m, scope: "+
			"pop}]\n", t.TempDir())
		start := func() *systemtest.Node {
			return systemtest.StartNode(t, "edge",
				systemtest.AddressesOf([]*systemtest.Memcached{server}), more)
		}
		use := func(n *systemtest.Node, times int) {
			client := n.Client()
			for range times {
				if _, err := client.Check(t.Context(), "sixty", "k", 1); err != nil {
					t.Fatal(err)
				}
			}
		}
		n := start()
		use(n, 1)
		edgetest.Await(t, "the ring is heard", edgetest.Patience,
			func() bool {
				x := n.Explain("sixty", "k")
				return x.Ring != nil &&
					x.Ring.AgeSeconds != nil
			})
		use(n, 34)
		n.Stop()
		n.Ended = true
		if forgets {
			server.Kill()
			server.Start()
		}
		n = start()
		use(n, 1)
		systemtest.Hold(t, 5*systemtest.FlushInterval)
		if got := n.Explain("sixty", "k").Admitted; got != 36 {
			t.Errorf("the ring forgets %v: %v admitted, want 35 before the stop and one after it",
				forgets, got)
		}
	}
}
