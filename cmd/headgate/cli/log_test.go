package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
)

// logged returns what write logs, as f says, and how many lines were left out.
func logged(t *testing.T, f LogFlags, write func(*slog.Logger)) (lines []string, dropped uint64) {
	t.Helper()
	var out strings.Builder
	log, err := NewLogger(&out, f)
	if err != nil {
		t.Fatal(err)
	}
	write(log)
	for line := range strings.Lines(out.String()) {
		lines = append(lines, line)
	}
	return lines, Unlogged(log)()
}

// TestLogIsSampled checks that no site logs more than 10 lines in any second, that other sites
// still do, and that the number of lines left out is logged.
func TestLogIsSampled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		lines, dropped := logged(t, LogFlags{}, func(log *slog.Logger) {
			began := time.Now()
			for n := range 5000 { // five seconds
				log.With("n", n).Info("one site", "key", "a\nb\x1b[2J")
				time.Sleep(time.Millisecond)
			}
			if took := time.Since(began); took != 5*time.Second {
				t.Errorf("took %v", took)
			}
			log.Warn("another")
			slog.NewLogLogger(log.Handler(), slog.LevelWarn).Print("a third, not known")
		})
		var suppressed, others int
		for _, line := range lines {
			var v struct {
				Time       time.Time
				Msg        string
				Suppressed int
			}
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			if v.Msg != "one site" {
				others++
				continue
			}
			at = append(at, v.Time)
			suppressed += v.Suppressed
		}
		if len(at) != 5*linesASecond || others != 2 || dropped != 5000-5*linesASecond {
			t.Errorf("%d lines and %d others, %d left out", len(at), others, dropped)
		}
		if left := int(dropped) - suppressed; left < 0 || left > 1000 {
			t.Errorf("%d left out, %d told", dropped, suppressed)
		}
		for n := linesASecond; n < len(at); n++ {
			if gone := at[n].Sub(at[n-linesASecond]); gone < time.Second {
				t.Fatalf("11 lines within %v", gone)
			}
		}
	})
}

// TestAuditIsNotSampled: each change that was asked for has its line, up to a bound of its own.
func TestAuditIsNotSampled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lines, dropped := logged(t, LogFlags{}, func(log *slog.Logger) {
			audit := AuditOf(log)
			for n := range auditASecond + 6 {
				if n == auditASecond+5 {
					time.Sleep(time.Second)
				}
				audit.Info("changed")
			}
		})
		if len(lines) != auditASecond+1 || dropped != 5 ||
			!strings.Contains(lines[auditASecond], `"suppressed":5`) {
			t.Errorf("%d lines, %d left out, the last %s", len(lines), dropped, lines[len(lines)-1])
		}
	})
	if log := slog.New(slog.DiscardHandler); AuditOf(log) != log {
		t.Error("another logger is not taken as it is")
	}
}

// TestLogSitesAreBounded checks that sites beyond those remembered share a bound.
func TestLogSitesAreBounded(t *testing.T) {
	t.Parallel()
	s := newLogSites(linesASecond, new(atomic.Uint64))
	allowed := 0
	for pc := range uintptr(3 * maxLogSites) {
		if _, ok := s.take(pc, clitest.Noon); ok {
			allowed++
		}
	}
	if most := maxLogSites + linesASecond; allowed > most || allowed < maxLogSites ||
		len(s.by) > maxLogSites {
		t.Errorf("%d lines of %d sites, %d remembered", allowed, 3*maxLogSites, len(s.by))
	}
}

// TestLogFormats checks the formats and levels there are, and the words for others.
func TestLogFormats(t *testing.T) {
	t.Parallel()
	say := func(log *slog.Logger) {
		for _, level := range []slog.Level{
			slog.LevelDebug, slog.LevelInfo, slog.LevelWarn,
			slog.LevelError,
		} {
			log.Log(context.Background(), level, "said\nby a \x1b[2J stranger")
		}
	}
	for f, want := range map[LogFlags]string{
		{"", ""}: "3 JSON", {"auto", "info"}: "3 JSON", {"json", "debug"}: "4 JSON",
		{"text", "warn"}: "2 text", {"text", "ERROR"}: "1 text",
	} {
		lines, _ := logged(t, f, say)
		kind := "text"
		if json.Valid([]byte(lines[0])) {
			kind = "JSON"
		}
		if got := fmt.Sprint(len(lines), " ", kind); got != want ||
			strings.ContainsRune(lines[0], '\x1b') {
			t.Errorf("%+v: %s, want %s: %q", f, got, want, lines)
		}
	}
	for f, want := range map[LogFlags]string{
		{"xml", "info"}: `--log-format is auto, text or json, not "xml"`, {
			"text",
			"loud",
		}: `--log-level is debug, info, warn or error, not "loud"`,
		{"", "info+2"}: `--log-level is debug, info, warn or error, not "info+2"`,
	} {
		if _, err := NewLogger(&strings.Builder{}, f); err == nil || err.Error() != want {
			t.Errorf("%+v: %v, want %s", f, err, want)
		}
	}
}
