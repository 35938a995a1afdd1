//go:build !race

package life

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// fourLimiters is a request rate limiter, a concurrent requests limiter, and load shedders by the
// fleet's usage and by the workers' utilisation, in one file.
const fourLimiters = "../../../../edge/config/testdata/good/four-limiters.yaml"

// visitor asks a daemon for whole requests.
type visitor struct {
	*systemtest.Node
	asked int
}

// ask asks for a request with fields, and returns the answer and its ticket, if it has one.
func (v *visitor) ask(fields string) (reply, ticket string) {
	v.Helper()
	v.asked++
	reply = v.Line("ask " + fields)
	if _, after, ok := strings.Cut(reply, "ticket="); ok {
		ticket, _, _ = strings.Cut(after, " ")
	}
	return reply, ticket
}

// visit asks and reports the response at once.
func (v *visitor) visit(fields string) (reply string) {
	v.Helper()
	reply, ticket := v.ask(fields)
	if ticket != "" {
		if end := v.Line("report ticket=" + ticket + " status=200 id=1"); !strings.Contains(end,
			"ok") {
			v.Fatalf("report: %q", end)
		}
	}
	return reply
}

// someone returns the field of a client that has not asked before.
func (v *visitor) someone() string {
	// two bytes
	return fmt.Sprintf("path=/v1/things client=%v",
		netip.AddrFrom4([4]byte{198, 18, byte(v.asked >> 8), byte(v.asked)}))
}

// denied visits until an answer has all these parts, and returns how many visits that took.
func (v *visitor) denied(fields func() string, parts ...string) (visits int) {
	v.Helper()
	for began := time.Now(); time.Since(began) < edgetest.Patience; {
		visits++
		if reply := v.visit(fields()); !slices.ContainsFunc(parts,
			func(part string) bool { return !strings.Contains(reply, part) }) {
			return visits
		}
	}
	v.Fatalf("no %q in %d visits", parts, visits)
	return visits
}

// TestFourLimiters: each of the four limiters of one configuration acts, by itself, under load.
func TestFourLimiters(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(fourLimiters)
	if err != nil {
		t.Fatal(err)
	}
	recipes, err := os.ReadFile("../../../../docs/recipes.md")
	if err != nil || !strings.Contains(string(recipes), string(text)) {
		t.Errorf("docs/recipes.md has another configuration: %v", err)
	}
	v := &visitor{Node: systemtest.StartDaemon(t, nil, "four", string(text))}

	greedy := func() string { return "path=/v1/things client=203.0.113.7 header.x-api-key=greedy" }
	if n := v.denied(greedy, "deny why=limit", "rule=rate"); n < 41 {
		t.Errorf("the rate limiter denied visit %d, below its burst", n)
	}
	var held []string
	for range 20 {
		reply, ticket := v.ask("path=/v1/exports client=203.0.113.8")
		if ticket == "" {
			t.Fatalf("%q", reply)
		}
		held = append(held, ticket)
	}
	if reply, _ := v.ask("path=/v1/exports client=203.0.113.8"); !strings.Contains(reply,
		"deny why=limit") || !strings.Contains(reply, "rule=concurrent") {
		t.Errorf("the 21st at once: %q", reply)
	}
	v.Line("report ticket=" + held[0] + " status=200 id=1")
	if reply := v.visit("path=/v1/exports client=203.0.113.8"); !strings.HasPrefix(reply, "allow") {
		t.Errorf("one of 20 has ended: %q", reply)
	}
	v.shedByLoad(t)
	if n := v.denied(v.someone, "deny why=reserve status=503", "rule=fleet"); n < 50 {
		t.Errorf("the fleet's limiter denied visit %d", n)
	}
	for n := range 60 {
		reply := v.visit(fmt.Sprintf("path=/v1/charges/%d client=203.0.113.%d", n, 100+n%10))
		if !strings.HasPrefix(reply, "allow") {
			t.Fatalf("charge %d: %q", n, reply)
		}
	}
}

// shedByLoad reports busy workers until a request in test mode is denied for it, while others pass.
func (v *visitor) shedByLoad(t *testing.T) {
	t.Helper()
	reported, tries := time.Time{}, time.NewTicker(25*time.Millisecond)
	defer tries.Stop()
	v.denied(func() string {
		<-tries.C // below what the fleet allows
		if time.Since(reported) > 200*time.Millisecond {
			reported = time.Now()
			if reply := v.Line("load workers 0.95"); !strings.HasPrefix(reply, "ok") {
				t.Fatalf("%q", reply)
			}
			if reply := v.visit(v.someone()); !strings.HasPrefix(reply, "allow") {
				t.Fatalf("not in test mode: %q", reply)
			}
		}
		return v.someone() + " header.x-mode=test"
	}, "deny why=load status=503", "pool=workers")
}
