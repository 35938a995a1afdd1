package replay

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/mitigation"
)

// A policy's own rule is replayed by the policy alone, with the requests, the key and the bits of
// the policy. So is a rule looking at more of a request than the key, about every request: a rule
// looking at clients.

// widened is the ladder of a policy's rule.
type widened struct {
	levels   []policy.Level
	siblings int
}

// ladderOf returns the rule widened by the rule called name, or this rule, and the ladder; false if
// none.
func ladderOf(cfg *config.Config, name string) (base string, w widened, ok bool) {
	for i := range cfg.Policies.Policies {
		p := &cfg.Policies.Policies[i]
		each := len(p.Ladder) + 1
		for n := range p.Own {
			if p.Own[n].Name == name && each > 1 {
				first := n - n%each
				return p.Own[first].Name, widened{p.Ladder, p.Own[first+1].Siblings}, true
			}
		}
	}
	return name, widened{}, false
}

// ownerOf returns the policy whose own the rule called name is; nil: none.
func ownerOf(cfg *config.Config, name string) *policy.Policy {
	for i := range cfg.Policies.Policies {
		p := &cfg.Policies.Policies[i]
		if slices.ContainsFunc(p.Own, func(r mitigation.Rule) bool { return r.Name == name }) {
			return p
		}
	}
	return nil
}

// needsRequest reports whether r, own's if not nil, looks at more of a request than the key.
func needsRequest(r *mitigation.Rule, ladder *widened, own *policy.Policy) bool {
	return len(ladder.levels) > 0 || r.ShedBy != "" || r.MaxBlast > 0 ||
		own != nil && own.CountWhen != nil
}

// alone turns cfg into a policy asking r, with the ladder: as own does, if not nil, or about every
// request.
func (o *replayOptions) alone(
	cfg *config.Config, r mitigation.Rule, ladder *widened, own *policy.Policy,
) error {
	if len(ladder.levels) > 0 && o.key == "path" {
		return fmt.Errorf("--key: %s counts networks of clients, so it is replayed by client",
			cli.Quote(r.Name))
	}
	part, err := policy.ParseKeyPart(cmp.Or(o.key, "client"))
	if err != nil {
		return fmt.Errorf("--key: %w", err)
	}
	if r.ShedBy != "" && r.ShedBy == cmp.Or(o.key, "client") {
		return fmt.Errorf("--key: %s has shed_by %s, so a key of it would be denied as a whole: "+
			"replay it with --key path", cli.Quote(r.Name), r.ShedBy)
	}
	p := policy.Policy{
		Name: r.Name, Key: policy.Key{Parts: [][]policy.Part{part}},
		Ladder: ladder.levels, Cost: policy.DefaultCost(r.Scale),
	}
	if own != nil {
		p.Match, p.CountWhen, p.MissingSkip = own.Match, own.CountWhen, own.MissingSkip
		if o.key == "" {
			p.Key = own.Key
		}
		if o.every {
			p.Match, p.CountWhen = nil, nil
		}
	}
	p.Own = p.Widened(r, ladder.siblings)
	cfg.Rules, cfg.Policies.Policies, cfg.RLS.Rules = nil, []policy.Policy{p}, nil
	return nil
}
