package explain

import (
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// Flag returns f as people are shown it, with the cost offered in the trailing window and the
// refused share, both at now. They are zero when the flag's rule is no longer in force.
func Flag(g *gate.Gate, now window.Instant, f *mitigation.Flag) api.MitigationView {
	is := g.FlagContext(now, f)
	v := api.MitigationView{
		Rule: f.Rule, Key: api.EscapeKey(f.Key), Action: f.Action.String(),
		View:   mitigation.Node.String(),
		Source: SourceOf(f), Node: is.Node, Reason: f.Reason, Since: g.Shown(f.Since),
		Expires: g.Shown(f.Until), Strikes: int(f.Strikes),
	}
	// a reload may have taken the rule away; its flags go a moment later
	if r := is.Rule; r != nil {
		v.Mode, v.View, v.Blast = r.Mode.String(), is.View.String(), is.Blast
		v.Limit, v.Offered = Amount(r, r.Quota()), Amount(r, is.Offered)
		v.Ratio = ratioOf(f, is.Offered, r.Quota())
		v.DeniedRate = float64(v.Offered) * v.Ratio / max(r.Fill(), mitigation.MinWindow).Seconds()
	}
	return v
}

// ratioOf returns the share of the offered cost that f refuses, 0..1. A block refuses all. Shedding
// without a ratio is carried out by the exact count, which refuses all cost above the limit.
func ratioOf(f *mitigation.Flag, offered, limit int64) float64 {
	switch {
	case f.Action == mitigation.Block:
		return 1
	case f.Action == mitigation.Allow:
		return 0
	case f.Ratio > 0:
		return f.Ratio.Float()
	}
	// an estimate: of the cost offered, the limit passes
	return max(0, 1-float64(limit)/float64(max(1, offered)))
}

// SourceOf names the origin of a flag: self, ring, gossip:PoP or manual:operator.
func SourceOf(f *mitigation.Flag) string {
	switch f.Source {
	case mitigation.Manual:
		return "manual:" + f.Origin
	case mitigation.Ring:
		return "ring"
	case mitigation.Gossip:
		return "gossip:" + f.Origin
	}
	return "self"
}
