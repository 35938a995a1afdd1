//go:build !race

package people

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/ask"
	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
)

// TestPastOfAKey is the question of the morning after, with a real daemon: how much was a customer
// denied, when and by which policy, over a reload, and not over a restart.
func TestPastOfAKey(t *testing.T) {
	conf := `memory: 16MiB
rules: []
policies:
  - {name: login, match: {path: /login}, key: client, limit: 5, window: 10s}
`
	n := systemtest.StartDaemon(t, nil, "edge-1", conf)
	run := func(line string) string {
		t.Helper()
		var out bytes.Buffer
		args := append(strings.Fields(line), "--admin", n.Admin)
		build := ask.History
		if args[0] == "explain" {
			build = ask.Explain
		}
		code := systemtest.RunCommand(t.Context(), cli.Entry{Build: build}, args, &out, &out)
		if code != 0 {
			t.Errorf("%s: %d: %s", line, code, &out)
		}
		return out.String()
	}
	figures := regexp.MustCompile(`(?m)^\d\d:\d\d  (\d+) asked for, (\d+) denied, limit 5 per 10s`)
	history := func(offered, denied int) { // a minute may have begun meanwhile
		t.Helper()
		text := run("history login --client 203.0.113.9 --since 30m")
		for _, of := range figures.FindAllStringSubmatch(text, -1) {
			o, _ := strconv.Atoi(of[1])
			d, _ := strconv.Atoi(of[2])
			offered, denied = offered-o, denied-d
		}
		if offered != 0 || denied != 0 {
			t.Errorf("%d and %d are missing: %s", offered, denied, text)
		}
	}
	began := time.Now()
	denied := 0
	for range 9 {
		if strings.HasPrefix(n.Line("ask path=/login client=203.0.113.9"), "deny") {
			denied++
		}
	}
	if denied == 0 {
		t.Fatal("nothing was denied")
	}
	history(9, denied)
	n.Reload()
	history(9, denied)
	explained := ""
	for _, at := range []time.Time{began, time.Now()} {
		explained += run("explain login --client 203.0.113.9 --at " + at.Format(time.RFC3339))
	}
	if !strings.Contains(explained, "limit, policy login") {
		t.Error(explained)
	}
	n.Stop()
	n.Ended = true
	n = systemtest.StartDaemon(t, nil, "edge-1", conf)
	history(0, 0)
}
