package edge

import (
	"net/netip"
	"testing"

	"github.com/headgate-dev/headgate/edge/ask"
)

// asks has n decide a request for path by client.
func asks(t *testing.T, n *reloadNode, path, client string) ask.Answer {
	t.Helper()
	s, now := n.room.NewSession(), n.gate.Now()
	b := n.gate.Lane(0).Batch(now, func() uint64 { return 1 << 63 })
	defer b.End()
	s.Begin()
	s.Request.Method = []byte("GET")
	s.Request.SetTarget([]byte(path), s.Clients())
	s.FindClient(netip.MustParseAddr(client))
	return *s.Decide(&b, now, 1)
}

// Policies change at a reload in one step, with the files of their sets; a file with a fault leaves
// the old ones whole, the rules too.
func TestReloadOfPolicies(t *testing.T) {
	n := newReloadNode(t, "")
	n.write("tor.txt", "203.0.113.0/24 # exits\n")
	put := func(text string) error {
		n.configure(text)
		_, err := n.Reload()
		return err
	}
	set := "sets: {tor: {cidr_file: " + n.path("tor.txt") + "}}\n"
	if err := put(set + "policies: [{name: tor, match: {client: \"@tor\"}, deny: 403}, {name: " +
		"site, match: {}, limit: 5, window: 1m}]\n"); err != nil {
		t.Fatal(err)
	}
	if a := asks(t, n, "/", "203.0.113.7"); a.Why != ask.ByPolicy || a.Status != 403 {
		t.Fatalf("%+v", a)
	}
	if a := asks(t, n, "/", "198.51.100.7"); a.Why != ask.ByRules || a.By.Remaining != 4 {
		t.Fatalf("%+v", a)
	}
	n.write("tor.txt", "no address\n")
	if err := put(set + "policies: [{name: other, match: {}, limit: 1, window: 1s}, {name: tor, " +
		"match: {client: \"@tor\"}, deny: 404}]\n"); err == nil {
		t.Fatal("a set with a fault was taken")
	}
	if a := asks(t, n, "/", "203.0.113.7"); a.Status != 403 {
		t.Errorf("after a file with a fault: %+v", a)
	}
	if a := asks(t, n, "/", "198.51.100.7"); a.By == nil || a.By.Rule.Name != "site" ||
		a.By.Remaining != 3 {
		t.Errorf("after a file with a fault: %+v", a)
	}
	if err := put(""); err != nil {
		t.Fatal(err)
	}
	if a := asks(t, n, "/", "203.0.113.7"); a.Why != ask.ByNone {
		t.Errorf("without policies: %+v", a)
	}
}
