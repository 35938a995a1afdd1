package demo

import (
	"fmt"
	"io"
	"sync"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
)

// demoSaidLines is how many lines of the daemons' logs are kept for the end; more are counted.
const demoSaidLines = 50

// demoSaid is the daemons' log: written through, or kept until the screen is gone. It may be used concurrently.
type demoSaid struct {
	through io.Writer // nil: kept

	mu    sync.Mutex
	lines []string
	more  int
	ended bool
}

// Write takes one line.
func (s *demoSaid) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
	case s.through != nil:
		return s.through.Write(line)
	case len(s.lines) < demoSaidLines:
		s.lines = append(s.lines, string(line))
	default:
		s.more++
	}
	return len(line), nil
}

// end writes the kept lines. Later ones are of no interest.
func (s *demoSaid) end(w io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.lines {
		fmt.Fprintln(w, cli.SafeLines(line))
	}
	if s.more > 0 {
		fmt.Fprintf(w, "… and %s more\n", cli.Count(s.more, "line"))
	}
	s.lines, s.more, s.ended = nil, 0, true
}
