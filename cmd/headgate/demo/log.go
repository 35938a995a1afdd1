package demo

import (
	"fmt"
	"io"
	"sync"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
)

// maxLogLines is the number of lines of the daemons' logs kept for the end; more are counted.
const maxLogLines = 50

// daemonLog is the daemons' log: written through, or kept until the screen is gone. Safe for
// concurrent use.
type daemonLog struct {
	Through io.Writer // nil: kept

	mu    sync.Mutex
	lines []string
	more  int
	ended bool
}

// Write takes a line.
func (l *daemonLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ended:
	case l.Through != nil:
		return l.Through.Write(line)
	case len(l.lines) < maxLogLines:
		l.lines = append(l.lines, string(line))
	default:
		l.more++
	}
	return len(line), nil
}

// End writes the kept lines to w. Later lines are dropped.
func (l *daemonLog) End(w io.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		fmt.Fprintln(w, cli.SafeLines(line))
	}
	if l.more > 0 {
		fmt.Fprintf(w, "… and %s more\n", cli.Count(l.more, "line"))
	}
	l.lines, l.more, l.ended = nil, 0, true
}
