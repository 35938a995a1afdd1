// Package mitigation decides: it holds the rules, the flags and the pure judge that turns what was
// counted into a verdict. It reads no clock, draws no chance, opens nothing: both are arguments.
//
//	window's count ─┐
//	flag table ─────┼─► Judge ─► Verdict{allow or deny, why}
//	the rule ───────┘
package mitigation

import "time"

// Action is what happens to a key past its limit.
type Action uint8

// The actions of a rule, and of a flag set by hand.
const (
	Shed  Action = iota // let through what fits, refuse the rest
	Block               // refuse everything for BlockFor
	Allow               // never refuse: only a flag set by hand carries it
)

// Mode is how far a rule goes.
type Mode uint8

// The modes, from full force to none.
const (
	Enforce Mode = iota // decide and answer accordingly
	Shadow              // decide, count and report, but always answer allow
	Off                 // neither count nor decide
)

// Scope is over whom one limit holds.
type Scope uint8

// The scopes, from narrow to wide.
const (
	Node Scope = iota
	PoP
	Global
)

// FailureMode is what a rule does when the view its scope needs is lost.
type FailureMode uint8

// The failure modes; Local limits by what this node sees.
const (
	FailLocal FailureMode = iota
	FailAllow
	FailDeny
)

// Bounds of a rule's numbers; configuration outside them is refused.
const (
	MaxLimit    = 1_000_000_000
	MinWindow   = time.Second
	MaxWindow   = 24 * time.Hour
	MaxBlockFor = 30 * 24 * time.Hour
	MaxRules    = 1000
	MaxRuleName = 64
	MaxKey      = 256       // bytes
	MaxCost     = 1_000_000 // per request
)

// Rule is one named limit. It is a plain value and never changes while it is in use.
type Rule struct {
	Name        string        // [A-Za-z0-9_.-]{1,64}, unique
	Limit       int64         // cost per window, 1..MaxLimit
	Window      time.Duration // whole milliseconds, MinWindow..MaxWindow
	Scope       Scope
	Action      Action        // Shed or Block
	BlockFor    time.Duration // Block only, 1s..MaxBlockFor
	Mode        Mode
	FailureMode FailureMode
}

var (
	actionNames  = [...]string{Shed: "shed", Block: "block", Allow: "allow"}
	modeNames    = [...]string{Enforce: "enforce", Shadow: "shadow", Off: "off"}
	scopeNames   = [...]string{Node: "node", PoP: "pop", Global: "global"}
	failureNames = [...]string{FailLocal: "local", FailAllow: "allow", FailDeny: "deny"}
)

// String returns the word the configuration and every answer use.
func (a Action) String() string { return actionNames[a] }

// String returns the word the configuration and every answer use.
func (m Mode) String() string { return modeNames[m] }

// String returns the word the configuration and every answer use.
func (s Scope) String() string { return scopeNames[s] }

// String returns the word the configuration and every answer use.
func (f FailureMode) String() string { return failureNames[f] }
