package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
)

// The reload command names the settings that wait for a restart, and nothing where none does.
func TestReloadCommandNamesWhatWaits(t *testing.T) {
	for answer, want := range map[string]string{
		`{"rules":1}`: "reloaded\n",
		`{"rules":1,"need_restart":["node","pop"]}`: "reloaded, but a restart is needed for: " +
			"node, pop\n",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost || r.URL.Path != "/v1/reload" {
				t.Errorf("%s %s", r.Method, r.URL)
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, answer)
		}))
		var stdout, stderr bytes.Buffer
		code := cli.NewApp(&stdout, &stderr).Run(t.Context(), commands,
			[]string{"reload", "--admin", strings.TrimPrefix(server.URL, "http://")})
		server.Close()
		if code != cli.ExitOK || stdout.String() != want || stderr.Len() > 0 {
			t.Errorf("%s: exit %d, %q, %q", answer, code, &stdout, &stderr)
		}
	}
}
