package metrics

import (
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/state"
	"github.com/headgate-dev/headgate/mitigation/override"
	"github.com/headgate-dev/headgate/window"
)

// stateFamilies are the families of the records that outlive a restart: overrides by operators,
// which nodes pass on to each other,
// and the state file. reason is bad (a field out of bounds), future (issued too far ahead of the
// clock of this node) or over (no longer in force).
var stateFamilies = []family{
	{
		"overrides", "",
		"Keys with a stored override by an operator: a block, an allow, or the removal of a " +
			"mitigation.",
	},
	{
		"overrides_refused_total", "reason",
		"Operators' overrides received from other nodes and rejected, by reason.",
	},
	{
		"overrides_evicted_total", "",
		"Operators' overrides evicted to make room for ones that last longer.",
	},
	{
		"overrides_full_total", "",
		"Operators' overrides rejected because the table was full of ones that last longer.",
	},
	{"limit_overrides", "", "Keys with a stored limit by an operator, or the end of one."},
	{
		"limit_overrides_refused_total", "reason",
		"Limits by operators received from other nodes and rejected, by reason.",
	},
	{"networks", "", "Mitigations set by hand of networks, which hold for every key in them."},
	{
		"networks_dropped_total", "",
		"Mitigations of networks that hold for no other key, because there were 1,024 already.",
	},
	{"state_writes_total", "", "Times the state file was written to state_dir."},
	{
		"state_write_failures_total", "",
		"Attempts to write the state file to state_dir that failed.",
	},
	{"state_ignored_total", "", "State files found at the start that could not be used."},
	{
		"state_left_out_total", "",
		"Mitigations and counts left out of the state file because it was full.",
	},
	{"history_bytes", "", "Memory in which the past of keys is kept."},
	{
		"history_denials_dropped_total", "",
		"Denials that the past of keys has not, because there were too many keys at once.",
	},
	{
		"history_incomplete_total", "",
		"Minutes and quarters of rules without an upper bound of the cost that keys asked for.",
	},
	{"state_bytes", "", "Size of the state file, in bytes."},
	{
		"state_age_seconds", "",
		"Age of the state file on disk. Absent until it has been written once.",
	},
}

// collectState sends the values of g's overrides and, unless saved is nil, of the state file.
func collectState(
	to scrape, g *gate.Gate, saved func(window.Instant) state.Stats,
	now window.Instant,
) {
	_, _, gossips := g.GlobalState()
	for name, s := range map[string]override.Stats{
		"overrides": g.OverrideStats(), "limit_overrides": g.LimitStats(),
	} {
		put(to, name, s.Held)
		if gossips { // a node alone receives none
			put(to, name+"_refused_total", s.Bad, "bad")
			put(to, name+"_refused_total", s.Early, "future")
			put(to, name+"_refused_total", s.Over, "over")
		}
	}
	put(to, "overrides_evicted_total", g.OverrideStats().Evicted)
	put(to, "overrides_full_total", g.OverrideStats().Full)
	networks := g.NetworkStats()
	put(to, "networks", networks.Held)
	put(to, "networks_dropped_total", networks.Dropped)
	bytes, incomplete, dropped := g.History()
	put(to, "history_bytes", bytes)
	put(to, "history_denials_dropped_total", dropped)
	put(to, "history_incomplete_total", incomplete)
	if saved == nil {
		return
	}
	s := saved(now)
	put(to, "state_writes_total", s.Writes)
	put(to, "state_write_failures_total", s.Failures)
	put(to, "state_ignored_total", s.Ignored)
	put(to, "state_left_out_total", s.Left)
	put(to, "state_bytes", s.Bytes)
	// A gauge saying 0 before the first write would look fresh.
	if s.Age >= 0 {
		put(to, "state_age_seconds", s.Age.Seconds())
	}
}
