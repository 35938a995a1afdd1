//go:build !race

package front

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
)

// TestFrontReportsBySPOE: with the message of docs/proxies.md in place of the log line, HAProxy
// reports the response when its headers come, which gives places back and counts by the status.
func TestFrontReportsBySPOE(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/proxies.md")
	if err != nil {
		t.Fatal(err)
	}
	fence := regexp.MustCompile("(?s)```haproxy report\n(.*?)```").FindSubmatch(page)
	if fence == nil {
		t.Fatal("docs/proxies.md has no message report")
	}
	agent, message, ok := strings.Cut(string(fence[1]), "\n\n")
	if !ok {
		t.Fatalf("%q", fence[1])
	}
	for _, f := range fronts {
		if f.name != "haproxy" {
			continue
		}
		n := startFrontNode(t, fmt.Sprintf(placesPolicies, 60)+`
  - {name: lost, match: {path: "/missing"}, count_when: {path: "/missing", status: 200}, limit: 2, window: 1h}
`)
		s := f.before(t, []edit{
			{"    groups ask\n", "    groups ask\n" + agent + "\n"},
			{"spoe-group ask\n", message + "\nspoe-group ask\n"},
		}, n.at(f, patient)...)
		first, second := s.upload(), s.upload()
		n.awaitTaken(2)
		if third := s.upload(); <-third.status != http.StatusTooManyRequests {
			t.Error("a third upload passes")
		}
		if a, b := first.end(), second.end(); a != http.StatusOK || b != http.StatusOK {
			t.Errorf("the uploads: %d and %d", a, b)
		}
		n.awaitTaken(0)
		systemtest.Await(t, "two responses are counted", func() bool {
			r, err := http.Get("http://" + systemtest.Address(s.port) + "/missing")
			if err != nil {
				t.Fatal(err)
			}
			_ = r.Body.Close()
			return r.StatusCode == http.StatusTooManyRequests
		})
	}
}
