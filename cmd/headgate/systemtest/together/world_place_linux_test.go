//go:build soak && !race

package together

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"golang.org/x/sys/unix"
)

// openPlaces makes a network namespace for every PoP, joined by a bridge, within the test's own.
// Where nft and namespaces are not allowed the test is skipped; nil is returned where the test was
// run again, in a namespace of its own.
func openPlaces(t *testing.T) (all []*systemtest.Place) {
	t.Helper()
	if os.Getenv(systemtest.InNamespace) == "" {
		again(t)
		return nil
	}
	command(t, "ip", "link", "set", "lo", "up")
	command(t, "ip", "link", "add", "world", "type", "bridge")
	command(t, "ip", "link", "set", "world", "up")
	for n := range worldNames {
		all = append(all, openPlace(t, n))
	}
	return all
}

// openPlace makes one namespace. It lives as long as the test holds it open.
func openPlace(t *testing.T, n int) *systemtest.Place {
	t.Helper()
	own := namespace(t)
	var there *os.File
	runtime.LockOSThread() // a namespace is its thread's
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatalf("unshare: %v", err)
	}
	there = namespace(t)
	enter(own)
	runtime.UnlockOSThread()
	p := &systemtest.Place{Address: fmt.Sprintf("10.99.0.%d", n+1), In: func(what func()) {
		runtime.LockOSThread()
		enter(there)
		defer runtime.UnlockOSThread()
		defer enter(own)
		what()
	}}
	here, far := fmt.Sprintf("to%d", n), fmt.Sprintf("pop%d", n)
	command(t, "ip", "link", "add", here, "type", "veth", "peer", "name", far)
	command(t, "ip", "link", "set", far, "netns",
		fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), there.Fd()))
	command(t, "ip", "link", "set", here, "master", "world", "up")
	p.Do(func() {
		command(t, "ip", "link", "set", "lo", "up")
		command(t, "ip", "address", "add", p.Address+"/24", "dev", far)
		command(t, "ip", "link", "set", far, "up")
		command(t, "nft", "add table inet world; add chain inet world cut { type filter hook "+
			"input priority 0 ; }")
	})
	return p
}

// namespace opens the one of the calling thread, which must be locked or have no other.
func namespace(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func enter(f *os.File) {
	if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
		panic("setns: " + err.Error()) // the thread is lost
	}
}

// part cuts one PoP off the others, both ways, open connections too.
func (l *worldLab) part(lone int) {
	l.Helper()
	for n, p := range l.pops {
		for m, other := range l.pops {
			if n != m && (n == lone || m == lone) {
				l.rule(p, "ip saddr "+other.at.Address+" drop")
			}
		}
	}
}

// lose drops a share of the datagrams of gossip that come to each PoP.
func (l *worldLab) lose(percent int) {
	l.Helper()
	for _, p := range l.pops {
		var ports []string
		for _, n := range p.nodes {
			_, port, _ := strings.Cut(n.Gossips, ":")
			ports = append(ports, port)
		}
		l.rule(p, fmt.Sprintf("udp dport { %s } numgen random mod 100 < %s drop",
			strings.Join(ports, ", "), strconv.Itoa(percent)))
	}
}

func (l *worldLab) rule(p *worldPoP, text string) {
	l.Helper()
	p.at.Do(func() { command(l.TB, "nft", "add rule inet world cut "+text) })
}

// heal lifts everything that part and lose did.
func (l *worldLab) heal() {
	l.Helper()
	for _, p := range l.pops {
		p.at.Do(func() { command(l.TB, "nft", "flush chain inet world cut") })
	}
}
