package edge

import (
	"strings"
	"sync"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
)

// reloads puts configurations in force one after the other. They may be read at the same time, for
// a disk may be slow; none takes the place of one that began to be read later.
type reloads struct {
	mu     sync.Mutex // comes before the locks of the gate, the flusher and the link
	newest uint64     // number of the reload in force; 0: the start
}

// Reload puts the configuration in the file in force; a file with faults changes nothing. waiting
// names the settings that wait for a restart.
func (n *Node) Reload() (waiting []string, err error) {
	n.manager.Reloading()
	defer func() { n.manager.Ready(len(n.gate.Rules()), err) }()
	number := n.begun.Add(1)
	p, err := n.prepare(n.options.File, &n.started)
	if err != nil {
		n.refuse(number, err)
		return nil, err
	}
	n.warn(p)
	n.commit(number, p)
	n.log.Info("reloaded", "file", n.options.File)
	if len(p.waiting) > 0 {
		n.log.Warn("reloaded, but some settings need a restart", "settings", strings.Join(p.waiting, ", "))
	}
	return p.waiting, nil
}

// commit puts p in force, the number-th that was read. It cannot fail, and waits for nothing but
// other changes.
func (n *Node) commit(number uint64, p prepared) {
	n.reloads.mu.Lock()
	defer n.reloads.mu.Unlock()
	if number < n.reloads.newest {
		return
	}
	n.reloads.newest = number
	if n.flusher != nil {
		n.flusher.Rekey(p.ringSecret())
	}
	if n.link != nil {
		n.link.Rekey(p.gossipKeys())
	}
	n.admin.SetToken(p.token)
	n.gate.Reload(time.Now(), p.cfg.Rules)
}

// refuse notes why the number-th configuration that was read changes nothing: in the log, and, unless
// a later one is in force, in the gate, whose metrics and dashboard show it.
func (n *Node) refuse(number uint64, err error) {
	n.log.Error("reload refused, the old rules stay", "error", escapeLines(err.Error()))
	n.reloads.mu.Lock()
	defer n.reloads.mu.Unlock()
	if number > n.reloads.newest {
		n.gate.RefuseReload(err)
	}
}

// warn logs the warnings of p.
func (n *Node) warn(p prepared) {
	for _, w := range p.warnings {
		n.log.Warn(api.EscapeKey([]byte(w)))
	}
}

// escapeLines returns s fit for a log: bytes that are not printable ASCII as \xNN, with the line
// ends kept.
func escapeLines(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, line := range lines {
		lines[i] = api.EscapeKey([]byte(strings.ReplaceAll(line, "\t", "  ")))
	}
	return strings.Join(lines, "\n")
}
