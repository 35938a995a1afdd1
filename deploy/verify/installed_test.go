//go:build packages

package verify

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// installedConf is a configuration as an operator changes the package's: another rule, and a socket
// for a proxy.
const installedConf = `state_dir: /var/lib/headgate
listen: {http: ["127.0.0.1:4291", "unix:/run/headgate/http.sock"]}
rules:
  - {name: per-ip, limit: 100, window: 10s}
  - {name: login, limit: 5, window: 1m, action: block, block_for: 10m}
  - {name: api, limit: 50, window: 1s}
`

// brokenConf has a fault in its third line.
const brokenConf = "rules:\n  - {name: login, limit: 5, window: 1m}\n  - {name: api, limt: 50, " +
	"window: 1s}\n"

const confPath = "/etc/headgate/headgate.yaml"

// warnings are lintian's that stand: the program is static by choice, and Go's linker makes no
// position-independent one.
const warnings = "initial-upload-closes-no-bugs,hardening-no-pie,hardening-no-relro"

// lintian finds no error in the .deb, and no warning but those named.
func TestLintian(t *testing.T) {
	lintian := program(t, "lintian")
	deb, _ := packed(t)
	run(t, lintian, "--allow-root", "--fail-on", "error,warning", "--suppress-tags", warnings, deb)
}

// TestInstalled is the life of a package: installed into a clean Debian with a systemd of its own,
// reloaded, stopped by the watchdog, upgraded over a broken file, removed. The parts stand on each
// other, in this order.
func TestInstalled(t *testing.T) {
	deb, rpm := packed(t)
	next := filepath.Join(built.dir, "next")
	if _, err := pack(t, next, "1.2.4", daemon(t)); err != nil {
		t.Fatal(err)
	}
	m := boot(t, debian(t))
	for path, name := range map[string]string{
		deb: "old.deb", filepath.Join(next, "headgate_1.2.4-1_amd64.deb"): "new.deb",
		rpm: "old.rpm", filepath.Join(next, "headgate-1.2.4-1.x86_64.rpm"): "new.rpm",
	} {
		m.file("/root/"+name, read(t, path))
	}
	for _, leftover := range [][]string{
		{"dpkg", "--purge", "headgate"},
		{"rpm", "--erase", "--allmatches", "headgate"},
	} {
		if said, err := m.try(leftover...); err != nil { // of a root that was kept
			t.Logf("%s", said)
		}
	}
	for _, part := range []struct {
		name string
		test func(*machine)
	}{
		{"fresh", freshlyInstalled},
		{"reload", reloadedByHand},
		{"watchdog", stoppedByWatchdog},
		{"upgrade", upgradedOverAFault},
		{"removal", removedAndPurged},
		{"rpm", rpmOverAFault},
	} {
		passed := t.Run(part.name, func(t *testing.T) {
			m.TB = t
			part.test(m)
		})
		m.TB = t
		if !passed {
			said, _ := m.try("journalctl", "--no-pager", "--lines=60", "--unit=headgate")
			t.Fatalf("the journal:\n%s", said)
		}
	}
}

