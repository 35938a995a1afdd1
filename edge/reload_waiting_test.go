package edge

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/api"
)

// A reload names the settings that it could not take over, in the answer and in the log.
func TestReloadNamesWhatWaitsForARestart(t *testing.T) {
	n := newReloadNode(t, "")
	if got := n.ask(http.MethodPost, "/v1/reload",
		"").Body.String(); strings.TrimSpace(got) != `{"rules":1}` {
		t.Errorf("nothing waits, and the answer is %s", got)
	}
	n.configure("pop: fra\nnode: other\n")
	file := strings.Replace(string(n.read("headgate.yaml")), "memory: 4MiB", "memory: 8MiB", 1)
	n.write("headgate.yaml", strings.Replace(file, "http: []", "http: \"127.0.0.1:0\"", 1))

	want := []string{"node", "pop", "listen.http", "memory"}
	var view api.ReloadView
	if err := json.Unmarshal(n.ask(http.MethodPost, "/v1/reload", "").Body.Bytes(),
		&view); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(view.NeedRestart, want) || view.Rules != 1 {
		t.Errorf("answered %+v, want %v", view, want)
	}
	said := strings.Join(want, ", ")
	if log := n.said.String(); !strings.Contains(log, "level=WARN") ||
		!strings.Contains(log, `settings="`+said+`"`) {
		t.Errorf("the log says\n%s", log)
	}
	n.configure("") // as it was
	if got := n.ask(http.MethodPost, "/v1/reload",
		"").Body.String(); strings.TrimSpace(got) != `{"rules":1}` {
		t.Errorf("nothing waits any more, and the answer is %s", got)
	}
}
