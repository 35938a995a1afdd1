package demo

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// Whatever the terminal's size, what it shows fits, and the table is there as long as there is room for it.
func TestDemoFitsTheScreen(t *testing.T) {
	d, b, _ := shownDemo()
	s := &demoScreen{a: &app{cli.NewApp(io.Discard, io.Discard)}, d: d}
	for n := range 3 * demoHeard {
		s.hear(time.Duration(n)*time.Second, "it goes on")
	}
	for rows := 2; rows < 40; rows++ {
		page := s.page(&b, rows)
		lines := strings.Count(page, "\n")
		if lines >= rows {
			t.Errorf("%d lines on %d rows", lines, rows)
		}
		if has := strings.Contains(page, "\nall "); has != (rows >= 15) {
			t.Errorf("%d rows: the table is whole: %v", rows, has)
		}
		if has := strings.Contains(page, "headgate top"); has != (rows >= 22) {
			t.Errorf("%d rows: how to ask is said: %v", rows, has)
		}
	}
	if got := strings.Count(s.page(&b, 0), "it goes on"); got != demoHeard {
		t.Errorf("%d events are shown, want %d", got, demoHeard)
	}
	for line := range strings.Lines(s.page(&b, 0)) {
		if len([]rune(line)) > 100 {
			t.Errorf("a line of %d characters: %s", len([]rune(line)), line)
		}
	}
}

func TestSparks(t *testing.T) {
	if got := sparks([]float64{0, 0.5, 1, 1.04, 1.06}); got != " ▄██!" {
		t.Errorf("%q", got)
	}
}

// pressed is an audience that presses keys.
type pressed struct {
	demoPlain
	pressing chan byte
	restored bool
}

func (p *pressed) keys() (keys <-chan byte, restore func()) {
	return p.pressing, func() { p.restored = true }
}

// q ends a demo, other keys do not, and where no keys come any more it goes on.
func TestDemoIsQuit(t *testing.T) {
	d, _, _ := shownDemo()
	for _, keys := range []string{"xq", "Q", ""} {
		p := &pressed{demoPlain: demoPlain{w: io.Discard}, pressing: make(chan byte, len(keys))}
		for _, key := range []byte(keys) {
			p.pressing <- key
		}
		close(p.pressing)
		d.audience, d.watch, d.record = p, newDemoWatch(d.load, d.stage.pops), newDemoRecord(d.load)
		d.load.start(time.Now())
		over, quits := make(chan struct{}), 0
		end := sync.OnceFunc(func() { close(over) })
		if keys == "" {
			end()
		}
		late := time.AfterFunc(edgetest.Patience, end)
		d.tell(over, func() { quits++; end() })
		late.Stop()
		if want := min(1, len(keys)); quits != want || !p.restored {
			t.Errorf("%q: quit %d times, want %d; the terminal given back: %v", keys, quits, want, p.restored)
		}
	}
}

// The first dashboard is opened where there is a desktop and somebody who looks at a screen.
func TestDemoBrowses(t *testing.T) {
	d, _, _ := shownDemo()
	for _, c := range []struct {
		display  string
		audience demoAudience
		open     bool
		opens    bool
	}{
		{":0", &demoScreen{}, true, true},
		{":0", &demoScreen{}, false, false},
		{":0", &demoPlain{}, true, false},
		{"", &demoScreen{}, true, false},
	} {
		dir := t.TempDir()
		opened := filepath.Join(dir, "opened")
		if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\necho \"$1\" >"+opened+".part\nmv "+opened+".part "+opened+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir+":/usr/bin:/bin")
		d.audience, d.flags.open = c.audience, c.open
		began := d.browse(&app{&cli.App{Getenv: func(name string) string { return map[string]string{"DISPLAY": c.display}[name] }}})
		if began != c.opens {
			t.Errorf("%+v: opened %v", c, began)
		}
		if !began {
			continue
		}
		edgetest.Await(t, "it is opened", edgetest.Patience, func() bool {
			address, err := os.ReadFile(opened)
			return err == nil && string(address) == "http://127.0.0.1:20003/\n"
		})
	}
}
