package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/gossip"
	"github.com/headgate-dev/headgate/mitigation"
)

// clusterKey returns the key by which the members know each other. Without a file, which only loopback allows, it is one
// that everybody on this machine can work out: it keeps nobody out, but nothing is ever taken in clear.
func clusterKey(cfg config.Config) ([]byte, error) {
	if cfg.Gossip.KeyFile == "" {
		key := sha256.Sum256([]byte("headgate on loopback"))
		return key[:], nil
	}
	text, err := readKeyFile(cfg.Gossip.KeyFile)
	if err != nil {
		return nil, err
	}
	key, err := parseKey(text)
	if err != nil {
		return nil, fmt.Errorf("gossip.key_file: %s: %w", cfg.Gossip.KeyFile, err)
	}
	return key, nil
}

// maxKeyFile bounds the cluster's key: 32 bytes, however they are written.
const maxKeyFile = 1024

func readKeyFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("gossip.key_file: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read from
	text, err := io.ReadAll(io.LimitReader(file, maxKeyFile+1))
	if err != nil {
		return nil, fmt.Errorf("gossip.key_file: %w", err)
	}
	if len(text) == 0 || len(text) > maxKeyFile {
		return nil, fmt.Errorf("gossip.key_file: holds %d bytes, not 1 to %d", len(text), maxKeyFile)
	}
	return text, nil
}

var errKey = errors.New("holds no key: want 32 bytes, or 64 hexadecimal digits, or 32 bytes in base64 (make one: openssl rand -base64 32)")

// parseKey reads a key of 32 bytes as people write it.
func parseKey(text []byte) ([]byte, error) {
	if len(text) == gossip.KeyBytes {
		return text, nil
	}
	text = bytes.TrimSpace(text)
	if len(text) == gossip.KeyBytes {
		return text, nil
	}
	if key, err := hex.DecodeString(string(text)); err == nil && len(key) == gossip.KeyBytes {
		return key, nil
	}
	if key, err := base64.StdEncoding.DecodeString(string(text)); err == nil && len(key) == gossip.KeyBytes {
		return key, nil
	}
	return nil, errKey
}

// rulesDigest is by what nodes see that they do not count by the same rules: 16 hexadecimal digits.
func rulesDigest(rules []mitigation.Rule) string {
	rules = slices.Clone(rules)
	slices.SortFunc(rules, func(a, b mitigation.Rule) int { return strings.Compare(a.Name, b.Name) })
	sum := sha256.New()
	for _, r := range rules {
		if r.Scope == mitigation.Global {
			fmt.Fprintf(sum, "%s %d %s %s %s %s\n", r.Name, r.Limit, r.Window, r.Action, r.BlockFor, r.Mode)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}
