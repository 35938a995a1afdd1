package ask

import (
	"slices"

	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
)

// Door is a way by which requests come, for counters.
type Door uint8

// The doors. Program is for programs without a socket.
const (
	Program Door = iota
	HTTP
	UDP
	GRPC
	SPOP
	RESP
	Doors // how many there are
)

// doorNames are the names of the doors, in the order of their numbers.
var doorNames = [Doors]string{"local", "http", "udp", "grpc", "spop", "resp"}

// String returns the name of the door in metrics.
func (d Door) String() string { return doorNames[d] }

// unfit answers an unfit request. Counted under no rule, the request is denied as by a policy at
// the top of the file, in force as long as anything else can deny. Else all is on trial, and no
// visitor is to notice.
func (s *Session) unfit(a *Answer) {
	a.Why, a.Unfit = ByUnfit, s.Request.Unfit
	s.room.unfitBy[s.Door][a.Unfit].Add(1)
	if a.Deny = s.canDeny(); a.Deny {
		a.Status = a.Unfit.Status()
		return
	}
	a.Shadow = true
}

// canDeny reports whether something in force can deny a request.
func (s *Session) canDeny() bool {
	if s.room.killed.Load() {
		return false
	}
	if s.in.engine != nil {
		for i := range s.in.engine.Len() {
			p := s.in.engine.Policy(i)
			if !s.in.engine.Off(i) && p.Mode == mitigation.Enforce && (p.Deny > 0 || p.Pool != "" ||
				slices.ContainsFunc(p.Rules, s.enforces) || s.enforceOne(p.Own)) {
				return true
			}
		}
	}
	return s.enforceOne(s.Also)
}

// enforceOne reports whether any of rules enforces, by the gate: the mode may have changed.
func (s *Session) enforceOne(rules []mitigation.Rule) bool {
	for i := range rules {
		if s.enforces(rules[i].Name) {
			return true
		}
	}
	return false
}

// enforces reports whether the rule called name enforces.
func (s *Session) enforces(name string) bool {
	rule := s.room.gate.Rule([]byte(name))
	return rule != nil && rule.Mode == mitigation.Enforce
}

// unfitTotals returns the unfit requests, by door and kind.
func (r *Room) unfitTotals() (n [Doors][request.UnfitKinds]uint64) {
	for door := range n {
		for kind := range n[door] {
			n[door][kind] = r.unfitBy[door][kind].Load()
		}
	}
	return n
}