// freshlyInstalled: it runs at once, as its own user, and everything is where it belongs.
func freshlyInstalled(m *machine) {
	said := m.do("dpkg", "--install", "/root/old.deb")
	m.decides(2)
	if !strings.Contains(said, "are in shadow") ||
		!strings.Contains(said, "systemctl reload headgate") {
		m.Errorf("the way to enforce is not named:\n%s", said)
	}
	m.enforces()
	for _, want := range []string{
		"Type=notify", "User=headgate", "WatchdogUSec=10s",
		"UnitFileState=enabled", "NRestarts=0", "Result=success",
	} {
		name, value, _ := strings.Cut(want, "=")
		if got := m.property(name); got != value {
			m.Errorf("%s=%s, want %s", name, got, value)
		}
	}
	if account := m.do("getent", "passwd", "headgate"); !strings.Contains(account,
		":/nonexistent:/usr/sbin/nologin") {
		m.Errorf("account %s", account)
	}
	for path, want := range map[string]string{
		"/var/lib/headgate": "700 headgate headgate", "/run/headgate": "755 headgate headgate",
		"/etc/headgate": "755 root root",
		confPath:        "644 root root", "/usr/bin/headgate": "755 root root",
		"/usr/share/man/man1/headgate.1.gz": "644 root root",
	} {
		if got := m.mode(path); got != want {
			m.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if said := m.do("dpkg", "--verify", "headgate"); said != "" {
		m.Errorf("not as it was packed: %s", said)
	}
	if said := m.do("systemd-analyze", "security", "--threshold=12", "--no-pager",
		"headgate.service"); !strings.Contains(said, " OK ") {
		m.Errorf("exposed: %s", said)
	}
	m.do("systemd-analyze", "verify", "--man=no", "/lib/systemd/system/headgate.service")
}

// enforces follows the advice of the package: in shadow nothing is denied, and without those lines
// the sixth login is.
func (m *machine) enforces() {
	m.Helper()
	for range 6 {
		m.do("headgate", "check", "login", "203.0.113.5")
	}
	conf := read(m, m.root+confPath)
	m.do("sed", "-i", "/mode: shadow/d", confPath)
	m.do("systemctl", "reload", "headgate")
	await(m, "the rules enforce", func() bool {
		said, err := m.try("headgate", "check", "login", "203.0.113.6")
		return err != nil && strings.HasPrefix(said, "deny")
	})
	m.file(confPath, conf)
	m.do("systemctl", "reload", "headgate")
	m.do("headgate", "unblock", "login", "203.0.113.6")
}

// reloadedByHand: a good file takes its place, a broken one is told to who asked, and changes
// nothing.
func reloadedByHand(m *machine) {
	pid := m.property("MainPID")
	m.file(confPath, installedConf)
	m.do("systemctl", "reload", "headgate")
	m.decides(3)
	m.file(confPath, brokenConf)
	m.refuse("Job for headgate.service failed", "systemctl", "reload", "headgate")
	if said := m.do("journalctl", "--no-pager", "--unit=headgate"); !strings.Contains(said,
		confPath+":3:") {
		m.Errorf("the journal does not say what is wrong:\n%s", said)
	}
	m.decides(3)
	if now := m.property("MainPID"); now != pid {
		m.Errorf("it is another process: %s, then %s", pid, now)
	}
	m.file(confPath, installedConf)
	m.do("systemctl", "restart", "headgate")
	m.decides(3)
	if got := m.mode("/run/headgate/http.sock"); got != "660 headgate headgate" {
		m.Errorf("the socket: %s", got)
	}
	m.do("headgate", "block", "login", "203.0.113.9", "--ttl", "1h")
	await(m, "the state is written",
		func() bool {
			_, err := m.try("test", "-s",
				"/var/lib/headgate/headgate.state")
			return err == nil
		})
	m.do("systemctl", "restart", "headgate")
	m.refuse("reason block", "headgate", "check", "login", "203.0.113.9")
}

// stoppedByWatchdog: a daemon that stands still is ended, and another one begins.
func stoppedByWatchdog(m *machine) {
	pid, began := m.property("MainPID"), time.Now()
	m.do("sh", "-c", "kill -STOP "+pid) // the shell's: there is no other here
	await(m, "systemd sees that it stands still", func() bool {
		now := m.property("MainPID")
		return now != pid && now != "0"
	})
	m.decides(3)
	said := m.do("journalctl", "--no-pager", "--unit=headgate")
	if !strings.Contains(said, "Watchdog timeout") {
		m.Errorf("the journal:\n%s", said)
	}
	m.Logf("after %v there was another one", time.Since(began).Round(time.Second))
}

// upgradedOverAFault: the old daemon goes on while the file has faults, and dpkg says why; then the
// new one takes its place.
func upgradedOverAFault(m *machine) {
	pid := m.property("MainPID")
	m.file(confPath, brokenConf)
	m.refuse(confPath+":3:", "dpkg", "--install", "/root/new.deb")
	m.refuse("the one that ran before goes on", "dpkg", "--configure", "headgate")
	m.decides(3)
	if now := m.property("MainPID"); now != pid {
		m.Errorf("it is another process: %s, then %s", pid, now)
	}
	if exe := m.do("readlink", "/proc/"+pid+"/exe"); !strings.Contains(exe, "(deleted)") {
		m.Errorf("the daemon that runs is %s", exe)
	}
	m.file(confPath, installedConf)
	m.do("dpkg", "--configure", "headgate")
	m.decides(3)
	if now := m.property("MainPID"); now == pid {
		m.Error("the old daemon runs still")
	}
	if said := m.do("dpkg-query", "--show", "--showformat=${Version} ${db:Status-Status}",
		"headgate"); said != "1.2.4-1 installed" {
		m.Errorf("dpkg: %s", said)
	}
	if got := read(m, m.root+confPath); got != installedConf {
		m.Errorf("the operator's file is now\n%s", got)
	}
	m.refuse("reason block", "headgate", "check", "login", "203.0.113.9")
}

// removedAndPurged: a removal leaves the operator's files, a purge his keys only.
func removedAndPurged(m *machine) {
	key := "/etc/headgate/cluster.key"
	m.file(key, strings.Repeat("ab", 32))
	m.do("dpkg", "--remove", "headgate")
	if said, err := m.try("systemctl", "is-active", "headgate"); err == nil {
		m.Errorf("it is %s", said)
	}
	for path, stays := range map[string]bool{
		confPath: true, "/var/lib/headgate": true,
		"/usr/bin/headgate": false,
	} {
		m.exists(path, stays)
	}
	m.do("dpkg", "--purge", "headgate")
	for path, stays := range map[string]bool{
		confPath: false, "/var/lib/headgate": false, key: true,
		"/etc/systemd/system/multi-user.target.wants/headgate.service": false,
	} {
		m.exists(path, stays)
	}
}

// rpmOverAFault: the same of the .rpm, whose scripts are others. rpm only says so, for to it an
// upgrade is done or not.
func rpmOverAFault(m *machine) {
	if said := m.do("rpm", "--install", "--nodeps", "/root/old.rpm"); !strings.Contains(said,
		"are in shadow") {
		m.Errorf("rules in shadow are not mentioned:\n%s", said)
	}
	m.do("systemctl", "enable", "--now", "headgate")
	m.decides(2)
	pid := m.property("MainPID")
	m.file(confPath, brokenConf)
	said, err := m.try("rpm", "--upgrade", "--nodeps", "/root/new.rpm")
	if err != nil || !strings.Contains(said, confPath+":3:") ||
		!strings.Contains(said, "the one that ran before goes on") {
		m.Errorf("%v: %s", err, said)
	}
	m.decides(2)
	if now := m.property("MainPID"); now != pid {
		m.Errorf("it is another process: %s, then %s", pid, now)
	}
	if said := m.do("rpm", "--query", "headgate"); said != "headgate-1.2.4-1.x86_64\n" {
		m.Errorf("rpm: %s", said)
	}
	m.file(confPath, installedConf)
	m.do("rpm", "--upgrade", "--nodeps", "--oldpackage", "/root/old.rpm")
	m.decides(3)
	if now := m.property("MainPID"); now == pid {
		m.Error("the old daemon runs still")
	}
	m.do("rpm", "--erase", "headgate")
	m.exists("/usr/bin/headgate", false)
	if said, err := m.try("systemctl", "is-active", "headgate"); err == nil {
		m.Errorf("it is %s", said)
	}
}

func (m *machine) exists(path string, want bool) {
	m.Helper()
	if _, err := os.Lstat(m.root + path); (err == nil) != want {
		m.Errorf("%s: %v", path, fmt.Sprint(err))
	}
}
