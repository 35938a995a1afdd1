package serve

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestGreeting: the banner names the dashboard, tries the enforcing rule with the smallest limit,
// and names rules in shadow.
func TestGreeting(t *testing.T) {
	t.Parallel()
	at := edge.Addresses{
		Datagram: []net.Addr{&net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4290}},
		HTTP:     []net.Addr{&net.TCPAddr{IP: net.IPv6zero, Port: 4291}},
		Admin: []net.Addr{
			&net.UnixAddr{Name: "/run/a.sock", Net: "unix"},
			&net.TCPAddr{IP: net.IPv4zero, Port: 4292},
		},
	}
	rule := func(name string, limit int64, mode mitigation.Mode) mitigation.Rule {
		return mitigation.Rule{Name: name, Limit: limit, Window: time.Minute, Mode: mode}
	}
	off, shadow := rule("off", 1, mitigation.Off), rule("shy", 2, mitigation.Shadow)
	login, office := rule("login", 5, mitigation.Enforce),
		rule("office", 1_000_000, mitigation.Enforce)
	for _, c := range []struct {
		name          string
		rules         []mitigation.Rule
		wants, absent []string
	}{
		{
			"the smallest that enforces",
			[]mitigation.Rule{off, login, shadow, office},
			[]string{
				"dashboard             http://127.0.0.1:4292/\n", "check login ", "rule=login&", "after 5 requests within 1m the next is denied",
				"shadow: nothing is denied yet by shy; rules in shadow only count and report. To " +
					"enforce one: headgate mode enforce shy\n",
			},
			nil,
		},
		{
			"all in shadow",
			[]mitigation.Rule{rule("wide", 9, mitigation.Shadow), shadow},
			[]string{"shadow: nothing is denied yet; every rule only counts and reports. To " +
				"enforce one: headgate mode enforce shy\n", "Try:\n", "check shy "},
			[]string{"the next is denied"},
		},
		{
			"a bucket",
			[]mitigation.Rule{login, {
				Name: "b", Limit: 100, Window: time.Minute, Burst: 3,
				Kind: mitigation.Bucket,
			}},
			[]string{"check b ", "after 3 requests at once the next is denied"},
			nil,
		},
		{"a wide limit", []mitigation.Rule{office}, []string{"Try:\n"}, []string{"shadow"}},
		{"all off", []mitigation.Rule{off}, []string{"dashboard"}, []string{"Try", "shadow"}},
		{"none", nil, []string{"dashboard"}, []string{"Try", "shadow"}},
	} {
		var out strings.Builder
		greet(&out, "edge-1", at, c.rules)
		for _, want := range c.wants {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, &out)
			}
		}
		for _, absent := range c.absent {
			if strings.Contains(out.String(), absent) {
				t.Errorf("%s: %q in\n%s", c.name, absent, &out)
			}
		}
	}
}

// TestGreetingExplains: the line that reads the admin listener works as it is where one is on
// loopback, and says elsewhere that it needs the token.
func TestGreetingExplains(t *testing.T) {
	t.Parallel()
	lan, loopback := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 4292},
		&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4293}
	rules := []mitigation.Rule{{Name: "login", Limit: 5, Window: time.Minute}}
	for _, c := range []struct {
		admin []net.Addr
		want  string
	}{
		{[]net.Addr{lan, loopback}, "  curl 'http://127.0.0.1:4293/v1/explain?rule=login&key=203.0.113.7'\n"},
		{[]net.Addr{lan}, "  curl -H \"Authorization: Bearer $TOKEN\" " +
			"'http://192.0.2.7:4292/v1/explain?rule=login&key=203.0.113.7'\n"},
		{[]net.Addr{&net.TCPAddr{IP: net.IPv4zero, Port: 4292}}, "  curl -H \"Authorization: " +
			"Bearer $TOKEN\" 'http://127.0.0.1:4292/v1/explain"},
	} {
		var out strings.Builder
		greet(&out, "edge-1", edge.Addresses{Admin: c.admin}, rules)
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("admin on %v: no %q in\n%s", c.admin, c.want, &out)
		}
	}
}

// TestGreetingWithoutDashboard: no browser reaches a unix socket.
func TestGreetingWithoutDashboard(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	greet(&out, "edge-1",
		edge.Addresses{Admin: []net.Addr{&net.UnixAddr{Name: "/run/a.sock", Net: "unix"}}}, nil)
	if strings.Contains(out.String(), "dashboard") {
		t.Errorf("a dashboard on a unix socket only:\n%s", &out)
	}
}

// TestGreetingIsBounded: of a thousand rules in shadow the banner names five.
func TestGreetingIsBounded(t *testing.T) {
	t.Parallel()
	rules := []mitigation.Rule{{Name: "e", Limit: 1, Window: time.Second}}
	for range 1000 {
		rules = append(rules, mitigation.Rule{
			Name: "s", Limit: 1, Window: time.Second,
			Mode: mitigation.Shadow,
		})
	}
	var out strings.Builder
	greet(&out, "edge-1", edge.Addresses{}, rules)
	if !strings.Contains(out.String(), "shadow: nothing is denied yet by s, s, s, s, s and 995 "+
		"more; rules") {
		t.Errorf("%.300s", &out)
	}
}
