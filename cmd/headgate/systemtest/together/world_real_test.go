//go:build !race

package together

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/wire"
)

// The tests named TestWorld… check one limit over several PoPs as an operator runs them: every PoP
// has a memcached and two daemons of its own, and only gossip joins the PoPs.
//
//	worldLoad ──UDP──► 2 × headgate serve ──TCP──► memcached     (lhr)
//	    │                     ▲
//	    │                  gossip
//	    │                     ▼
//	    ├──────UDP──► 2 × headgate serve ──TCP──► memcached      (fra, and so on)
//	    └── admitted, refused, by PoP and time

const (
	// worldTogether is how long members may take to find each other.
	worldTogether = edgetest.Patience
	// worldLimit is the limit a second that most tests here are about.
	worldLimit = 1000
)

// worldNames are the PoPs of a world, in the order of their number.
var worldNames = []string{"lhr", "fra", "nyc"}

// worldPoP is one PoP.
type worldPoP struct {
	name   string
	at     *systemtest.Place
	server *systemtest.Memcached // nil: its nodes count alone
	nodes  []*systemtest.Node
}

// worldPlan lists the nodes to start.
type worldPlan struct {
	rules  string
	places []*systemtest.Place // of the PoPs; nil: all with the test
	nodes  int                 // a PoP; 0: 2
	alone  bool                // no PoP has a ring
	noKey  bool                // no key_file
	memory int                 // MiB of a node; 0: 16
	state  string              // directory that nodes keep their states in; empty: they keep none
}

// worldLab is a world to be tested.
type worldLab struct {
	testing.TB
	plan  worldPlan
	key   []byte
	file  string // of the key, "" for none
	pops  []*worldPoP
	nodes []*systemtest.Node // PoP by PoP
	seeds []string
}

// startPoPs runs a world until the test ends, and returns when its members have found each other.
func startPoPs(t testing.TB, plan worldPlan) *worldLab {
	t.Helper()
	l := &worldLab{TB: t, plan: plan, key: []byte("32 bytes that nobody can guess..")}
	if plan.nodes == 0 {
		l.plan.nodes = 2
	}
	if plan.places == nil {
		l.plan.places = make([]*systemtest.Place, len(worldNames))
	}
	if !plan.noKey {
		l.file = filepath.Join(t.TempDir(), "cluster.key")
		if err := os.WriteFile(l.file, l.key, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for n := range l.plan.places {
		at := l.plan.places[n]
		l.pops = append(l.pops, &worldPoP{name: worldNames[n], at: at})
		at.Do(func() {
			l.seeds = append(l.seeds, fmt.Sprintf("%s:%d", at.Host(),
				systemtest.Port(t)))
		})
	}
	for n, p := range l.pops {
		l.startPoP(p, l.seeds[n])
	}
	l.together()
	return l
}

// startPoP runs a PoP, whose first node is the seed of the others.
func (l *worldLab) startPoP(p *worldPoP, seed string) {
	l.Helper()
	if !l.plan.alone {
		p.at.Do(func() { p.server = systemtest.StartMemcached(l) })
	}
	for n := range l.plan.nodes {
		bind := seed
		if n > 0 {
			p.at.Do(func() { bind = fmt.Sprintf("%s:%d", p.at.Host(), systemtest.Port(l)) })
		}
		node := l.startMember(p, fmt.Sprintf("%s-%d", p.name, n+1), bind)
		p.nodes, l.nodes = append(p.nodes, node), append(l.nodes, node)
	}
}

// startMember runs one daemon of a PoP that gossips at bind.
func (l *worldLab) startMember(p *worldPoP, name, bind string) *systemtest.Node {
	l.Helper()
	conf := fmt.Sprintf("pop: %s\nmemory: %dMiB\n", p.name, max(16, l.plan.memory))
	if l.plan.state != "" {
		conf += fmt.Sprintf("state_dir: %q\n", filepath.Join(l.plan.state, name))
	}
	if p.server != nil {
		conf += fmt.Sprintf("ring: {servers: [%q], flush: %v}\n", systemtest.Address(p.server.Port),
			systemtest.FlushInterval)
	}
	key := ""
	if l.file != "" {
		key = fmt.Sprintf(", key_file: %q", l.file)
	}
	conf += fmt.Sprintf("gossip: {bind: %q, join: [%s]%s}\n%s", bind,
		`"`+strings.Join(l.seeds, `", "`)+`"`, key, l.plan.rules)
	n := systemtest.StartDaemon(l, p.at, name, conf)
	n.Gossips = bind
	return n
}

// together waits until all members know each other, and decide for the world.
func (l *worldLab) together() {
	l.Helper()
	began := time.Now()
	for _, n := range l.nodes {
		client := n.Client()
		edgetest.Await(l, n.ID+" has view=global", worldTogether, func() bool {
			a, err := client.Peek(l.Context(), l.ruleOf(), "anybody", 1)
			return err == nil && a.View == wire.ViewGlobal
		})
		edgetest.Await(l, n.ID+" knows all members", worldTogether, func() bool {
			alive := n.Alive()
			return alive < 0 || alive == len(l.nodes)
		})
	}
	l.Logf("%d nodes of %d PoPs found each other %v after the last was started", len(l.nodes),
		len(l.pops), time.Since(began).Round(time.Millisecond))
	// rings agree on their clocks, and all members know the one that joined last
	systemtest.Hold(l, 10*systemtest.FlushInterval)
}

// ruleOf returns the name of the first rule.
func (l *worldLab) ruleOf() string {
	_, rest, _ := strings.Cut(l.plan.rules, "name: ")
	name, _, _ := strings.Cut(rest, ",")
	return name
}
