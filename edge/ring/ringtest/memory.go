package ringtest

import (
	"context"
	"sync"

	"github.com/headgate-dev/headgate/edge/ring"
)

// Memory adds up in place of the servers of a ring. Its methods may be called concurrently.
type Memory struct {
	mu      sync.Mutex
	totals  []map[ring.Key]uint64 // by server
	down    []bool                // by server
	distort func(op *ring.Op)     // nil: answers are true
}

// NewMemory returns so many servers, at least 1, that are up and hold no counters.
func NewMemory(servers int) *Memory {
	m := &Memory{down: make([]bool, servers)}
	for range servers {
		m.totals = append(m.totals, map[ring.Key]uint64{})
	}
	return m
}

// Servers returns the number of servers.
func (m *Memory) Servers() int { return len(m.totals) }

// Up reports whether server was not set down.
func (m *Memory) Up(server int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.down[server]
}

// Do answers every operation at once, as (*ring.Ring).Do does. An operation without a delta reads 0
// where there is no counter.
func (m *Memory) Do(_ context.Context, ops []ring.Op) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n := range ops {
		m.answer(&ops[n])
	}
}

func (m *Memory) answer(op *ring.Op) {
	if m.down[op.Server] {
		op.Err = ring.ErrDown
		return
	}
	if op.Delta > 0 {
		m.totals[op.Server][op.Key] += op.Delta
	}
	op.Total = m.totals[op.Server][op.Key]
	if m.distort != nil {
		m.distort(op)
	}
}

// SetDown makes server fail every operation, or answer again with the counters it had.
func (m *Memory) SetDown(server int, down bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down[server] = down
}

// SetAllDown is SetDown for every server.
func (m *Memory) SetAllDown(down bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for server := range m.down {
		m.down[server] = down
	}
}

// Restart makes server forget every counter.
func (m *Memory) Restart(server int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.totals[server])
}

// Overwrite sets every counter of server to total, as a server would whose memory is somebody
// else's.
func (m *Memory) Overwrite(server int, total uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.totals[server] {
		m.totals[server][key] = total
	}
}

// Distort has f see every operation that a server answered, and change Total or set Err, until
// Distort is called again; nil ends it. The counters stay true. f must not call a method of m.
func (m *Memory) Distort(f func(op *ring.Op)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.distort = f
}
