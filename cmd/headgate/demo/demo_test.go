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
	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/cmd/headgate/demo/screen"
	"github.com/headgate-dev/headgate/cmd/headgate/demo/story"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// aDemo returns a demo of a minute whose PoPs do not run, shown to an audience.
func aDemo(to audience) *demo {
	s := story.Story{Length: time.Minute}
	d := &demo{
		flags: flags{duration: time.Minute, open: true}, traffic: story.NewTraffic(s, 7),
		record: story.NewRecord(s), audience: to,
	}
	d.load = newLoad(d.traffic, d.record, [len(story.PoPs)]sender{})
	d.load.Start(time.Now())
	d.watch = newWatch(nil, nil)
	d.stage = &stage{PoPs: []*pop{{Admin: "127.0.0.1:20003"}}}
	return d
}

// pressed is an audience that presses keys.
type pressed struct {
	screen.Lines
	pressing chan byte
	pauses   int
	restored bool
}

func (p *pressed) Keys() (keys <-chan byte, restore func()) {
	return p.pressing, func() { p.restored = true }
}

func (p *pressed) Pause() { p.pauses++ }

// q ends a demo, p pauses its screen, other keys do nothing, and when no more keys come it goes on.
func TestKeys(t *testing.T) {
	for _, c := range []struct {
		keys          string
		quits, pauses int
	}{{"xq", 1, 0}, {"Q", 1, 0}, {"", 0, 0}, {"pP q", 1, 3}} {
		p := &pressed{Lines: screen.Lines{W: io.Discard}, pressing: make(chan byte, len(c.keys))}
		for _, key := range []byte(c.keys) {
			p.pressing <- key
		}
		close(p.pressing)
		over, quits := make(chan struct{}), 0
		end := sync.OnceFunc(func() { close(over) })
		if c.quits == 0 {
			end()
		}
		late := time.AfterFunc(edgetest.Patience, end)
		aDemo(p).show(over, func() { quits++; end() })
		late.Stop()
		if quits != c.quits || p.pauses != c.pauses || !p.restored {
			t.Errorf("%q: quit %d times, paused %d times, the terminal restored: %v", c.keys, quits,
				p.pauses, p.restored)
		}
	}
}

// The phase is shown once, and the state twice a second, to the end of the demo and not beyond.
func TestTurns(t *testing.T) {
	var out strings.Builder
	d := aDemo(&screen.Lines{W: &out})
	last := shown{phase: -1}
	for _, at := range []time.Duration{0, 100, 600, 1100, 1200, 4800, 5900, 59900, 60000, 61000} {
		d.turn(at*time.Millisecond, &last)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		switch fields := strings.Fields(line); {
		case fields[0] == "phase":
			got = append(got, clitest.Field(line, "name"))
		case strings.Contains(line, "pop=all"):
			got = append(got, clitest.Field(line, "t"))
		}
	}
	if got, want := strings.Join(got, " "), "calm 1.10 start 4.80 5.90 end 59.90"; got != want {
		t.Errorf("shown %s, want %s", got, want)
	}
}

// The first dashboard is opened where there is a desktop and a live screen.
func TestBrowses(t *testing.T) {
	live := screen.NewLive(cli.NewApp(io.Discard, io.Discard))
	for _, c := range []struct {
		display  string
		audience audience
		open     bool
		opens    bool
	}{
		{":0", live, true, true},
		{":0", live, false, false},
		{":0", &screen.Lines{}, true, false},
		{"", live, true, false},
	} {
		dir := t.TempDir()
		opened := filepath.Join(dir, "opened")
		if err := os.WriteFile(filepath.Join(dir, "xdg-open"),
			[]byte("#!/bin/sh\necho \"$1\" >"+opened+".part\nmv "+opened+".part "+opened+"\n"),
			0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir+":/usr/bin:/bin")
		d := aDemo(c.audience)
		d.flags.open = c.open
		began := d.browse(&app{&cli.App{Getenv: func(
			name string,
		) string {
			return map[string]string{"DISPLAY": c.display}[name]
		}}})
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
