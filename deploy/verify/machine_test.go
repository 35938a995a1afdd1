//go:build packages

package verify

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// suite is the Debian that is installed, from where apt has it.
	suite = "bookworm"
	// keptRoot names a folder where it is kept for the next run; without it each run makes one.
	keptRoot = "HEADGATE_DEBIAN"
	// commandPatience is how long one command in the machine may take.
	commandPatience = 2 * time.Minute
)

// machine is a Debian that runs with its own systemd, in namespaces: its own processes, network,
// mounts and control groups.
type machine struct {
	testing.TB
	root string
	pid  int // of its first process
}

// debian returns the root of a fresh Debian, with systemd and little else.
func debian(t testing.TB) (root string) {
	t.Helper()
	debootstrap := program(t, "debootstrap")
	if os.Geteuid() != 0 {
		t.Skip("only root can install a Debian and boot it")
	}
	if root = os.Getenv(keptRoot); root == "" {
		root = t.TempDir()
	}
	if _, err := os.Stat(filepath.Join(root, "lib/systemd/systemd")); err == nil {
		return root
	}
	at := run(t, "apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages",
		"Component: main", "Codename: "+suite)
	mirror, _, _ := strings.Cut(at, "\n")
	run(t, debootstrap, "--variant=minbase", "--include=systemd,systemd-sysv,adduser,rpm",
		suite, root, mirror)
	return root
}

// boot starts the machine below root, which runs until the test ends.
func boot(t testing.TB, root string) *machine {
	t.Helper()
	script, err := filepath.Abs("testdata/boot.sh")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "boot.log")
	log, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() //nolint:errcheck // the child has it
	cmd := exec.Command("unshare", "--fork", "--kill-child", "--pid", "--mount", "--uts", "--ipc",
		"--net", "--cgroup", "--propagation", "private", "sh", script, root)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // that it was killed
	})
	m := &machine{TB: t, root: root}
	await(t, "systemd runs", func() bool {
		m.pid = child(cmd.Process.Pid)
		if m.pid == 0 {
			return false
		}
		state, _ := m.try("systemctl", "is-system-running") // fails until it does
		return strings.TrimSpace(state) == "running" || strings.TrimSpace(state) == "degraded"
	})
	return m
}

// child returns the only child of a process, 0 when it has none yet.
func child(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	if err != nil {
		return 0
	}
	found, _ := strconv.Atoi(strings.TrimSpace(string(text))) // 0 without one
	return found
}

// try runs a command in the machine.
func (m *machine) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(m.Context()), commandPatience)
	defer cancel()
	in := exec.CommandContext(ctx, "nsenter",
		append([]string{"--target", strconv.Itoa(m.pid), "--all", "--root", "--wdns=/", "--"},
			args...)...)
	in.Env = []string{
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
		"DEBIAN_FRONTEND=noninteractive", "LC_ALL=C",
	}
	said, err := in.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, said)
	}
	return string(said), err
}

// do runs a command in the machine that must not fail.
func (m *machine) do(args ...string) string {
	m.Helper()
	said, err := m.try(args...)
	if err != nil {
		m.Fatal(err)
	}
	return said
}

// refuse runs a command in the machine that must fail, and say so.
func (m *machine) refuse(words string, args ...string) {
	m.Helper()
	said, err := m.try(args...)
	if err == nil || !strings.Contains(said, words) {
		m.Errorf("%s: %v, not %q in:\n%s", strings.Join(args, " "), err, words, said)
	}
}

// property returns a property of the service.
func (m *machine) property(name string) string {
	m.Helper()
	return strings.TrimSpace(m.do("systemctl", "show", "headgate", "--property", name, "--value"))
}

// file writes a file in the machine.
func (m *machine) file(path, text string) {
	m.Helper()
	write(m, filepath.Join(m.root, path), text)
}

// decides waits until the daemon decides, by so many rules.
func (m *machine) decides(rules int) {
	m.Helper()
	want := fmt.Sprintf("Deciding by %d rules", rules)
	await(m, want, func() bool {
		said, err := m.try("headgate", "health")
		return err == nil && said == "ready\n" && strings.HasPrefix(m.property("StatusText"), want)
	})
	if said := m.do("headgate", "check", "login", "203.0.113.7"); !regexp.MustCompile(
		`^(allow|deny) `).MatchString(said) {
		m.Errorf("decided: %s", said)
	}
}

// mode returns the mode and the owners of a file in the machine.
func (m *machine) mode(path string) string {
	m.Helper()
	return strings.TrimSpace(m.do("stat", "--format", "%a %U %G", path))
}
