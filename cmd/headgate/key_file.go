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

// clusterKeys returns the keys by which the members know each other: the first is used, all are accepted. Without a file,
// which only loopback allows, it is one that everybody on this machine can work out: it keeps nobody out, but nothing is
// ever taken in clear.
func clusterKeys(cfg config.Config) ([][]byte, error) {
	if cfg.Gossip.KeyFile == "" {
		key := sha256.Sum256([]byte("headgate on loopback"))
		return [][]byte{key[:]}, nil
	}
	text, err := readKeyFile(cfg.Gossip.KeyFile)
	if err != nil {
		return nil, err
	}
	keys, err := parseKeys(text)
	if err != nil {
		return nil, fmt.Errorf("gossip.key_file: %s: %w", cfg.Gossip.KeyFile, err)
	}
	return keys, nil
}

// maxKeyFile bounds the cluster's key: 32 bytes, however they are written.
const maxKeyFile = 1024

func readKeyFile(path string) ([]byte, error) {
	file, err := os.Open(path) //nolint:gosec // the operator names the file
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

var errKey = errors.New("want a key of 32 bytes: as they are, in hexadecimal or in base64 (openssl rand -base64 32), at most 8 of them a line each")

// parseKeys reads keys of 32 bytes as people write them: the bytes alone, or one key a line, while one is replaced by another.
func parseKeys(text []byte) (keys [][]byte, err error) {
	if len(text) == gossip.KeyBytes {
		return [][]byte{text}, nil
	}
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		key := parseKey(line)
		if key == nil || len(keys) == gossip.MaxKeys {
			return nil, errKey
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errKey
	}
	return keys, nil
}

// parseKey reads one key, nil when it is none.
func parseKey(text []byte) []byte {
	if key, err := hex.DecodeString(string(text)); err == nil && len(key) == gossip.KeyBytes {
		return key
	}
	if key, err := base64.StdEncoding.DecodeString(string(text)); err == nil && len(key) == gossip.KeyBytes {
		return key
	}
	if len(text) == gossip.KeyBytes {
		return text
	}
	return nil
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
