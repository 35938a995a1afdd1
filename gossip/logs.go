package gossip

import (
	"context"
	"log"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/headgate-dev/headgate/gossip/guard"
)

// At most logBurst lines at once and logRate a second afterwards: no more than 10 in any second.
const (
	logBurst = 5
	logRate  = 5
	// logChars bounds a line of memberlist's, bytes.
	logChars = 400
)

// limited is a slog.Handler passing a few lines a second and counting the others.
type limited struct {
	slog.Handler
	l *lineLimit // shared by the handlers derived from one another
}

// lineLimit is the bound of limited, with the suppressed lines.
type lineLimit struct {
	mu         sync.Mutex // protects what follows
	lines      guard.Bucket
	suppressed int
	c          *counters
}

// limitLog returns a logger writing at most 10 lines a second to l.
func limitLog(l *slog.Logger, c *counters) *slog.Logger {
	return slog.New(limited{l.Handler(), &lineLimit{
		lines: guard.NewBucket(logRate, logBurst),
		c:     c,
	}})
}

// Handle implements slog.Handler. The next line carries the number of suppressed lines.
func (h limited) Handle(ctx context.Context, r slog.Record) error {
	suppressed, ok := h.l.take(r.Time)
	if !ok {
		return nil
	}
	if suppressed > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("suppressed", suppressed))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h limited) WithAttrs(a []slog.Attr) slog.Handler {
	return limited{h.Handler.WithAttrs(a), h.l}
}

// WithGroup implements slog.Handler.
func (h limited) WithGroup(name string) slog.Handler {
	return limited{h.Handler.WithGroup(name), h.l}
}

// take takes a token, and returns the number of lines suppressed before.
func (l *lineLimit) take(now time.Time) (suppressed int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.lines.Take(now) {
		l.suppressed++
		l.c.drop(guard.Log)
		return 0, false
	}
	suppressed, l.suppressed = l.suppressed, 0
	return suppressed, true
}

// memberlistLog is memberlist's log writer; lines look like "[ERR] memberlist: text".
type memberlistLog struct {
	log *slog.Logger
	c   *counters
}

// newMemberlistLog returns memberlist's logger.
func newMemberlistLog(l *slog.Logger, c *counters) *log.Logger {
	return log.New(memberlistLog{l, c}, "", 0)
}

// Write implements io.Writer: a call is a line.
func (w memberlistLog) Write(line []byte) (int, error) {
	text := string(line[:min(len(line), logChars)])
	if w.count(text); strings.Contains(text, "Conflicting address") {
		return len(line), nil // judgeClaims looks into it
	}
	level, text := splitLevel(strings.TrimSpace(text))
	w.log.Log(context.Background(), level, "gossip: "+text)
	return len(line), nil
}

// count counts events only logged by memberlist.
func (w memberlistLog) count(text string) {
	switch {
	case strings.Contains(text, "Decrypt packet failed"):
		w.c.drop(guard.Key)
	case strings.Contains(text, "failed to receive"), strings.Contains(text, "discarding stream"):
		w.c.drop(guard.Stream)
	case strings.Contains(text, "handler queue full"):
		w.c.drop(guard.Backlog)
	}
}

// splitLevel splits "[WARN] memberlist: " off a line. An error of memberlist is a warning here:
// about a packet or a peer.
func splitLevel(text string) (slog.Level, string) {
	level := slog.LevelWarn
	if name, rest, ok := strings.Cut(text, "] "); ok && strings.HasPrefix(name, "[") {
		text = strings.TrimPrefix(rest, "memberlist: ")
		switch name {
		case "[DEBUG":
			level = slog.LevelDebug
		case "[INFO":
			level = slog.LevelInfo
		}
	}
	return level, text
}
