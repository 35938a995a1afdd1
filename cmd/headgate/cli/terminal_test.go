package cli

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
)

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
	if got := Frame("a\nb\n", 0); got != Home+"a"+ClearLine+"\r\nb"+ClearLine+"\r\n"+ClearBelow {
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
	if a := NewApp(tty, io.Discard); !a.Colour || a.Paint(Red, "x") != "\x1b[31mx\x1b[0m" {
		t.Error("no colours on a terminal")
	}
	for _, w := range []io.Writer{null, &strings.Builder{}} {
		if a := NewApp(w, io.Discard); a.Colour || a.Paint(Red, "x") != "x" {
			t.Errorf("colours on a %T that is no terminal", w)
		}
	}
	t.Setenv("NO_COLOR", "1")
	if NewApp(tty, io.Discard).Colour {
		t.Error("colours although NO_COLOR is set")
	}
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "dumb")
	if NewApp(tty, io.Discard).Colour {
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
	a := NewApp(&out, io.Discard)
	a.Colour = true
	a.WriteTable(&out, [][]Cell{
		Header("KEY", "N"),
		{Left("é"), Number("10")},
		{{Text: "abcd", Style: Red}, Number("7")},
	})
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
		if got := Span(d); got != want {
			t.Errorf("span(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0 keys", 1: "1 key", 2: "2 keys",
		8799: "8,799 keys",
	} {
		if got := Count(n, "key"); got != want {
			t.Errorf("count(%d) = %q, want %q", n, got, want)
		}
	}
}

func FuzzSafe(f *testing.F) {
	for _, s := range []string{
		"", "203.0.113.7", clitest.HostileKey, "\xff\xfe", "é€𝄞",
		"\u0085\u009b31m", "a\\x00", "\u200b\u2066",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range Safe(s) {
			if !unicode.IsPrint(r) {
				t.Errorf("safe(%q) holds %U", s, r)
			}
		}
		if plainASCII := !strings.ContainsFunc(s, func(r rune) bool {
			return r < ' ' ||
				r > '~'
		}); plainASCII && Safe(s) != s {
			t.Errorf("safe(%q) = %q", s, Safe(s))
		}
	})
}
