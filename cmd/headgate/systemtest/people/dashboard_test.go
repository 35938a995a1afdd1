//go:build !race

package people

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	hg "github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/web/browser"
	"github.com/headgate-dev/headgate/edge/wire"
)

// The tests named TestDashboard… check the page as an operator has it: a real daemon and a real
// browser. edge/web tests how the page shows the values that it receives.
//
//	test ──DevTools──► chromium ──HTTP, events──► headgate serve ◄──UDP── test

// dashboard is the page of a daemon, in a browser.
type dashboard struct {
	*systemtest.Node
	page *browser.Page
	ctx  context.Context
}

// dashboardNode runs a daemon with more in its configuration.
func dashboardNode(t *testing.T, more string) *systemtest.Node {
	t.Helper()
	return systemtest.StartDaemon(t, nil, "edge-1", "pop: lhr\nmemory: 16MiB\n"+more)
}

// openDashboard shows the dashboard of a daemon, and returns when it has received an event.
func openDashboard(t *testing.T, n *systemtest.Node) *dashboard {
	t.Helper()
	path, err := browser.Find()
	if err != nil {
		t.Skip(err)
	}
	d := &dashboard{Node: n}
	chromium, err := browser.Start(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := chromium.Close(); err != nil {
			t.Error(err)
		}
	})
	var cancel context.CancelFunc
	d.ctx, cancel = context.WithTimeout(context.Background(), 3*edgetest.Patience)
	t.Cleanup(cancel)
	if d.page, err = chromium.Open(d.ctx, 1280, 900, false); err != nil {
		t.Fatal(err)
	}
	d.must(d.page.Go(d.ctx, "http://"+d.Admin))
	d.wait(`document.querySelector('[data-part=stream]').dataset.state === 'good' && document.querySelector('#node').textContent === 'edge-1'`)
	return d
}

func (d *dashboard) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

func (d *dashboard) wait(condition string) {
	d.Helper()
	d.must(d.page.Wait(d.ctx, condition))
}

// write types text and goes on to the next field.
func (d *dashboard) write(text string) {
	d.Helper()
	d.must(d.page.Type(d.ctx, text))
	d.must(d.page.Press(d.ctx, "Tab"))
}

func (d *dashboard) press(key string) {
	d.Helper()
	d.must(d.page.Press(d.ctx, key))
}

// mitigationRow is the row of a key in the table of mitigations.
func mitigationRow(key string) string {
	return "[...document.querySelectorAll('#mitigations-table tbody tr')].find((r) => " +
		"r.cells[0].textContent === '" + key + "')"
}

// verdict returns the daemon's answer for a key.
func (d *dashboard) verdict(client *hg.Client, key string) string {
	d.Helper()
	a, err := client.Peek(d.ctx, "login", key, 1)
	d.must(err)
	if a.Status == wire.Allow {
		return "allow"
	}
	return "deny " + a.Why.String()
}

// scriptKey is a key that would run, were it markup.
const scriptKey = "<script>alert(1)</script>"

// TestDashboardSteers blocks a key by the page, sees it among the mitigations and denied by the
// daemon, and unblocks it. A hostile key that the daemon blocks meanwhile stays text. The browser
// has nothing to complain of.
func TestDashboardSteers(t *testing.T) {
	t.Parallel()
	d := openDashboard(t, dashboardNode(t, ""))
	client := d.Client()
	for range 8 {
		if _, err := client.Check(d.ctx, "login", scriptKey, 1); err != nil {
			t.Fatal(err)
		}
	}
	d.wait(mitigationRow(scriptKey))
	d.press("b")
	d.wait(`document.activeElement.id === 'hand-key'`)
	d.must(d.page.Do(d.ctx, `document.querySelector('#hand-rule').value = 'login'`, nil))
	d.write("203.0.113.7")
	d.press("Tab") // for an hour
	d.write("it knocks")
	d.must(d.page.Type(d.ctx, "kim"))
	d.press("Enter")
	d.wait(mitigationRow("203.0.113.7") + `?.textContent.includes('it knocks')`)
	if got := d.verdict(client, "203.0.113.7"); got != "deny block" {
		t.Errorf("blocked by the page: %s", got)
	}
	d.must(d.page.Do(d.ctx, mitigationRow("203.0.113.7")+`.querySelector('button.link').click()`,
		nil))
	d.wait(`document.querySelector('.verdict')?.textContent.includes('Denied')`)
	d.must(d.page.Do(d.ctx, mitigationRow("203.0.113.7")+`.querySelector('button.small').click()`,
		nil))
	d.wait(`!` + mitigationRow("203.0.113.7"))
	if got := d.verdict(client, "203.0.113.7"); got != "allow" {
		t.Errorf("unblocked by the page: %s", got)
	}
	var markup int
	d.must(d.page.Do(d.ctx, `document.querySelectorAll('main script').length`, &markup))
	if said := d.page.Complaints(); len(said) > 0 || d.page.Dialogs() > 0 || markup > 0 {
		t.Errorf("%d dialogs, %d scripts, complaints: %v", d.page.Dialogs(), markup, said)
	}
}

