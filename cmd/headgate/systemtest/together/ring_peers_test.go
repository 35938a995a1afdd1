//go:build !race

package together

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/api"
	hg "github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/wire"
)

// readTotals is another client's view of the counters: it is written from their description alone,
// with libmemcached's placement. Its arguments are the file of the cluster's key, the PoP, the keys
// as JSON, and the servers; it prints the totals of each key over the trailing window and the
// period now running.
const readTotals = `
import hashlib, hmac, json, pylibmc, struct, sys, time

key_file, pop, wanted, servers = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), sys.argv[4:]
secret = open(key_file, "rb").read() + b"\0pop\0" + pop.encode()
client = pylibmc.Client(servers, behaviors={"ketama_weighted": True})
assert client.behaviors["hash"] == "md5"

def name(rule, variant, window, key, period):
    text = b"\1" + bytes([len(rule)]) + rule.encode()
    text += struct.pack(">IQQ", variant, round(window * 1000), period) + key.encode()
    return "hg:" + hmac.new(secret, text, hashlib.sha256).hexdigest()[:32]

def totals(rule, limit, window, key):
    small, unit = limit <= 1000, -(-limit // 1000000)
    period = window / 5 if window >= 5 else window
    now, offered, admitted = int(time.time() / period), 0, 0
    for at in range(now - round(window / period), now + 1):
        word = client.get(name(rule, 0 if small else unit, window, key, at))
        if word is None:
            continue
        word = int(word)
        offered += word >> 40 if small else (word >> 32) * unit
        admitted += word & 0x3fff if small else (word & 0xffffffff) * unit
    return [offered, admitted]

print(json.dumps([totals(*one) for one in wanted]))
`

// offeredKey is a key that both the nodes and another client are asked about.
type offeredKey struct {
	rule    string
	limit   int
	window  int // seconds
	key     string
	offered int // by the test

	admitted int // as the test counts
}

// peerRules are of both ways that totals are packed.
const peerRules = `
rules:
  - {name: small, limit: 100, window: 1m, scope: pop}
  - {name: large, limit: 3000, window: 1m, scope: pop}
`

// TestRingReadByLibmemcached has python3-pylibmc read the counters of four nodes in memcached: it
// finds the totals that a node explains, and that the test counted.
func TestRingReadByLibmemcached(t *testing.T) {
	t.Parallel()
	const python = "/usr/bin/python3" // Debian's, which has its packages
	if err := exec.CommandContext(t.Context(), python, "-c", "import pylibmc").Run(); err != nil {
		t.Skip("python3-pylibmc is not installed")
	}
	servers := systemtest.AddressesOf(startRingServers(t, 3))
	keyFile := filepath.Join(t.TempDir(), "cluster.key")
	if err := os.WriteFile(keyFile, []byte("32 bytes that nobody can guess.."), 0o600); err != nil {
		t.Fatal(err)
	}
	nodes := startNodes(t, 4, servers, fmt.Sprintf("gossip: {key_file: %s}%s", keyFile, peerRules))
	joined(t, nodes, "small")
	keys := []*offeredKey{
		{rule: "small", limit: 100, window: 60, key: "below", offered: 60},
		{rule: "small", limit: 100, window: 60, key: "above", offered: 240},
		{rule: "large", limit: 3000, window: 60, key: "below", offered: 2400},
		{rule: "large", limit: 3000, window: 60, key: "above", offered: 6000},
	}
	offerAll(t, nodes, keys)
	systemtest.Hold(t, 10*systemtest.FlushInterval)
	// a node far from a limit receives the others' counts with its own next report
	for n, k := range keys {
		k.offered++
		k.admitted += offer(t, nodes[n].Client(), k, 1)
	}
	var found [][2]int
	edgetest.Await(t, "all is told and heard", 5*time.Second, func() bool {
		found = pythonTotals(t, python, keyFile, keys, servers)
		for n, k := range keys {
			if !k.agrees(found[n], nodes[n]) {
				return false
			}
		}
		return true
	})
	for n, k := range keys {
		x := nodes[n].Explain(k.rule, k.key)
		t.Logf("%s/%s: the test offered %v and saw %v admitted; pylibmc reads %v and %v; edge-%v "+
			"explains %v and %v, view=%s", k.rule, k.key,
			k.offered, k.admitted, found[n][0], found[n][1], n+1, x.Offered, x.Admitted, x.View)
	}
}

// agrees reports whether another client found what the test did, and the node explains the same.
// The part that a node counted before it counted the key exactly, less than 1 % of the limit, is
// not reported; and a node counts no more admitted in a window than the limit and a flush's worth
// of it.
func (k *offeredKey) agrees(found [2]int, node *systemtest.Node) bool {
	x := node.Explain(k.rule, k.key)
	untold := k.offered - found[0]
	if untold < 0 || untold*100 > k.limit || k.admitted-found[1] != untold || x.View != "pop" {
		return false
	}
	if k.offered < k.limit {
		return found == [2]int{int(x.Offered), int(x.Admitted)}
	}
	return int(x.Admitted) >= k.limit && int(x.Admitted)*100 <= k.limit*101 &&
		int(x.Offered) > k.limit
}

