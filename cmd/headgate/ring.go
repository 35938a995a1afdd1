package main

import (
	"fmt"
	"io"
	"os"

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
	secret, err := ringSecret(cfg)
	if err != nil {
		return err
	}
	if d.ring, err = ring.New(ring.Config{Servers: servers, Timeout: cfg.Ring.Timeout}); err != nil {
		return fmt.Errorf("ring.servers: %w", err)
	}
	d.pop = d.edge.Join(edge.PoPOptions{Tally: d.ring, Placement: placement, Secret: secret, Every: cfg.Ring.Flush})
	return nil
}

// maxKeyFile bounds the cluster's key: 32 bytes, however they are written.
const maxKeyFile = 1024

// ringSecret returns what makes the counters' names: the cluster's key, so that nobody without it can tell which counter
// is whose, and the PoP, so that two PoPs never share a counter. Without a key the names can be guessed.
func ringSecret(cfg config.Config) ([]byte, error) {
	var key []byte
	if cfg.Gossip.KeyFile != "" {
		file, err := os.Open(cfg.Gossip.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("gossip.key_file: %w", err)
		}
		defer file.Close() //nolint:errcheck // only read from
		if key, err = io.ReadAll(io.LimitReader(file, maxKeyFile+1)); err != nil {
			return nil, fmt.Errorf("gossip.key_file: %w", err)
		}
		if len(key) == 0 || len(key) > maxKeyFile {
			return nil, fmt.Errorf("gossip.key_file: holds %d bytes, not 1 to %d", len(key), maxKeyFile)
		}
	}
	return append(key, "\x00pop\x00"+cfg.PoP...), nil
}
