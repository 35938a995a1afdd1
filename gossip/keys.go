package gossip

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/memberlist"
)

var errNoKey = errors.New("key: one of 32 bytes is required to listen beyond loopback or to join " +
	"others")

// newKeyring returns the keyring for a Config. random: the key was drawn here, unknown to other
// nodes.
func newKeyring(cfg Config, loopback bool) (ring *memberlist.Keyring, random bool, err error) {
	key := cfg.Key
	if len(key) == 0 {
		if !loopback || len(cfg.Join) > 0 || len(cfg.Keys) > 0 {
			return nil, false, errNoKey
		}
		key, random = make([]byte, KeyBytes), true
		_, _ = rand.Read(key) // never fails
	}
	if err := checkKeys(key, cfg.Keys); err != nil {
		return nil, false, err
	}
	ring, err = memberlist.NewKeyring(cfg.Keys, key)
	return ring, random, err
}

// checkKeys checks the number and the length of the keys.
func checkKeys(primary []byte, others [][]byte) error {
	if 1+len(others) > MaxKeys {
		return fmt.Errorf("keys: %d, at most %d", 1+len(others), MaxKeys)
	}
	for i, k := range append([][]byte{primary}, others...) {
		if len(k) != KeyBytes {
			return fmt.Errorf("key %d: %d bytes, want %d", i+1, len(k), KeyBytes)
		}
	}
	return nil
}

// Rotate makes primary the key this node encrypts with, and accepts primary and others from peers,
// no other key. A cluster changes keys without loss in three rounds over all nodes: Rotate(old,
// new), Rotate(new, old), Rotate(new). An error leaves the keys unchanged.
func (n *Node) Rotate(primary []byte, others ...[]byte) error {
	if err := checkKeys(primary, others); err != nil {
		return fmt.Errorf("gossip: %w", err)
	}
	n.rotating.Lock()
	defer n.rotating.Unlock()
	keep := append([][]byte{primary}, others...)
	for _, k := range keep {
		if err := n.keyring.AddKey(bytes.Clone(k)); err != nil {
			return fmt.Errorf("gossip: add a key: %w", err)
		}
	}
	if err := n.keyring.UseKey(primary); err != nil {
		return fmt.Errorf("gossip: use the new key: %w", err)
	}
	return n.dropKeys(keep)
}

// dropKeys removes all keys but keep; the first of keep is the primary. RemoveKey shifts the keys
// behind the removed in a slice held by readers, so the keys to drop are moved to the end first.
func (n *Node) dropKeys(keep [][]byte) error {
	kept := func(k []byte) bool {
		return slices.ContainsFunc(keep, func(x []byte) bool { return bytes.Equal(x, k) })
	}
	if !slices.ContainsFunc(n.keyring.GetKeys(), func(k []byte) bool { return !kept(k) }) {
		return nil
	}
	for _, k := range slices.Backward(keep) {
		if err := n.keyring.UseKey(k); err != nil {
			return fmt.Errorf("gossip: order the keys: %w", err)
		}
	}
	for _, k := range slices.Backward(n.keyring.GetKeys()) {
		if kept(k) {
			break
		}
		if err := n.keyring.RemoveKey(k); err != nil {
			return fmt.Errorf("gossip: remove an old key: %w", err)
		}
	}
	return nil
}
