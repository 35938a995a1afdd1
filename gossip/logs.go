package gossip

import (
	"context"
	"log/slog"
	"strings"

	"github.com/headgate-dev/headgate/gossip/guard"
)

// logChars bounds a line of memberlist's, bytes.
const logChars = 400

// memberlistLog is memberlist's log writer; lines look like "[ERR] memberlist: text". All come from
// one place in the program, so the daemon's logger bounds how many are written.
type memberlistLog struct {
	log *slog.Logger
	c   *counters
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
