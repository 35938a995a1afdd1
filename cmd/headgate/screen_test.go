package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
)

// screen ends a live command once it has drawn often enough.
type screen struct {
	drawn strings.Builder
	left  int
	stop  context.CancelFunc
}

// Write is a terminal's.
func (s *screen) Write(p []byte) (int, error) {
	if strings.Contains(string(p), cli.ClearBelow) {
		if s.left--; s.left == 0 {
			s.stop()
		}
	}
	return s.drawn.Write(p)
}

func TestTopLive(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tty := &screen{left: 2, stop: cancel}
	a := cli.NewApp(tty, io.Discard)
	a.Getenv = func(name string) string { return b.env[name] }
	a.Now = func() time.Time { return clitest.Noon }
	if code := a.Run(ctx, commands,
		[]string{"top", "--live", "--every", "1ms"}); code != cli.ExitOK {
		t.Errorf("exit %d", code)
	}
	got := tty.drawn.String()
	if !strings.HasPrefix(got, cli.EnterScreen+cli.Home+"headgate top   ") ||
		!strings.HasSuffix(got, cli.ClearBelow+cli.LeaveScreen) {
		t.Errorf("the screen is not taken and given back: %q", got)
	}
	if n := strings.Count(got, `\x1b[2J\xe2\x80\xae203.0.113.66\x00`); n != 2 {
		t.Errorf("the hostile key is shown escaped %d times, want 2: %q", n, got)
	}
}

func TestTopLiveOutlastsTheDaemon(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tty := &screen{left: 2, stop: cancel}
	a := cli.NewApp(tty, io.Discard)
	if code := a.Run(ctx, commands,
		[]string{"top", "--live", "--admin", "127.0.0.1:1"}); code != cli.ExitOK {
		t.Errorf("exit %d", code)
	}
	if n := strings.Count(tty.drawn.String(), "no answer from headgate at 127.0.0.1:1"); n != 2 {
		t.Errorf("says so %d times, want 2: %q", n, tty.drawn.String())
	}
}
