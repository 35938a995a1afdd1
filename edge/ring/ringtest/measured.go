package ringtest

import (
	"time"

	"github.com/headgate-dev/headgate/edge/ring"
)

// Measured is a Memory that also keeps statistics, as a *ring.Ring does: those that a test set.
type Measured struct {
	*Memory
	Figures []ring.ServerStats // by server; a test sets them before it shares the Measured
}

// Stats returns the figures that were set.
func (m *Measured) Stats() []ring.ServerStats { return m.Figures }

// Servers returns the two servers of NewMeasured: one on TCP, and one on a Unix socket with weight
// 3.
func Servers() []ring.Server {
	return []ring.Server{
		{Host: "192.0.2.1", Port: 11211, Weight: 1},
		{Path: "/run/mc.sock", Weight: 3},
	}
}

// NewMeasured returns Servers with figures of every kind: the first is well, the second has failed
// and is said to be down. Its last success is the present.
func NewMeasured() *Measured {
	m := &Measured{Memory: NewMemory(2), Figures: []ring.ServerStats{
		{Address: "192.0.2.1:11211", Up: true, Protocol: "meta", Ops: 100, LastSuccess: time.Now()},
		{
			Address: "/run/mc.sock", Ops: 50, Timeouts: 3, Opened: 2,
			LastError: "ring: /run/mc.sock: connect: refused",
		},
	}}
	m.Figures[1].Errors[ring.KindTimeout], m.Figures[1].Errors[ring.KindDown] = 7, 40
	return m
}
