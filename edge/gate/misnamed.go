package gate

import "sync"

// maxName is the maximum number of bytes of a kept name.
const maxName = 64

// lastMisnamed is the last name noted. Safe for concurrent use, and no request waits for another
// here. The zero lastMisnamed is empty.
type lastMisnamed struct {
	mu    sync.Mutex // no other lock is taken under it
	name  [maxName]byte
	size  int
	count uint64 // since the last Take
}

// Note records name. Of two calls at the same moment a call is skipped: the metrics count both.
func (m *lastMisnamed) Note(name []byte) {
	if !m.mu.TryLock() {
		return
	}
	defer m.mu.Unlock()
	m.count++
	m.size = copy(m.name[:], name)
}

// Take returns the last name since the last call, cut to 64 bytes, and about how many names there
// were.
func (m *lastMisnamed) Take() (name string, count uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name, count = string(m.name[:m.size]), m.count
	m.size, m.count = 0, 0
	return name, count
}
