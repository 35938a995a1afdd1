package global

import (
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// snapshot returns which counts of a key's log are whose. No count of the key is merged while read
// reads the log.
func (l *Link) snapshot(rule string, key []byte, read func()) control.Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	read()
	return l.coordinator.Snapshot(rule, key)
}

// restore takes back the snapshot of a key, whose slot was made at since.
func (l *Link) restore(since window.Instant, rule string, key []byte, s control.Snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.coordinator.Restore(since, rule, key, s)
}
