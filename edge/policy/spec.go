package policy

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/policy/sets"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
)

// Bounds of a configuration's policies.
const (
	MaxPolicies = 1000
	// each costs a look into the table of counts, and adds 256 bytes of key to a Result
	MaxQuestions = 16      // of a request
	MaxHeaders   = 64      // names of headers all policies look at
	MaxSets      = 256     // named sets
	MaxEntries   = 1000000 // prefixes, values and lines of tables in all sets together
	// deeper is not readable, and "when" has brackets
	MaxDepth = 4 // of any and not inside one another
	// a Result has two bits for each
	MaxTests  = 4096 // distinct ones of all policies
	MaxParts  = 8    // of a key
	MaxTiers  = 64   // of a policy
	MaxLevels = 8    // of a ladder
	MaxTimes  = 1000000
	MaxPools  = 64
	// bytes, a million entries of the longest kind
	MaxSetFile = 256 << 20
)

// Fault is a thing wrong with policies, and where. File is "" for the configuration file itself.
type Fault struct {
	condition.Pos
	File    string
	Message string
	Code    string // of a warning, such as path-slash
	Policy  string // of a warning: the name of the policy; "": none
}

// Error returns the fault as a line.
func (f Fault) Error() string {
	if f.File != "" {
		return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Message)
	}
	return f.Message
}

// Spec is the part of a configuration about requests: who the client is, the sets, the policies in
// the order of the file. Plain data: for Check and Load, made by a configuration's reader, and by
// hand in tests.
type Spec struct {
	Clients  request.Clients
	Sets     []Set
	Policies []Policy
	Pools    []string // names of the pools that there are
	// the rules no policy makes that have Numbers, of which Set alone is known
	Numbered []NumberedRule
	// of the rules no policy makes, by name: see mitigation.Rule.ShedBy
	ShedBy map[string]string
}

// SetKind is the form in which a set is written.
type SetKind uint8

// The forms of a set.
const (
	CIDR SetKind = iota
	CIDRFile
	// exact, or with * at the end
	Values
	Table
	TableFile
)

// Set is a named list: of addresses, of values, or of values with a word beside each.
type Set struct {
	At      condition.Pos
	Name    string
	Kind    SetKind
	Nets    []netip.Prefix
	File    string       // of CIDRFile and TableFile
	Entries []sets.Entry // of Values, whose words are empty, and Table
	// of files: fewer than half of the entries before are no accident
	AllowShrink bool
	Watch       time.Duration // of files: how often a change is looked for; 0: never
}

// Addresses reports whether the set holds addresses.
func (s *Set) Addresses() bool { return s.Kind == CIDR || s.Kind == CIDRFile }

// Policy is a policy. A policy asks Rules, or Own, or skips, or denies; Tier and Pool may stand
// beside.
type Policy struct {
	At          condition.Pos
	Name        string
	Match       *condition.Expr // nil: every request
	CountWhen   *condition.Expr // nil: as Match
	Key         Key
	MissingSkip bool // no question where the key is absent; else such requests share a key
	Cost        Cost
	Rules       []string // names of rules it asks
	Burst       int64    // the most a request may use up of the bursts of Rules; 0: all
	// the policy's numbers: a rule called Name, or a rule a tier, NAME@TIER; each with the rules of
	// Ladder behind
	Own     []mitigation.Rule
	Ladder  []Level // wider networks of the client that count too; nil: none
	Tiers   *Tiers
	Group   string
	SkipAll bool
	Skip    []string // names of policies
	Deny    int      // status, or 0
	Tier    string
	Pool    string // name of a pool the requests need
	OnDeny  OnDeny
	Pending int // cost that may wait for its responses beyond the limit; Free: no request waits
	Mode    mitigation.Mode
	Until   time.Time // when the policy ends to match; zero: never
}

// Over reports whether the policy matches nothing at now, and later.
func (p *Policy) Over(now time.Time) bool { return !p.Until.IsZero() && !now.Before(p.Until) }

// NextEnd returns when the next policy of s ends after now; zero: none does.
func (s *Spec) NextEnd(now time.Time) (next time.Time) {
	for i := range s.Policies {
		if until := s.Policies[i].Until; until.After(now) && (next.IsZero() || until.Before(next)) {
			next = until
		}
	}
	return next
}

// OnDeny is the form of a policy's denials. The zero OnDeny is the usual case.
type OnDeny struct {
	Status int // 400..599; 0: 429, or 503 where the reason is load or a reserve
	// answers, of allows too, name no rule and no numbers: the limit is not to be mapped
	Silent bool
	// For traps: who guesses passwords is to believe in a wrong guess.
	Deceive bool   // a sender that can pretend is answered allow, and is to do nothing
	Body    string // of doors carrying one, up to MaxBody bytes; "": the usual
}

// MaxBody is the most bytes of OnDeny.Body.
const MaxBody = 4 << 10

// NumberedRule is a rule, and where the configuration has its numbers.
type NumberedRule struct {
	At condition.Pos
	mitigation.Rule
}

// Tiers says by which tier, or by which number of the key itself, a policy's own limit is chosen.
type Tiers struct {
	Plain   bool // there are numbers alone: Names is a single empty name
	Of      condition.Field
	Table   string
	Default string
	// of the rules in Policy.Own, in the same order, without the levels of a ladder
	Names []string
}

// Free is the Pending of a policy whose requests do not wait.
const Free = -1

// MaxPending is the largest Pending.
const MaxPending = 1_000_000

// Waits reports whether requests of the policy hold places until known to count or not.
func (p *Policy) Waits() bool { return p.Pending >= 0 && p.CountWhen.UsesResponse() }

// Asks reports whether the policy asks rules.
func (p *Policy) Asks() bool { return len(p.Rules)+len(p.Own) > 0 }

// Rules returns the rules the policies make, in the order of the file.
func (s *Spec) Rules() []mitigation.Rule {
	var rules []mitigation.Rule
	for i := range s.Policies {
		rules = append(rules, s.Policies[i].Own...)
	}
	return rules
}
