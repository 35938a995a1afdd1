package front

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/request"
)

// pathPieces are what generated paths are made of.
var pathPieces = []string{
	"/", "/", "/", "a", "B", ".", "..", "%2e", "%2E", "%61", "%7e", "~",
	"%20", "%c3%a9", "%25", "%2561", "%2F", "%2f", "%252F", "-", "%2D", "+", ";",
	":", "=", "...", "&",
}

// What policies see of a path, decoded, is what nginx makes of it: an escaped slash is a separator.
// The path as sent is the same where no slash or percent sign is escaped.
func TestPathIsNginx(t *testing.T) {
	program, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("nginx is not installed")
	}
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	conf := fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log %[1]s/error.log;
events {}
http { access_log off; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/c;
keepalive_requests 100000; server { listen unix:%[1]s/s; default_type text/plain; return 200 $uri; } }`, dir)
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-p", dir, "-c",
		filepath.Join(dir, "nginx.conf"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var c net.Conn
	edgetest.Await(t, "nginx listens", 10*time.Second, func() bool {
		c, err = net.DialTimeout("unix", socket, time.Second)
		return err == nil
	})
	defer c.Close() //nolint:errcheck // of a test
	in := bufio.NewReader(c)
	rng := rand.New(rand.NewPCG(7, 7))
	r := new(request.Request)
	compared, twice := 0, 0
	for range 5000 {
		target := "/"
		for range rng.IntN(12) {
			target += pathPieces[rng.IntN(len(pathPieces))]
		}
		status, uri := askNginx(t, c, in, target)
		if status == http.StatusBadRequest { // ".." above the root; nginx closes the connection
			if c, err = net.Dial("unix", socket); err != nil {
				t.Fatal(err)
			}
			in = bufio.NewReader(c)
			continue
		}
		r.Reset(nil)
		r.SetTarget([]byte(target), new(request.Clients))
		ours := r.Path
		if r.Decoded != nil {
			ours, twice = r.Decoded, twice+1
		}
		if string(ours) != uri {
			t.Fatalf("%s: %s here, %s in nginx", target, ours, uri)
		}
		compared++
	}
	if compared < 2500 || twice < 500 {
		t.Errorf("only %d paths compared, %d of them with two readings", compared, twice)
	}
}

func askNginx(t *testing.T, c net.Conn, in *bufio.Reader, target string) (status int, uri string) {
	t.Helper()
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", target); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatalf("%s: %v", target, err)
	}
	defer answer.Body.Close() //nolint:errcheck // only read from
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}
