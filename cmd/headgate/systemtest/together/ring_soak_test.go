//go:build soak && !race

package together

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	hg "github.com/headgate-dev/headgate/edge/client"
)

// TestRingSoakLargeLimit looks at every second of a minute of five times a large limit.
func TestRingSoakLargeLimit(t *testing.T) {
	nodes := startNodes(t, 4, systemtest.AddressesOf(startRingServers(t, 3)), paceRules)
	joined(t, nodes, "large")
	flood := &systemtest.Stream{Name: "flood", Rule: "large", Keys: 1, Rate: 50_000}
	quiet := &systemtest.Stream{Name: "quiet", Rule: "thousand", Keys: 1, Rate: 900}
	load := systemtest.StartLoad(t, nodes, flood, quiet)
	systemtest.Hold(t, time.Minute)
	load.Stop()
	load.Say("after a minute")
	logSeconds(t, flood.Between(0, 60), 10_000)
	outside := 0
	for _, s := range flood.Between(1, 60) {
		if s.Admitted < 9_800 || s.Admitted > 10_100 {
			outside++
		}
	}
	t.Logf("of 59 seconds after the first, %d admitted less than 0.98 or more than 1.01 of the "+
		"limit", outside)
	if got := quiet.Total(); got.Refused > 0 || got.Unanswered > 0 {
		t.Errorf("0.9 of the limit: %v", got)
	}
}

// TestRingSoakRestarts restarts one, two and all servers, empty, again and again.
func TestRingSoakRestarts(t *testing.T) {
	const rounds = 5
	servers := startRingServers(t, 3)
	l := openLab(t, servers, systemtest.AddressesOf(servers))
	l.awaitCalm()
	before := weigh(t, l.Nodes)
	for round := range rounds {
		for count := 1; count <= len(servers); count++ {
			for n := range count {
				servers[(round+n)%len(servers)].Kill()
			}
			systemtest.Hold(t, 2*time.Second)
			for n := range count {
				servers[(round+n)%len(servers)].Start()
			}
			l.awaitRecovered(fmt.Sprintf("%d restarted after 2 s", count))
			systemtest.Hold(t, 2*time.Second)
		}
		t.Logf("after round %d: edge-1 has %v", round+1, weigh(t, l.Nodes[:1]))
	}
	l.Stop()
	l.check("after all restarts")
	l.logWaits()
	compareWeights(t, before, weigh(t, l.Nodes))
}

// meddle runs does against a server, over and over, until the returned function is called.
func meddle(
	t *testing.T, servers []*systemtest.Memcached, does func(c *bufio.ReadWriter) error,
) (stop func()) {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	var busy sync.WaitGroup
	for _, s := range servers {
		conn, err := net.Dial("tcp", systemtest.Address(s.Port))
		if err != nil {
			t.Fatal(err)
		}
		busy.Go(func() {
			defer conn.Close() //nolint:errcheck // the end of it either way
			both := bufio.NewReadWriter(bufio.NewReader(conn), bufio.NewWriter(conn))
			for ctx.Err() == nil {
				if err := does(both); err != nil {
					t.Errorf("the other client: %v", err)
					return
				}
			}
		})
	}
	stop = func() { end(); busy.Wait() }
	t.Cleanup(stop)
	return stop
}

// exchange sends a command and returns the first line of the answer.
func exchange(c *bufio.ReadWriter, command string) (string, error) {
	if _, err := c.WriteString(command + "\r\n"); err != nil {
		return "", err
	}
	if err := c.Flush(); err != nil {
		return "", err
	}
	line, err := c.ReadString('\n')
	return strings.TrimSpace(line), err
}

// TestRingSoakEviction fills small servers with another client's values, so that counters are
// evicted all the time.
func TestRingSoakEviction(t *testing.T) {
	servers := startRingServers(t, 3)
	for _, s := range servers {
		s.Kill()
		s.Memory = 8
		s.Start()
	}
	l := openLab(t, servers, systemtest.AddressesOf(servers))
	l.awaitCalm()
	before := weigh(t, l.Nodes)
	stop := meddle(t, servers, fill(t))
	systemtest.Hold(t, time.Minute)
	stop()
	for n, s := range servers {
		t.Logf("server %d evicted %s values", n, s.Stat("evictions"))
	}
	l.Stop()
	l.check("after a minute of eviction")
	l.logWaits()
	compareWeights(t, before, weigh(t, l.Nodes))
}

