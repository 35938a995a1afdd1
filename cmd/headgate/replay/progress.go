package replay

import (
	"fmt"
	"io"
	"os"

	"github.com/headgate-dev/headgate/cmd/headgate/accesslog"
	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
)

// progress shows how far a replay has come, on a terminal only. The zero progress shows nothing.
type progress struct {
	w     io.Writer // nil: nothing is shown
	total int64     // bytes of all logs as they lie on disk
	taken int64     // bytes of the logs already done
}

// newProgress returns a progress over logs showing itself on w if w is a terminal.
func newProgress(w io.Writer, logs []string) *progress {
	if !cli.IsTerminal(w) {
		return &progress{}
	}
	return &progress{w: w, total: sizeOf(logs)}
}

// sizeOf adds up the sizes of files; logs not seen are missing from the sum, and complained of at
// the open.
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

// done notes a log of so many bytes as done.
func (p *progress) done(bytes int64) { p.taken += bytes }

// clear removes the line.
func (p *progress) clear() {
	if p.w != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// writeDecision writes `unix_seconds  client  verdict  why`, with the time as in the log.
func (r *replay) writeDecision(rec *accesslog.Record, a gate.Decision) error {
	r.line = rec.AppendTime(r.line[:0])
	r.line = append(append(append(r.line, '\t'), rec.Client...), '\t')
	verdict := "allow"
	if a.Deny {
		verdict = "deny"
	}
	r.line = append(append(r.line, verdict...), '\t')
	r.line = append(append(r.line, whyOf(a.Why)...), '\n')
	if _, err := r.out.Write(r.line); err != nil {
		return fmt.Errorf("write decisions: %w", err)
	}
	return nil
}

// whyOf names the ground of a denial, byPolicy included.
func whyOf(why mitigation.Why) string {
	if why == byPolicy {
		return "policy"
	}
	return why.String()
}
