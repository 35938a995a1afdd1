package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
)

// Bounds of the log: lines caused by strangers must not fill a disk.
const (
	linesASecond = 10   // of a site, in any second
	auditASecond = 1000 // of changes asked for, each of which is to have its line
	maxLogSites  = 1024 // places in the program that log; those after share a bound
)

// LogFlags say how serve logs, as given on the command line.
type LogFlags struct{ format, level string }

// AddLogFlags gives cmd the flags saying how to log.
func AddLogFlags(cmd *cobra.Command, f *LogFlags) {
	cmd.Flags().StringVar(&f.format, "log-format", "auto", "log as `FORMAT`: text, json, or auto "+
		"(text on a terminal)")
	cmd.Flags().StringVar(&f.level, "log-level", "info", "log from `LEVEL` on: debug, info, "+
		"warn, error")
}

var logLevels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn,
	"error": slog.LevelError,
}

// NewLogger returns a logger writing to w as f says, at most linesASecond of each site.
func NewLogger(w io.Writer, f LogFlags) (*slog.Logger, error) {
	level, ok := logLevels[strings.ToLower(First(f.level, "info"))]
	if !ok {
		return nil, fmt.Errorf("--log-level is debug, info, warn or error, not %s", Quote(f.level))
	}
	o := slog.HandlerOptions{Level: level}
	text := IsTerminal(w)
	switch f.format {
	case "", "auto":
	case "text", "json":
		text = f.format == "text"
	default:
		return nil, fmt.Errorf("--log-format is auto, text or json, not %s", Quote(f.format))
	}
	var lines slog.Handler = slog.NewJSONHandler(w, &o)
	if text {
		lines = slog.NewTextHandler(w, &o)
	}
	return slog.New(sampled{lines, newLogSites(linesASecond, new(atomic.Uint64))}), nil
}

// AuditOf returns a logger writing where log does, auditASecond lines at most. Lines left out count
// as log's.
func AuditOf(log *slog.Logger) *slog.Logger {
	if h, ok := log.Handler().(sampled); ok {
		return slog.New(sampled{h.Handler, newLogSites(auditASecond, h.sites.dropped)})
	}
	return log
}

// Unlogged returns the counter of log's lines left out; nil for a logger not of newLogger.
func Unlogged(log *slog.Logger) func() uint64 {
	if h, ok := log.Handler().(sampled); ok {
		return h.sites.dropped.Load
	}
	return nil
}

// sampled is a slog.Handler leaving out the lines above a site's bound.
type sampled struct {
	slog.Handler
	sites *logSites // shared by the handlers derived from one another
}

// Handle implements slog.Handler. The line after lines left out has their number.
func (h sampled) Handle(ctx context.Context, r slog.Record) error {
	left, ok := h.sites.take(r.PC, r.Time)
	if !ok {
		return nil
	}
	if left > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("suppressed", left))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h sampled) WithAttrs(a []slog.Attr) slog.Handler {
	return sampled{h.Handler.WithAttrs(a), h.sites}
}

// WithGroup implements slog.Handler.
func (h sampled) WithGroup(name string) slog.Handler {
	return sampled{h.Handler.WithGroup(name), h.sites}
}

// logSites remembers the last lines of each logging place of the program.
type logSites struct {
	most int        // lines of a site in any second
	mu   sync.Mutex // protects by and its values
	by   map[uintptr]*logSite

	dropped *atomic.Uint64
}

// logSite is a place: the times of the last lines, and the number left out since.
type logSite struct {
	at   []time.Time
	next int // the oldest of at
	left int
}

func newLogSites(most int, dropped *atomic.Uint64) *logSites {
	return &logSites{most: most, by: map[uintptr]*logSite{}, dropped: dropped}
}

// take reports whether the site at pc (0: not known) may log a line at now, and the number left out
// before.
func (s *logSites) take(pc uintptr, now time.Time) (left int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	site := s.by[pc]
	if site == nil && len(s.by) >= maxLogSites {
		pc = 0
		site = s.by[pc]
	}
	if site == nil {
		site = &logSite{at: make([]time.Time, s.most)}
		s.by[pc] = site
	}
	if oldest := site.at[site.next]; !oldest.IsZero() && now.Sub(oldest) < time.Second {
		site.left++
		s.dropped.Add(1)
		return 0, false
	}
	site.at[site.next] = now
	site.next = (site.next + 1) % s.most
	left, site.left = site.left, 0
	return left, true
}
