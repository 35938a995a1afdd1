package main

import (
	"fmt"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/ring"
)

// openRing makes d's node count together with the others of its PoP, if there is a ring. Nothing is dialled yet.
func (d *daemon) openRing(cfg config.Config) error {
	if len(cfg.Ring.Servers) == 0 {
		return nil
	}
	servers := make([]ring.Server, len(cfg.Ring.Servers))
	for n, s := range cfg.Ring.Servers {
		servers[n] = ring.Server{Host: s.Address.Host, Port: s.Address.Port, Path: s.Address.Path, Weight: s.Weight}
	}
	placement, err := ring.NewPlacement(servers)
	if err != nil {
		return fmt.Errorf("ring.servers: %w", err)
	}
	if d.secret, err = ringSecret(cfg); err != nil {
		return err
	}
	if d.ring, err = ring.New(ring.Config{Servers: servers, Timeout: cfg.Ring.Timeout}); err != nil {
		return fmt.Errorf("ring.servers: %w", err)
	}
	d.pop = d.edge.Join(edge.PoPOptions{Tally: d.ring, Placement: placement, Secret: d.secret, Every: cfg.Ring.Flush})
	return nil
}

// ringSecret returns what makes the counters' names: the cluster's key, so that nobody without it can tell which counter
// is whose, and the PoP, so that two PoPs never share a counter. Without a key the names can be guessed.
func ringSecret(cfg config.Config) (key []byte, err error) {
	if cfg.Gossip.KeyFile != "" {
		if key, err = readKeyFile(cfg.Gossip.KeyFile); err != nil {
			return nil, err
		}
		if keys, err := parseKeys(key); err == nil {
			key = keys[0] // the others are on their way in or out
		}
	}
	return append(key, "\x00pop\x00"+cfg.PoP...), nil
}
