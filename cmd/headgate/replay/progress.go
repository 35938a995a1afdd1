package replay

import (
	"fmt"
	"io"
	"os"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
)

// progress shows how far a replay has come, on a terminal only. The zero progress shows nothing.
type progress struct {
	w     io.Writer // nil: nothing is shown
	total int64     // bytes of all logs as they lie on disk
	taken int64     // bytes of the logs already done
}

// newProgress returns a progress over logs that shows itself on w if w is a terminal.
func newProgress(w io.Writer, logs []string) *progress {
	if !cli.IsTerminal(w) {
		return &progress{}
	}
	return &progress{w: w, total: sizeOf(logs)}
}

// sizeOf adds up the sizes of files; those it cannot see are missing from the sum, and complained
// of when they are opened.
func sizeOf(logs []string) (sum int64) {
	for _, name := range logs {
		if info, err := os.Stat(name); err == nil {
			sum += info.Size()
		}
	}
	return sum
}

// show repaints the line: bytes into the current log, requests decided so far.
func (p *progress) show(bytes, requests int64) {
	if p.w == nil {
		return
	}
	share := 100 * float64(p.taken+bytes) / float64(max(p.total, 1))
	fmt.Fprintf(p.w, "\r\x1b[K%3.0f %%  %s requests", min(share, 100), cli.Grouped(requests))
}

// done notes that a log of that many bytes is behind.
func (p *progress) done(bytes int64) { p.taken += bytes }

// clear removes the line.
func (p *progress) clear() {
	if p.w != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
