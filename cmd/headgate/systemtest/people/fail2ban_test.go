//go:build !race

package people

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// fail2banFiles are a configuration of fail2ban, without its own: in DIR, against the admin
// listener ADMIN.
var fail2banFiles = map[string]string{
	"fail2ban.conf": `[Definition]
loglevel = INFO
logtarget = DIR/log
syslogsocket = auto
allowipv6 = auto
socket = DIR/socket
pidfile = DIR/pid
dbfile = None
dbpurgeage = 1d
`,
	"jail.conf": `[DEFAULT]
backend = polling
maxretry = 2
findtime = 60
bantime = 600
[site]
enabled = true
filter = site
logpath = DIR/site.log
action = headgate[flags="--admin ADMIN"]
`,
	"filter.d/site.conf": `[Definition]
failregex = ^\s*login failed from <ADDR>$
datepattern = ^EPOCH
`,
	"site.log": "",
}

// TestFail2ban: an address that a jail of the real fail2ban bans is denied under every rule, and is
// not after an unban.
func TestFail2ban(t *testing.T) {
	for _, program := range []string{"fail2ban-server", "fail2ban-client"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
	n := systemtest.StartDaemon(t, nil, "banned", "memory: 16MiB\n"+
		"policies: [{name: site, match: {}, limit: 50, window: 1m}]\n")
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		text = strings.NewReplacer("DIR", dir, "ADMIN", n.Admin).Replace(text)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range fail2banFiles {
		write(name, text)
	}
	action, err := os.ReadFile("../../../../deploy/fail2ban/headgate.conf")
	if err != nil {
		t.Fatal(err)
	}
	write("action.d/headgate.conf", string(action))
	run := func(program string, args ...string) {
		t.Helper()
		cmd := exec.Command(program, append([]string{"-c", dir, "-s", dir + "/socket"}, args...)...)
		cmd.Env = append(os.Environ(),
			"PATH="+filepath.Dir(systemtest.Binary(t))+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v: %s", program, args, err, out)
		}
	}
	run("fail2ban-server", "-p", dir+"/pid", "-b")
	t.Cleanup(func() { run("fail2ban-client", "stop") })
	denied := func(want bool, client string) {
		t.Helper()
		edgetest.Await(t, client, edgetest.Patience, func() bool {
			return strings.Contains(n.Line("ask path=/ client="+client), "deny") == want
		})
	}
	run("fail2ban-client", "set", "site", "banip", "203.0.113.9", "2001:db8::9")
	denied(true, "203.0.113.9")
	denied(true, "2001:db8::9")
	denied(false, "203.0.113.10")
	run("fail2ban-client", "set", "site", "unbanip", "203.0.113.9")
	denied(false, "203.0.113.9")
	write("site.log", strings.Repeat(fmt.Sprintln(time.Now().Unix(),
		"login failed from 203.0.113.11"), 3))
	denied(true, "203.0.113.11")
}
