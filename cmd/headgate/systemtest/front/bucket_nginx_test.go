//go:build !race

package front

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// besidePhases are pauses, each followed by requests at once. A token comes back in half a second:
// the pauses end far from the moments at which one does.
var besidePhases = []struct {
	pause    time.Duration
	requests int
}{{0, 10}, {1250 * time.Millisecond, 5}, {600 * time.Millisecond, 3}, {300 * time.Millisecond, 3}}

// A bucket of burst+1 lets pass what nginx's limit_req with burst and nodelay does, request by
// request.
func TestBucketBesideNginx(t *testing.T) {
	t.Parallel()
	limitReq := startLimitReq(t, "rate=2r/s", "burst=5 nodelay")
	n := startFrontNode(t, "rules: [{name: b, limit: 2, window: 1s, burst: 6}]\n")
	edgetest.Await(t, "the daemon listens", edgetest.Patience,
		func() bool { return n.Listens("decisions, HTTP") != "" })
	headgate := "http://" + n.Listens("decisions, HTTP") + "/v1/check?rule=b&key="
	for try := range 30 { // a machine that stalls between two questions proves nothing
		if besideInTime(t, limitReq+fmt.Sprint("k", try), headgate+fmt.Sprint("k", try)) {
			return
		}
	}
	t.Error("in no run all requests were made in time: the machine is too busy")
}

// besideInTime makes the requests of all phases to both, and compares the answers. It gives up and
// returns false when one is more than 100 ms late.
func besideInTime(t *testing.T, theirs, ours string) bool {
	t.Helper()
	began, at := time.Now(), time.Duration(0)
	for _, phase := range besidePhases {
		at += phase.pause
		edgetest.Await(t, "the pause that both measure is over", edgetest.Patience,
			func() bool { return time.Since(began) >= at })
		for i := range phase.requests {
			a, b := statusOf(t, theirs), statusOf(t, ours)
			if time.Since(began) > at+100*time.Millisecond {
				return false
			}
			if a != b {
				t.Fatalf("request %d after %s: nginx %d, headgate %d", i+1, phase.pause, a, b)
			}
		}
	}
	return true
}

// startLimitReq runs nginx with a zone of that rate and its use, and returns a URL that ends where
// the key follows.
func startLimitReq(t *testing.T, rate, use string) string {
	t.Helper()
	dir, port := t.TempDir(), systemtest.Port(t)
	// for nginx's worker
	if err := os.WriteFile(filepath.Join(dir, "page"), []byte("the page\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // likewise
		t.Fatal(err)
	}
	conf := fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log %[1]s/error.log;
events {}
http { access_log off; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/c;
limit_req_zone $arg_k zone=z:1m %[3]s; limit_req_status 429;
server { listen 127.0.0.1:%[2]d; root %[1]s; location / { limit_req zone=z %[4]s; } } }`, dir, port,
		rate, use)
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), clitest.ProgramPath(t, "nginx"), "-p", dir, "-c", file,
		"-e", filepath.Join(dir, "error.log"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	edgetest.Await(t, "nginx listens", edgetest.Patience, func() bool {
		c, err := net.Dial("tcp", systemtest.Address(port))
		return err == nil && c.Close() == nil
	})
	return "http://" + systemtest.Address(port) + "/page?k="
}

// statusOf asks url and returns the status.
func statusOf(t *testing.T, url string) int {
	t.Helper()
	resp, err := http.Get(url) //nolint:noctx,gosec // of a test
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}
