package edge

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/private"
	"github.com/headgate-dev/headgate/edge/rls"
	"github.com/headgate-dev/headgate/edge/state"
	"github.com/headgate-dev/headgate/mitigation"
)

// prepared is a configuration with everything needed from the disk, read and checked: every fault
// has been found, so prepared can be put in force without a wait or a failure. Never changed.
//
//	headgate.yaml ─┐
//	key file ──────┼─► prepare ─► prepared ─► New, or Node.commit
//	token file ────┘   may wait,              may not
//	                   holds no lock
type prepared struct {
	cfg config.Config
	// of the cluster, 32 bytes each; the first is used to send. nil: no file is named, or needed
	keys     [][]byte
	policies *policy.Engine // nil: there are none
	limits   *rls.Tree      // of rls.files; nil: there are none
	token    string         // of the admin listener; "": none
	password string         // of Redis clients; "": none

	warnings []string // for the operator, a sentence each
	waiting  []string // settings that differ from those in force, and wait for a restart
}

// prepare reads the configuration in file ("": the built-in configuration) and the named files.
// started is the configuration of the node's start, nil before the start: settings fixed at the
// start keep started's values.
func prepare(file string, started *config.Config) (prepared, error) {
	cfg, err := config.Read(file)
	if err != nil {
		return prepared{}, err
	}
	return prepareConfig(cfg, started)
}

// prepareConfig is prepare of a configuration read.
func prepareConfig(cfg config.Config, started *config.Config) (p prepared, err error) {
	p.cfg = cfg
	if started != nil {
		p.cfg, p.waiting = config.Keep(*started, p.cfg)
		if err := checkOpen(p.cfg); err != nil {
			return prepared{}, err
		}
	}
	if p.limits, err = config.LoadRLS(&p.cfg); err != nil {
		return prepared{}, err
	}
	if err := p.readSecrets(); err != nil {
		return prepared{}, err
	}
	for _, w := range p.cfg.Warnings {
		text := w.Path + ": " + w.Message
		if w.Path == "" { // of a file of limits: its message names the descriptor
			text = w.Message
		}
		p.warnings = append(p.warnings, text)
	}
	p.warnings = append(p.warnings, config.ScopeWarnings(&p.cfg)...)
	return p, nil
}

// readSecrets reads the files named in p's configuration.
func (p *prepared) readSecrets() (err error) {
	var ofKeys, ofToken, ofPassword []string
	// A node alone needs the key for the digests in keys, held by the state over a restart.
	if p.counts() || p.cfg.Gossip.KeyFile != "" && len(p.cfg.Policies.Policies) > 0 {
		if p.keys, ofKeys, err = clusterKeys(p.cfg.Gossip.KeyFile); err != nil {
			return err
		}
	}
	if p.token, ofToken, err = private.Token(p.cfg.AdminTokenFile); err != nil {
		return err
	}
	if p.password, ofPassword, err = private.Password(p.cfg.RESP.PasswordFile); err != nil {
		return fmt.Errorf("resp.password_file: %w", err)
	}
	p.warnings = slices.Concat(ofKeys, ofToken, ofPassword)
	return nil
}

// loadPolicies makes p's policies, and reads the files of their sets, by force also those that
// shrank. Possibly waits for the disk.
func (n *Node) loadPolicies(p *prepared, force bool) (err error) {
	some := len(p.cfg.Policies.Policies)+len(p.cfg.Policies.Numbered) > 0
	if !some && p.cfg.Surge.Sample == 0 {
		return nil
	}
	if !n.kept && n.started.StateDir != "" && len(p.keys) == 0 {
		n.secret, n.kept = state.DigestKey(n.started.StateDir, n.secret, n.log), true
	}
	if some {
		p.policies, err = config.ReloadPolicies(&p.cfg, policy.Options{
			Key: p.digestKey(n.secret), Before: n.engine(), Force: force, Now: wall(),
		})
	}
	return err
}

// engine returns the policies in force, nil for none.
func (n *Node) engine() *policy.Engine {
	n.reloads.mu.Lock()
	defer n.reloads.mu.Unlock()
	return n.reloads.file.policies
}

// rules returns p's rules, with the numbers of their keys.
func (p *prepared) rules() []mitigation.Rule {
	rules := p.cfg.AllRules()
	if p.policies != nil {
		p.policies.Numbered(rules)
	}
	return rules
}

// digests returns p's digest key for the state.
func (n *Node) digests(p *prepared) state.Digests {
	return state.Digests{Name: state.NameOf(p.digestKey(n.secret)), Cluster: len(p.keys) > 0}
}

// digestKey returns the key of the digests standing for secrets in counted keys: the same on all
// nodes with the same key file, else the process's own.
func (p *prepared) digestKey(process [32]byte) [32]byte {
	if len(p.keys) == 0 {
		return process
	}
	return sha256.Sum256(slices.Concat([]byte("headgate keys of requests\x00"), p.keys[0]))
}

// counts reports whether p's node counts together with others, and so needs the cluster's keys.
func (p *prepared) counts() bool {
	return len(p.cfg.Ring.Servers) > 0 || !p.cfg.Gossip.Bind.IsZero()
}

// checkOpen refuses a configuration with a listener open to everybody: c's listeners are from the
// start, and c's files are the files named now.
func checkOpen(c config.Config) error {
	if c.Gossip.KeyFile == "" && !c.Gossip.Bind.IsZero() && !c.Gossip.Bind.Loopback() {
		return fmt.Errorf("gossip.key_file: is required until the next restart: gossip listens "+
			"on %s, which is not loopback", c.Gossip.Bind)
	}
	if n := slices.IndexFunc(c.Listen.Admin, beyondLoopback); c.AdminTokenFile == "" && n >= 0 {
		return fmt.Errorf("admin_token_file: is required until the next restart: the admin "+
			"listener is on %s, which is not loopback", c.Listen.Admin[n])
	}
	return nil
}

// beyondLoopback reports whether other machines reach at.
func beyondLoopback(at config.Address) bool { return !at.Loopback() }

// ringSecret returns the secret the counters' names are made with: the cluster's first key, so
// nobody without it can tell whose a counter is, and the PoP, so two PoPs never share a counter.
// Without a key the names can be guessed.
func (p *prepared) ringSecret() []byte {
	var key []byte
	if len(p.keys) > 0 {
		key = p.keys[0] // the others are on their way in or out
	}
	return slices.Concat(key, []byte("\x00pop\x00"+p.cfg.PoP))
}

// gossipKeys returns the keys for members to know each other, at least 1. Without a key file, on
// loopback only, the key is computable for everybody on this machine: nobody is kept out, but
// nothing is ever taken in clear.
func (p *prepared) gossipKeys() [][]byte {
	if len(p.keys) > 0 {
		return p.keys
	}
	key := sha256.Sum256([]byte("headgate on loopback"))
	return [][]byte{key[:]}
}
