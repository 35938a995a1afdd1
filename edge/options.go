package edge

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door/resp"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/policy"
)

// GateOptions returns the options of a gate counting as cfg says. global is the way to the other
// PoPs, nil if none.
func GateOptions(
	cfg *config.Config, node string, start time.Time, global *gate.Global,
) gate.Options {
	return gate.Options{
		Node: node,
		Memory: cfg.Memory - ticketBytes(cfg) - waitingBytes(cfg) - throttleBytes(cfg) -
			controlBytes(cfg) - surgeBytes(cfg) - pastBytes(cfg),
		Past:  pastBytes(cfg),
		Rules: cfg.AllRules(), Flush: cfg.Ring.Flush, Servers: len(cfg.Ring.Servers),
		Global: global, Start: start,
	}
}

// ticketBytes returns how much of cfg's memory is for tickets: only for policies.
func ticketBytes(cfg *config.Config) int64 {
	if len(cfg.Policies.Policies) == 0 {
		return 0
	}
	return min(ask.TicketBytes, cfg.Memory*ask.TicketBytes/(64<<20))
}

// waitingBytes returns how much of cfg's memory is for the places of requests counted by responses.
func waitingBytes(cfg *config.Config) int64 {
	if !slices.ContainsFunc(cfg.Policies.Policies,
		func(p policy.Policy) bool { return p.Waits() }) {
		return 0
	}
	return ask.WaitingBytes(ticketBytes(cfg))
}

// surgeBytes returns how much of cfg's memory is for surges.
func surgeBytes(cfg *config.Config) int64 {
	if cfg.Surge.Sample == 0 || cfg.Memory < 4*config.SurgeBytes {
		return 0
	}
	return config.SurgeBytes
}

// pastBytes returns how much of cfg's memory is for the past of keys. Callers set Memory alone.
func pastBytes(cfg *config.Config) int64 {
	if cfg.History > cfg.Memory/4 {
		return 0
	}
	return cfg.History
}

// throttleBytes returns how much of cfg's memory is for keys of CL.THROTTLE.
func throttleBytes(cfg *config.Config) int64 {
	if len(cfg.Listen.RESP) == 0 {
		return 0
	}
	return cfg.Memory / resp.TableShare
}

// maxControl is the most memory for the control loop: of more keys nothing can be told in time.
const maxControl = 512 << 20

// controlBytes returns how much of cfg's memory is for the control loop over all PoPs.
func controlBytes(cfg *config.Config) int64 {
	if cfg.Gossip.Bind.IsZero() {
		return 0
	}
	return min(cfg.Memory/8, maxControl)
}

// NodeName returns cfg's name of the node, or else the machine's.
//
// Two nodes of a cluster must not share a name: gossip would see a restarted node.
func NodeName(cfg *config.Config) (string, error) {
	if cfg.Node != "" {
		return cfg.Node, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("no node name configured: %w", err)
	}
	return name, nil
}

// NewGate returns a gate counting as cfg says, without other PoPs unless cfg has gossip. start is
// the present.
func NewGate(cfg config.Config, start time.Time) (*gate.Gate, error) {
	name, err := NodeName(&cfg)
	if err != nil {
		return nil, err
	}
	var global *gate.Global
	if !cfg.Gossip.Bind.IsZero() {
		global = &gate.Global{}
	}
	o := GateOptions(&cfg, name, start, global)
	if len(cfg.Policies.Numbered) > 0 {
		numbers, err := config.LoadPolicies(&cfg, [32]byte{})
		if err != nil {
			return nil, err
		}
		numbers.Numbered(o.Rules)
	}
	return gate.New(o), nil
}
