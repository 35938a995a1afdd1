package edge

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/headgate-dev/headgate/edge/private"
	"github.com/headgate-dev/headgate/gossip"
)

// clusterKeys returns the keys of the file at path, at least 1: the first is used to send, all are
// accepted. Without a file there are none. warnings say who else has access.
func clusterKeys(path string) (keys [][]byte, warnings []string, err error) {
	if path == "" {
		return nil, nil, nil
	}
	text, warnings, err := readKeyFile(path)
	if err != nil {
		return nil, nil, err
	}
	if keys, err = parseKeys(text); err != nil {
		return nil, nil, fmt.Errorf("gossip.key_file: %s: %w", path, err)
	}
	return keys, warnings, nil
}

// maxKeyFile bounds the key file, in bytes: 8 keys of 64 hexadecimal digits with line ends are 528.
const maxKeyFile = 1024

// readKeyFile reads the file at path. An empty file is an error: a mounted secret not arrived yet
// looks empty.
func readKeyFile(path string) (text []byte, warnings []string, err error) {
	text, warnings, err = private.Read(path, maxKeyFile)
	if err != nil {
		return nil, nil, fmt.Errorf("gossip.key_file: %w", err)
	}
	if len(text) == 0 {
		return nil, nil, fmt.Errorf("gossip.key_file: %s is empty", path)
	}
	return text, warnings, nil
}

// errKey is the error of a text other than a list of keys. The text is never quoted.
var errKey = errors.New("must hold 1 to 8 keys of 32 bytes, one a line: raw, in hexadecimal or " +
	"in base64 (openssl rand -base64 32)")

// parseKeys reads keys of 32 bytes in people's forms: the bytes alone, or a key a line, while keys
// are replaced.
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

// parseKey reads a key of 32 bytes; nil: text is none. The forms cannot be confused: 64 hexadecimal
// digits are 48 bytes as base64, and 44 characters of base64 are no bytes of hexadecimal.
func parseKey(text []byte) []byte {
	if key, err := hex.DecodeString(string(text)); err == nil && len(key) == gossip.KeyBytes {
		return key
	}
	if key, err := base64.StdEncoding.DecodeString(string(text)); err == nil &&
		len(key) == gossip.KeyBytes {
		return key
	}
	if len(text) == gossip.KeyBytes {
		return text
	}
	return nil
}