// fill returns a function that sets values of many sizes, those of counters among them: 50 at once,
// 10,000 a second a server, which evict all the time and leave the server its time for others.
func fill(t *testing.T) func(c *bufio.ReadWriter) error {
	var number int
	var mu sync.Mutex
	tick := time.NewTicker(systemtest.Tick / 3)
	t.Cleanup(tick.Stop)
	value := bytes.Repeat([]byte("x"), 4000)
	return func(c *bufio.ReadWriter) error {
		<-tick.C // one ticker for all servers
		mu.Lock()
		number++
		n := number * 50
		mu.Unlock()
		for i := range 50 {
			size := []int{1, 8, 20, 100, 4000}[i%5]
			fmt.Fprintf(c, "set %032d%03d 0 0 %d noreply\r\n%s\r\n", n, i, size, value[:size])
		}
		_, err := exchange(c, "version")
		return err
	}
}

// poisons are values that another client may set a counter to.
var poisons = []string{"1000000000", "18446744073709551615", "9223372036854775808", "no number", ""}

// TestRingSoakPoison has another client that lists the counters, as memcached lets it unless
// started with -X, overwrite and delete them.
func TestRingSoakPoison(t *testing.T) {
	servers := startRingServers(t, 3)
	l := openLab(t, servers, systemtest.AddressesOf(servers))
	l.awaitCalm()
	before := weigh(t, l.Nodes)
	for _, value := range poisons {
		refused, disbelieved := l.refused(), implausible(l.Nodes)
		stop := meddle(t, servers[:1], func(c *bufio.ReadWriter) error { return poison(c, value) })
		systemtest.Hold(t, 10*time.Second)
		stop()
		t.Logf("all counters of one server set to %q (empty: deleted): %d wrong refusals, %.0f "+
			"totals not believed",
			value, l.refused()-refused, implausible(l.Nodes)-disbelieved)
	}
	l.Stop()
	l.check("after all poisons")
	compareWeights(t, before, weigh(t, l.Nodes))
}

// poison overwrites every counter that a server lists.
func poison(c *bufio.ReadWriter, value string) error {
	line, err := exchange(c, "lru_crawler metadump all")
	var names []string
	for ; err == nil && line != "END" && !strings.HasPrefix(line,
		"BUSY"); line, err = c.ReadString('\n') {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "key=hg%3A"); ok {
			name, _, _ = strings.Cut(name, " ")
			names = append(names, "hg:"+name)
		}
		if line == "END" {
			break
		}
	}
	for _, name := range names {
		command := fmt.Sprintf("set %s 0 60 %d\r\n%s", name, len(value), value)
		if value == "" {
			command = "delete " + name
		}
		if err == nil {
			_, err = exchange(c, command)
		}
	}
	return err
}

// TestRingSoakFirstFlush measures how much more than a small limit is admitted when requests come
// faster than the nodes exchange counts: the bound is a limit a node.
func TestRingSoakFirstFlush(t *testing.T) {
	const limit = 5
	nodes := startNodes(t, 4, systemtest.AddressesOf(startRingServers(t, 3)),
		"rules: [{name: few, limit: 5, window: 1m, scope: pop}]\n")
	joined(t, nodes, "few")
	for _, pause := range []time.Duration{
		0, systemtest.FlushInterval / 2, systemtest.FlushInterval, 3 * systemtest.FlushInterval / 2,
		2 * systemtest.FlushInterval,
	} {
		counts := map[int]int{}
		for trial := range 5 {
			counts[firstFlush(t, nodes, fmt.Sprintf("%v-%d", pause, trial), pause)]++
		}
		t.Logf("a request each %v, in turn at 4 nodes: admitted (number of trials) %v", pause,
			counts)
		for n := range counts {
			if n < limit || n > limit*len(nodes) {
				t.Errorf("admitted %d", n)
			}
		}
	}
}

// firstFlush asks 24 times with a pause in between and returns how often it was admitted.
func firstFlush(t *testing.T, nodes []*systemtest.Node, key string,
	pause time.Duration,
) (admitted int) {
	t.Helper()
	var clients []*hg.Client
	for _, n := range nodes {
		clients = append(clients, n.Client())
	}
	for n := range 24 {
		a, err := clients[n%len(clients)].Check(t.Context(), "few", key, 1)
		if err != nil {
			t.Fatal(err)
		}
		if a.Allowed() {
			admitted++
		}
		if pause > 0 {
			systemtest.Hold(t, pause)
		}
	}
	return admitted
}