// offerAll offers each key its cost, in 30 rounds over all nodes.
func offerAll(t *testing.T, nodes []*systemtest.Node, keys []*offeredKey) {
	t.Helper()
	const rounds = 30
	for round := range rounds {
		for _, node := range nodes {
			client := node.Client()
			for _, k := range keys {
				share := k.offered / rounds / len(nodes)
				if round == rounds-1 {
					share = k.offered/len(nodes) - share*(rounds-1)
				}
				k.admitted += offer(t, client, k, share)
			}
		}
		systemtest.Hold(t, systemtest.FlushInterval/2)
	}
}

// offer asks so often and returns how often it was admitted.
func offer(t *testing.T, client *hg.Client, k *offeredKey, times int) (admitted int) {
	t.Helper()
	queries := make([]hg.Query, times)
	for n := range queries {
		queries[n] = hg.Query{Rule: k.rule, Key: k.key}
	}
	answers, err := client.Batch(t.Context(), queries)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range answers {
		if a.Allowed() {
			admitted++
		}
	}
	return admitted
}

// pythonTotals returns offered and admitted of each key as another client reads them.
func pythonTotals(
	t *testing.T, python, keyFile string, keys []*offeredKey, servers []string,
) (found [][2]int) {
	t.Helper()
	var wanted [][]any
	for _, k := range keys {
		wanted = append(wanted, []any{k.rule, k.limit, k.window, k.key})
	}
	asked, err := json.Marshal(wanted)
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-c", readTotals, keyFile, "test", string(asked)}, servers...)
	var said strings.Builder
	cmd := exec.CommandContext(t.Context(), python, args...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("pylibmc: %v: %s", err, said.String())
	}
	if err := json.Unmarshal(out, &found); err != nil || len(found) != len(keys) {
		t.Fatalf("pylibmc said %q: %v", out, err)
	}
	return found
}

// TestRingBehindNutcracker has nodes count together through a proxy that knows none of the commands
// they prefer.
func TestRingBehindNutcracker(t *testing.T) {
	t.Parallel()
	proxy := startRingProxy(t, startRingServers(t, 3))
	nodes := startNodes(t, 2, []string{proxy},
		"rules: [{name: few, limit: 5, window: 1m, scope: pop}]\n")
	joined(t, nodes, "few")
	clients := []*hg.Client{nodes[0].Client(), nodes[1].Client()}
	const keys = 20
	admitted := map[int]int{}
	for round := range 8 {
		flushed(t, nodes) // the counts are with the ring,
		flushed(t, nodes) // and with each node
		for key := range keys {
			a, err := clients[(key+round)%2].Check(t.Context(), "few",
				"client-"+strconv.Itoa(key), 1)
			if err != nil || a.View != wire.ViewPoP {
				t.Errorf("client %d, round %d: view %v, %v", key, round, a.View, err)
			}
			if a.Allowed() {
				admitted[key]++
			}
		}
	}
	for key := range keys {
		if admitted[key] != 5 {
			t.Errorf("client %d was admitted %d times, want 5", key, admitted[key])
		}
	}
	for _, n := range nodes {
		if cluster := n.Get("/v1/cluster"); !strings.Contains(cluster, `"classic"`) {
			t.Errorf("not by the classic protocol: %s", cluster)
		}
	}
}

// flushed returns when each node has made an exchange that began after the call.
func flushed(t *testing.T, nodes []*systemtest.Node) {
	t.Helper()
	before := make([]uint64, len(nodes))
	for i, n := range nodes {
		before[i] = systemtest.Page[api.ClusterView](n, "/v1/cluster").Ring.Flushes
	}
	for i, n := range nodes {
		edgetest.Await(t, "two flushes", edgetest.Patience, func() bool {
			// the first may have been under way
			return systemtest.Page[api.ClusterView](n, "/v1/cluster").Ring.Flushes >= before[i]+2
		})
	}
}

// startRingProxy runs twemproxy before the servers until the test ends, and returns its address.
func startRingProxy(t *testing.T, servers []*systemtest.Memcached) string {
	t.Helper()
	program := clitest.ProgramPath(t, "nutcracker")
	proxy := systemtest.Address(systemtest.Port(t))
	conf := "ring:\n  listen: " +
		proxy + "\n  hash: md5\n  distribution: ketama\n  timeout: 1000\n  servers:\n"
	for _, s := range systemtest.AddressesOf(servers) {
		conf += "   - " + s + ":1\n"
	}
	file := filepath.Join(t.TempDir(), "nutcracker.yml")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-c", file, "-a", "127.0.0.1", "-s",
		strconv.Itoa(systemtest.Port(t)), "-o", file+".log")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // that it was killed
	})
	return proxy
}