// TestDashboardToken checks that a change by the page waits for the token where the daemon wants
// one, and is made with it.
func TestDashboardToken(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("open-sesame-open-sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := openDashboard(t, dashboardNode(t, "admin_token_file: "+file+"\n"))
	d.press("b")
	d.wait(`document.activeElement.id === 'hand-key'`)
	d.write("198.51.100.1")
	d.press("Enter")
	d.wait(`document.querySelector('#token').open && document.activeElement.id === 'token-text'`)
	d.must(d.page.Type(d.ctx, "open-sesame-open-sesame"))
	d.press("Enter")
	d.wait(mitigationRow("198.51.100.1"))
	for _, said := range d.page.Complaints() {
		if !strings.Contains(said, "401") { // browsers log each answer that is an error
			t.Error(said)
		}
	}
}

// TestDashboardCounts checks that the requests counted and denied by the daemon are drawn, listed
// and in the headline.
func TestDashboardCounts(t *testing.T) {
	t.Parallel()
	d := openDashboard(t, dashboardNode(t, ""))
	// goes on while it is looked at
	systemtest.StartLoad(t, []*systemtest.Node{d.Node},
		&systemtest.Stream{Name: "greedy", Rule: "per-ip", Keys: 1, Rate: 200})
	d.wait(`[...document.querySelectorAll('.card')].find((c) => c.rule.name === 'per-ip')?.columns[1].some((v) => v > 1)`)
	d.wait(`[...document.querySelectorAll('#top-table tbody tr')].some((r) => r.cells[0].textContent === 'greedy-0')`)
	d.wait(`/^Denying /.test(document.querySelector('#headline .words').textContent)`)
}

// part is how a part of the node is shown to stand.
func part(name string) string {
	return `document.querySelector('[data-part=` + name + `]').dataset.state`
}

// TestDashboardDegrades checks that the page reports each loss and its end: the ring, the last
// reload, and the switch that an operator has turned everything off with.
func TestDashboardDegrades(t *testing.T) {
	t.Parallel()
	server := systemtest.StartMemcached(t)
	d := openDashboard(t, systemtest.StartNode(t, "edge-1",
		[]string{systemtest.Address(server.Port)}, ""))
	d.wait(part("ring") + ` === 'good'`)
	server.Kill()
	d.wait(part("ring") +
		` === 'bad' && document.querySelector('#headline .words').textContent.startsWith('The ring is lost')`)
	server.Start()
	d.wait(part("ring") +
		` === 'good' && /ring operations? failed in the last minute/.test(document.querySelector('#trouble').textContent) && !/lost/.test(document.querySelector('#headline').textContent)`)
	if err := os.WriteFile(d.Cmd.Args[len(d.Cmd.Args)-1], []byte("rules: [{name: x, limit: "+
		"none}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.ask("POST", "/v1/reload", "{}", http.StatusUnprocessableEntity)
	d.wait(part("rules") +
		` === 'bad' && document.querySelector('#trouble').textContent.includes('the last reload failed')`)
	d.ask("PUT", "/v1/mode", `{"mode":"off"}`, http.StatusNoContent)
	d.wait(`document.querySelector('#headline').textContent.includes('Nothing is enforced: 2 rules off.')`)
}

// ask asks for a change.
func (d *dashboard) ask(method, path, body string, status int) {
	d.Helper()
	r, err := http.NewRequestWithContext(d.ctx, method, "http://"+d.Admin+path,
		strings.NewReader(body))
	d.must(err)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	d.must(err)
	if err := answer.Body.Close(); err != nil || answer.StatusCode != status {
		d.Fatalf("%s %s: status %d, %v", method, path, answer.StatusCode, err)
	}
}
