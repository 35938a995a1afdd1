package caddy_test

import (
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest/seam"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// TestSeam: whatever is denied in its plain form is denied in every spelling that Caddy serves: the
// table of all doors, with the origin as the judge. HEADGATE_TEST_SEED repeats a fuzz.
func TestSeam(t *testing.T) {
	socket := "unix:" + filepath.Join(t.TempDir(), "udp.sock")
	startNode(t, "node: test\nmemory: 16MiB\n"+seam.Policies(""), socket)
	c := &seam.Column{Seen: seam.Usual, Fold: []string{"slash"}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	_ = l.Close()
	text := "{\n\tadmin off\n\tauto_https off\n\tpersist_config off\n\tlog {\n\t\tlevel FATAL\n\t}\n}\nhttp://:" + at[len("127.0.0.1:"):] + " {\n\tbind 127.0.0.1\n" + directive(socket) + "\n}\n"
	configuration, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	var do http.HandlerFunc = func(_ http.ResponseWriter, r *http.Request) {
		c.Note(seam.Received(r))
	}
	serve.Store(&do)
	if err := caddy.Load(configuration, true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = caddy.Stop() })
	c.Send = seam.Sender(at)
	chance := edgetest.Seed(t)
	c.Premise(t)
	rows := seam.Rows(false)
	faults := append(c.Try(rows), c.Fuzz(rows, 2500, chance)...)
	t.Logf("%d rows, and a fuzz by HEADGATE_TEST_SEED=%d: %s", len(rows), chance, c.Sum())
	c.Premise(t)
	if len(faults) > 0 {
		t.Errorf("%d faults\n%s", len(faults), seam.Tell(faults, 3))
	}
}
