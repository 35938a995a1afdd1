package replay_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
)

// combined is a line of a combined log, of a request at a second.
func combined(second int, client, path, status, behind string) string {
	return fmt.Sprintf("%s - - [07/Mar/2026:10:00:%02d +0000] \"GET %s HTTP/1.1\" %s 5%s\n", client,
		second, path, status, behind)
}

// TestReplayFindsClients as a node under the configuration does: behind a trusted peer by the list,
// and of a log that has the list alone only if a trusted proxy ends it.
func TestReplayFindsClients(t *testing.T) {
	envoy := func(list string) string {
		return `[2026-03-07T10:00:01Z] "GET /b HTTP/1.1" 200 - 0 5 9 3 "` + list +
			`" "c" "id" "h" "u"` + "\n"
	}
	for _, c := range []struct {
		log         string
		denied, bad int64
	}{
		{combined(1, "10.0.0.9", "/b", "200", ` "-" "c" "192.0.2.1"`) +
			combined(2, "10.0.0.9", "/b", "200", ` "-" "c" "192.0.2.2, 10.0.0.8"`), 0, 0},
		{combined(1, "10.0.0.9", "/b", "200", ` "-" "c" "192.0.2.9, 192.0.2.1"`) +
			combined(2, "10.0.0.8", "/b", "200", ` "-" "c" "192.0.2.1"`), 1, 0},
		{combined(1, "192.0.2.1", "/b", "200", ` "-" "c" "192.0.2.7"`) + // a visitor wrote it
			combined(2, "192.0.2.1", "/b", "200", ` "-" "c" "192.0.2.8"`), 1, 0},
		{combined(1, "10.0.0.9", "/b", "200", ` "-" "c"`) +
			combined(2, "10.0.0.9", "/b", "200", ` "-" "c" "-"`), 1, 0},
		{envoy("192.0.2.1, 10.0.0.1") + envoy("192.0.2.1,10.0.0.2") + envoy("192.0.2.3") +
			envoy("-") + envoy("10.0.0.1, 192.0.2.4"), 1, 3},
		{combined(1, "2001:db8:1:2::1", "/b", "200", "") +
			combined(2, "2001:db8:1:2::2", "/b", "200", ""), 1, 0},
	} {
		s := summarised(t, c.log, "--rule", "site")
		if s.Denied != c.denied || s.BadLines != c.bad {
			t.Errorf("%d denied, %d bad lines, want %d and %d:\n%s", s.Denied, s.BadLines, c.denied,
				c.bad, c.log)
		}
	}
}

// TestReplayOfAPolicysRule goes by the policy's match, key, bits and responses, with and without a
// suggestion.
func TestReplayOfAPolicysRule(t *testing.T) {
	log := combined(1, "192.0.2.1", "/a", "401", "") + combined(2, "192.0.2.1", "/c", "401", "") +
		combined(3, "192.0.2.1", "/a", "200", "") + combined(4, "192.0.2.2", "/a", "200", "") +
		combined(5, "192.0.2.2", "/a", "200", "") + combined(6, "192.0.2.1", "/a", "401", "")
	for _, c := range []struct {
		args                 string
		requests, denied     int64
		suggested, suggestBy int64 // requests counted, and denied by a limit of 1
	}{
		{"--rule site", 5, 3, 5, 3},
		{"--rule site --every-request", 6, 4, 6, 4},
		{"--rule logins", 5, 2, 2, 1},
	} {
		args := strings.Fields(c.args)
		if s := summarised(t, log, args...); s.Requests != c.requests || s.Matched != c.requests ||
			s.Denied != c.denied || s.Formats["combined"] != 6 {
			t.Errorf("%s: %+v", c.args, s)
		}
		s := summarised(t, log, append(args, "--suggest")...)
		if s.Requests != c.suggested || s.Rows[0].Requests != c.suggestBy {
			t.Errorf("%s --suggest: %+v", c.args, s)
		}
	}
	for _, c := range [][3]string{
		{log, "charges", "no rule"},
		{log, "win --every-request", "no policy's own rule"},
		{combined(1, "192.0.2.1", "/c", "200", ""), "site", "none of 1 requests"},
		{"Mar x y\n", "win", `the first field "Mar" is no address`},
		{"Mar x y\n", "win", "haproxy, envoy, alb, cloudfront"},
	} {
		code, _, errs := run(t, c[0], strings.Fields("--rule "+c[1])...)
		if code != cli.ExitFailed || !strings.Contains(errs, c[2]) {
			t.Error(c[1], code, errs)
		}
	}
}
