package lease

import (
	"slices"
)

// ruleState is a rule with held keys.
type ruleState struct {
	name    string
	inForce bool
	limit   float64 // places of a key, as of the newest lease
	keys    int     // that hold places
	places  uint64
	leases  uint64
	lost    int // leases that ended by their time since the last that did not
}

// silence is after how many leases ended by time, in a row, a holder is silent.
const silence = 3

// Quiet reports whether enough leases under the rule of number ended by time since Heard, or since
// a release, to suggest no releases at all. Called between Begin and End; Silent is Quiet at any
// time.
func (t *Table) Quiet(rule uint16) bool { return t.rules[rule].lost >= silence }

// Silent is Quiet outside Begin and End.
func (t *Table) Silent(rule uint16) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return int(rule) < len(t.rules) && t.Quiet(rule)
}

// Heard begins the count of Lost anew.
func (t *Table) Heard(rule uint16) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if int(rule) < len(t.rules) {
		t.rules[rule].lost = 0
	}
}

// SetRules names the rules in force. Each has a number, which Take wants and RuleNumber says. The
// number of a name stays as long as the rule is in force. SetRules is for a single caller at a
// time. Leases of a rule a reload took away stay until their end, under the number nobody else gets
// meanwhile.
func (t *Table) SetRules(names []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.rules {
		t.rules[i].inForce = slices.Contains(names, t.rules[i].name)
	}
	for _, name := range names {
		t.ruleNumber(name)
	}
}

// RuleNumber returns the number of a rule in force.
func (t *Table) RuleNumber(name string) uint16 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ruleNumber(name)
}

// ruleNumber returns the number of the rule called name: the rule's own, an unused number, or the
// next.
func (t *Table) ruleNumber(name string) uint16 {
	at := -1
	for i := range t.rules {
		r := &t.rules[i]
		if r.inForce && r.name == name {
			at = i
			break
		}
		if at < 0 && !r.inForce && r.leases == 0 {
			at = i
		}
	}
	if at < 0 {
		t.rules = append(t.rules, ruleState{})
		at = len(t.rules) - 1
	}
	t.rules[at].name, t.rules[at].inForce = name, true
	return uint16(at) // at most the rules of a configuration, and those with leases
}
