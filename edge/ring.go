package edge

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/headgate-dev/headgate/edge/pop"
	"github.com/headgate-dev/headgate/edge/ring"
)

// openRing has the node count together with the others of the PoP, if there is a ring. Nothing is
// dialled yet.
func (n *Node) openRing(p prepared) error {
	cfg := p.cfg
	if len(cfg.Ring.Servers) == 0 {
		return nil
	}
	servers := make([]ring.Server, len(cfg.Ring.Servers))
	for i, s := range cfg.Ring.Servers {
		servers[i] = ring.Server{
			Host: s.Address.Host, Port: s.Address.Port,
			Path: s.Address.Path, Weight: s.Weight,
		}
	}
	// By servers' spelling, and not by DNS: all nodes must find the same place for a counter.
	placement, err := ring.NewPlacement(servers)
	if err != nil {
		return fmt.Errorf("ring.servers: %w", err)
	}
	if n.ring, err = ring.New(ring.Config{
		Servers: servers,
		Timeout: cfg.Ring.Timeout,
	}); err != nil {
		return fmt.Errorf("ring.servers: %w", err)
	}
	phase := time.Duration(binary.LittleEndian.Uint64(n.phase[:]) % uint64(cfg.Ring.Flush))
	n.flusher = pop.New(n.gate, pop.Options{
		Tally: n.ring, Placement: placement, Secret: p.ringSecret(), Every: cfg.Ring.Flush,
		Phase: phase, Rest: n.giveWay,
	})
	return nil
}

// giveWay lets others run, between parts of a flush. For the goroutine of the flusher.
func (n *Node) giveWay() {
	_ = n.rest.GiveWay() // it cannot fail before it is closed, and a flush goes on without
}
