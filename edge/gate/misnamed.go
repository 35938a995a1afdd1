package gate

import "sync"

// maxMisnamed is the maximum number of bytes of a name that are kept.
const maxMisnamed = 64

// misnamed remembers the last unknown rule that was asked for. A proxy that fails open lets each
// such request pass, so the name belongs in the log. It is safe for concurrent use, and no request
// waits for another here.
type misnamed struct {
	mu    sync.Mutex // no other lock is taken under it
	name  [maxMisnamed]byte
	size  int
	count uint64 // since the last read
}

// note records name. Of two calls at the same moment one is skipped: the metrics count both.
func (m *misnamed) note(name []byte) {
	if !m.mu.TryLock() {
		return
	}
	m.count++
	m.size = copy(m.name[:], name)
	m.mu.Unlock()
}

// NoteMisnamed records that a request named a rule that is not in force, for doors that find this
// out before Decide.
func (g *Gate) NoteMisnamed(name []byte) { g.misnamed.note(name) }

// Misnamed returns the last unknown rule name since its last call, cut to 64 bytes, and about how
// many requests named one. The name consists of bytes from a client: escape it before showing it.
func (g *Gate) Misnamed() (name string, count uint64) {
	m := &g.misnamed
	m.mu.Lock()
	defer m.mu.Unlock()
	name, count = string(m.name[:m.size]), m.count
	m.size, m.count = 0, 0
	return name, count
}
