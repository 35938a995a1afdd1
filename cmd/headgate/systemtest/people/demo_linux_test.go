//go:build !race

package people

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"golang.org/x/sys/unix"
)

// pseudoTerminal is a terminal of a test: all that is written to its other end is kept.
type pseudoTerminal struct {
	*os.File
	edgetest.Log
}

// openTerminal returns a terminal of a size, and the end for a program.
func openTerminal(t *testing.T, columns, rows uint16) (p *pseudoTerminal, end *os.File) {
	t.Helper()
	near, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	t.Cleanup(func() { _ = near.Close() })
	if err := unix.IoctlSetPointerInt(int(near.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(near.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	end, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p = &pseudoTerminal{File: near}
	p.resize(t, columns, rows)
	return p, end
}

func (p *pseudoTerminal) resize(t *testing.T, columns, rows uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(p.Fd()), unix.TIOCSWINSZ,
		&unix.Winsize{Col: columns, Row: rows}); err != nil {
		t.Fatal(err)
	}
}

// read keeps the program's output, until it has ended.
func (p *pseudoTerminal) read() {
	for buffer := make([]byte, 1<<16); ; {
		n, err := p.Read(buffer)
		if err != nil {
			return
		}
		_, _ = p.Log.Write(buffer[:n]) // never fails
	}
}

// frame returns the last whole page drawn, "" if there is none.
func (p *pseudoTerminal) frame() string {
	pages := strings.Split(p.String(), cli.Home)
	for n := len(pages) - 1; n > 0; n-- {
		if page, _, whole := strings.Cut(pages[n], cli.ClearBelow); whole {
			return page
		}
	}
	return ""
}

// TestDemoOnATerminal watches a demo on a terminal that is resized, pauses its screen, and quits
// it.
func TestDemoOnATerminal(t *testing.T) {
	t.Parallel()
	tty, end := openTerminal(t, 80, 24)
	cmd := exec.Command(systemtest.Binary(t), "demo", "--duration", "0", "--open=false")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = end, end, end
	cmd.Env = append(os.Environ(), "TERM=xterm", "TMPDIR="+t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	_ = end.Close() // the program has its own
	go tty.read()   // ends with the program
	shows := func(what string, rows int, texts ...string) {
		t.Helper()
		edgetest.Await(t, what, edgetest.Patience, func() bool {
			page := tty.frame()
			for _, text := range texts {
				if !strings.Contains(page, text) {
					return false
				}
			}
			return strings.Count(page, "\n") == rows-1
		})
	}
	shows("a page of 24 rows", 24, "headgate demo", "lhr London", "100 % ┤", "q quit")
	tty.resize(t, 160, 50)
	shows("a page of 50 rows", 50, "headgate top", "requests sent", strings.Repeat("_", 150))
	if _, err := tty.WriteString("p"); err != nil {
		t.Fatal(err)
	}
	shows("a paused page", 50, "PAUSED")
	if _, err := tty.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	if err := <-over; err != nil {
		t.Errorf("it ended with %v", err)
	}
	edgetest.Await(t, "the summary on the first screen", edgetest.Patience, func() bool {
		_, after, left := strings.Cut(tty.String(), cli.LeaveScreen)
		return left && strings.Contains(after, "normal clients: ")
	})
}
