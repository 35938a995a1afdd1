package global

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/headgate-dev/headgate/mitigation"
)

// rulesDigest returns 16 hexadecimal digits that are equal on two nodes when their rules of scope
// global are: 8 bytes of the SHA-256 of name, limit, window, action, block_for, mode, fairness and
// burst of each, sorted by name. It goes to other members as metadata, and finds differences; it is
// no secret.
func rulesDigest(rules []mitigation.Rule) string {
	rules = slices.Clone(rules)
	// The order of a file is nobody's difference.
	slices.SortFunc(rules, func(a, b mitigation.Rule) int {
		return strings.Compare(a.Name, b.Name)
	})
	sum := sha256.New()
	for _, r := range rules {
		if r.Scope == mitigation.Global {
			fmt.Fprintf(sum, "%s %d %s %s %s %s\n", r.Name, r.Limit, r.Window,
				r.Action, r.BlockFor, r.Mode)
			// the default is no difference from versions before fairness
			if r.Fairness != mitigation.FairPoPs {
				fmt.Fprintf(sum, "fairness %s\n", r.Fairness)
			}
			// Lines only where they are used, here and below, so nodes of an older version agree on
			// rules it knows.
			if len(r.Ladder.Steps) > 0 {
				fmt.Fprintf(sum, "ladder %v %s\n", r.Ladder.Steps, r.Ladder.Forget)
			}
			if r.Siblings > 0 {
				fmt.Fprintf(sum, "siblings %d\n", r.Siblings)
			}
			if r.Scale > 0 {
				fmt.Fprintf(sum, "scale %d\n", r.Scale)
			}
			if r.Kind != mitigation.Window {
				fmt.Fprintf(sum, "%s %d\n", r.Kind, r.Burst)
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// announceRules has other members know when the rules have changed.
func (l *Link) announceRules() {
	if digest := rulesDigest(l.gate.Rules()); digest != l.meta.Rules {
		l.meta.Rules = digest
		_ = l.transport.SetMeta(l.meta) // its texts are short
	}
}

// Rekey makes keys, 32 bytes each and at least 1, those of the cluster: the first is used to send,
// all are accepted.
func (l *Link) Rekey(keys [][]byte) {
	// keys of another length, which no configuration lets through
	if err := l.transport.Rotate(keys[0], keys[1:]...); err != nil {
		l.options.Log.Error("gossip: the keys stay as they were", "error", err)
		return
	}
	l.mu.Lock()
	changed := !bytes.Equal(l.key, keys[0])
	if l.key = keys[0]; changed {
		l.coordinator.Rekey(l.key)
	}
	l.mu.Unlock()
	if changed {
		l.changed(l.transport.Members()) // the owner of a key follows from the first cluster key
	}
}
