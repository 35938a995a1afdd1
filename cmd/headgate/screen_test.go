package main

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"
)

// screen ends a live command once it has drawn often enough.
type screen struct {
	drawn strings.Builder
	left  int
	stop  context.CancelFunc
}

// Write is a terminal's.
func (s *screen) Write(p []byte) (int, error) {
	if strings.Contains(string(p), clearBelow) {
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
	a := newApp(tty, io.Discard)
	a.getenv = func(name string) string { return b.env[name] }
	a.now = func() time.Time { return noon }
	if code := a.run(ctx, []string{"top", "--live", "--every", "1ms"}); code != exitOK {
		t.Errorf("exit %d", code)
	}
	got := tty.drawn.String()
	if !strings.HasPrefix(got, enterScreen+home+"headgate top   ") || !strings.HasSuffix(got, clearBelow+leaveScreen) {
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
	a := newApp(tty, io.Discard)
	if code := a.run(ctx, []string{"top", "--live", "--admin", "127.0.0.1:1"}); code != exitOK {
		t.Errorf("exit %d", code)
	}
	if n := strings.Count(tty.drawn.String(), "no headgate answers at 127.0.0.1:1"); n != 2 {
		t.Errorf("says so %d times, want 2: %q", n, tty.drawn.String())
	}
}

func TestNextDrawing(t *testing.T) {
	tick := make(chan time.Time, 1)
	keys := make(chan byte, 2)
	order := "offered"
	keys <- 'x'
	keys <- 'q'
	if nextDrawing(t.Context(), nil, keys, &order) {
		t.Error("q does not quit")
	}
	tick <- noon
	if !nextDrawing(t.Context(), tick, nil, &order) || order != "offered" {
		t.Error("a tick does not draw")
	}
	for key, want := range map[byte]string{'o': "offered", 'a': "admitted", 'S': "share", 'r': "rule"} {
		keys <- key
		if !nextDrawing(t.Context(), nil, keys, &order) || order != want {
			t.Errorf("%c sorts by %s, want %s at once", key, order, want)
		}
	}
	close(keys)
	tick <- noon
	if !nextDrawing(t.Context(), tick, keys, &order) {
		t.Error("a terminal without keys ends it")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // whichever comes first
		ticks := make(chan time.Time, 1)
		ticks <- noon
		if nextDrawing(ctx, nil, nil, &order) || nextDrawing(ctx, ticks, nil, &order) {
			t.Fatal("goes on after the end")
		}
	}
}

func TestFrameCutsLines(t *testing.T) {
	for line, want := range map[string]string{
		"abcdef":                "abc",
		"äöüß":                  "äöü",
		"\x1b[31mabcdef\x1b[0m": "\x1b[31mabc\x1b[0m",
		"ab":                    "ab",
	} {
		if got := cut(line, 3); got != want {
			t.Errorf("cut(%q, 3) = %q, want %q", line, got, want)
		}
	}
	if got := frame("a\nb\n", 0); got != home+"a"+clearLine+"\r\nb"+clearLine+"\r\n"+clearBelow {
		t.Errorf("frame: %q", got)
	}
}

// The other end of a pseudo-terminal is one itself.
func terminal(t *testing.T) *os.File {
	t.Helper()
	file, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal to be had: %v", err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

func TestColoursAreForTerminals(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	tty := terminal(t)
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close() //nolint:errcheck // nothing was written
	if a := newApp(tty, io.Discard); !a.colour || a.paint(red, "x") != "\x1b[31mx\x1b[0m" {
		t.Error("no colours on a terminal")
	}
	for _, w := range []io.Writer{null, &strings.Builder{}} {
		if a := newApp(w, io.Discard); a.colour || a.paint(red, "x") != "x" {
			t.Errorf("colours on a %T that is no terminal", w)
		}
	}
	t.Setenv("NO_COLOR", "1")
	if newApp(tty, io.Discard).colour {
		t.Error("colours although NO_COLOR is set")
	}
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "dumb")
	if newApp(tty, io.Discard).colour {
		t.Error("colours on a dumb terminal")
	}
}

func TestKeystrokesAreGivenBack(t *testing.T) {
	restore, err := readKeystrokes(terminal(t))
	if err != nil {
		t.Fatal(err)
	}
	restore()
	if _, err := readKeystrokes(nil); err == nil {
		t.Error("reads keys of nothing")
	}
}

func TestTableAligns(t *testing.T) {
	var out strings.Builder
	a := newApp(&out, io.Discard)
	a.colour = true
	a.writeTable(&out, [][]cell{header("KEY", "N"), {left("é"), number("10")}, {{text: "abcd", style: red}, number("7")}})
	want := "\x1b[2mKEY\x1b[0m    \x1b[2mN\x1b[0m\né     10\n\x1b[31mabcd\x1b[0m   7\n"
	if out.String() != want {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                     "0s",
		250 * time.Millisecond:                "250ms",
		42 * time.Second:                      "42s",
		1500 * time.Millisecond:               "1.5s",
		10 * time.Minute:                      "10m",
		9*time.Minute + 30*time.Second:        "9m30s",
		time.Hour + 59*time.Second:            "1h1m",
		26*time.Hour + 5*time.Minute:          "1d2h",
		-3 * time.Second:                      "-3s",
		59*time.Second + 980*time.Millisecond: "1m0s",
	} {
		if got := span(d); got != want {
			t.Errorf("span(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 keys", 1: "1 key", 2: "2 keys", 8799: "8,799 keys"} {
		if got := count(n, "key"); got != want {
			t.Errorf("count(%d) = %q, want %q", n, got, want)
		}
	}
}

func FuzzSafe(f *testing.F) {
	for _, s := range []string{"", "203.0.113.7", hostileKey, "\xff\xfe", "é€𝄞", "\u0085\u009b31m", "a\\x00", "\u200b\u2066"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range safe(s) {
			if !unicode.IsPrint(r) {
				t.Errorf("safe(%q) holds %U", s, r)
			}
		}
		if plainASCII := !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }); plainASCII && safe(s) != s {
			t.Errorf("safe(%q) = %q", s, safe(s))
		}
	})
}
