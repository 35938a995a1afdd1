package mitigation

import (
	"math/bits"
	"time"
)

// Kind is the quantity a rule limits.
type Kind uint8

// The kinds of rules.
const (
	Window      Kind = iota // cost in any window of time
	Bucket                  // cost by a rate, with bursts
	Concurrency             // cost under way at the same time
)

// Action is the treatment of a key above its limit.
type Action uint8

// The actions of a rule, and of a flag set by hand.
const (
	Shed  Action = iota // let through the cost that fits, refuse the rest
	Block               // refuse everything for BlockFor
	Allow               // never refuse: only a flag set by hand carries it
)

// Mode is the force of a rule.
type Mode uint8

// The modes, from full force to none.
const (
	Enforce Mode = iota // decide and answer accordingly
	Shadow              // decide, count and report, but always answer allow
	Off                 // neither count nor decide
)

// Scope is the set of nodes over which one limit holds.
type Scope uint8

// The scopes, from narrow to wide.
const (
	Node Scope = iota
	PoP
	Global
)

// FailureMode is the behaviour of a rule whose scope's view is lost.
type FailureMode uint8

// The failure modes. FailLocal limits by this node's own count.
const (
	FailLocal FailureMode = iota
	FailAllow
	FailDeny
)

// Fairness is the division of a global rule's limit among the PoPs while more is asked for.
type Fairness uint8

// The fairnesses. With FairPoPs each PoP gets its demand up to a level, with the sum at the limit:
// an even share, and its part of the rest of the others' shares. With FairRequests every PoP drops
// the same share of its requests.
const (
	FairPoPs Fairness = iota
	FairRequests
)

// Counts is the cost counting against a window.
type Counts uint8

// The costs that count.
const (
	CountAdmitted Counts = iota // of requests that passed
	CountOffered                // past the limit, of denied requests as well, up to a limit
)

// MaxDelay is the longest time for which a request may have to wait.
const MaxDelay = time.Minute

// Bounds of a rule's numbers; configuration outside them is refused.
const (
	MaxLimit    = 1_000_000_000
	MinWindow   = time.Second
	MaxWindow   = 24 * time.Hour
	MaxBlockFor = 30 * 24 * time.Hour
	MaxRules    = 1000
	MaxTree     = 16_384 // rules of descriptors, which do not count as MaxRules
	MaxRuleName = 64
	MaxFarName  = MaxRuleName + 22 // with a number behind it, as PoPs call it
	MaxKey      = 256              // bytes
	MaxCost     = 1_000_000        // per request
)

// Rule is a named limit. It is a plain value and never changes while it is in use.
type Rule struct {
	Name     string        // [A-Za-z0-9_.-]{1,64}, unique
	Limit    int64         // cost per window, 1..MaxLimit
	Window   time.Duration // whole milliseconds, MinWindow..MaxWindow
	Scope    Scope
	Action   Action        // Shed or Block
	BlockFor time.Duration // Block only, 1s..MaxBlockFor
	// Block only, of scope Node: a block ends a step of its length after the last request it denied
	Renews      bool
	Mode        Mode
	FailureMode FailureMode
	Fairness    Fairness // scope Global only; of the others FairPoPs
	Kind        Kind
	Lease       time.Duration // Concurrency only: whole seconds, lease.MinTime..lease.MaxTime
	// Bucket only: the most cost at once, 1..MaxLimit; it refills at Limit per Window
	Burst int64
	// Bucket only: a request may have to wait so long for its tokens, 0..MaxDelay
	Delay  time.Duration
	Counts Counts // Window only
	Ladder Ladder // Block only: the times of the blocks after the first
	// the rule of a network: it denies only where so many narrower keys asked in its window,
	// 1..MaxSiblings; 0: of others
	Siblings int
	// Block only: a block that would deny more clients sheds instead, 2..MaxMaxBlast; 0: none does
	MaxBlast int
	// part of a request by which its drop ratio is drawn, as a policy's key writes it; "": each
	// request
	ShedBy string
	Epoch  time.Duration // with ShedBy: for so long the draws hold, MinEpoch..MaxEpoch
	// of Whole: the retry of a denial is up to so much longer, 1..Whole; 0: see SpreadOf; NoSpread:
	// it is exact
	RetrySpread int
	// parts of the limit kept for some tiers, in order; they add up to less than Whole
	Reserve []Share
	// Window and Bucket only: Limit, Burst and costs are whole numbers of parts; ten to the power
	// of Scale, 0..MaxScale, make a unit. Unit is the name; "": requests
	Unit  string
	Scale int
	// limits that some keys have in place of Limit; nil: none has
	Numbers *Numbers
}

// Ladder is the times of a key's blocks, in turn: the n-th within Forget of the end of the one
// before lasts Steps[n-1], those beyond the last step as long as that. The zero Ladder has every
// block last the rule's BlockFor.
type Ladder struct {
	Steps  []time.Duration // 2..MaxSteps of them, each as BlockFor; the first is BlockFor
	Forget time.Duration   // 1s..MaxForget
}

// Bounds of a ladder.
const (
	MaxSteps      = 8
	DefaultForget = 24 * time.Hour
	MaxForget     = 30 * 24 * time.Hour
)

// Bounds of the time for which a part of a request is denied or not, and its default.
const (
	MinEpoch     = time.Second
	DefaultEpoch = 10 * time.Second
	MaxEpoch     = time.Hour
)

// The part of a retry by which it is longer where a rule says nothing of it, and what a rule says
// whose retries are exact everywhere.
const (
	DefaultRetrySpread = Whole / 10
	NoSpread           = -1
)

// SpreadOf returns the part of the retry of r's denials, 0..Whole, by which they may be longer.
// Where r says nothing of it, a whole request is told DefaultRetrySpread, and whoever names rule
// and key the exact time.
func (r *Rule) SpreadOf(whole bool) int {
	if r.RetrySpread == 0 && whole {
		return DefaultRetrySpread
	}
	return max(r.RetrySpread, 0)
}

// Spread returns the time until another attempt, retry or up to part of Whole more in whole
// seconds, by the random bits u. It is never less than retry, before which there is no quota.
func Spread(retry time.Duration, part int, u uint64) time.Duration {
	seconds := uint64((retry + time.Second - 1) / time.Second)
	most := seconds * uint64(part) / Whole
	extra, _ := bits.Mul64(u, most+1)
	return retry + time.Duration(extra)*time.Second
}

// MaxMaxBlast is the greatest MaxBlast.
const MaxMaxBlast = 1_000_000

// Bounds of the narrower keys a rule of networks asks for.
const (
	DefaultSiblings = 3
	MaxSiblings     = 16
)

// step returns the time of the n-th block, 1 or more.
func (l *Ladder) step(n int) time.Duration { return l.Steps[min(n, len(l.Steps))-1] }

// NextBlock returns the time of the next block of a key with that many strikes.
func (r *Rule) NextBlock(strikes int) time.Duration {
	if len(r.Ladder.Steps) == 0 {
		return r.BlockFor
	}
	return r.Ladder.step(strikes + 1)
}

// LongestBlock returns the longest time of r's blocks.
func (r *Rule) LongestBlock() time.Duration { return max(r.BlockFor, longest(r.Ladder.Steps)) }

func longest(all []time.Duration) (most time.Duration) {
	for _, d := range all {
		most = max(most, d)
	}
	return most
}

// Share is the part of a rule's limit kept for the requests of a tier, and of the tiers before it.
type Share struct {
	Tier string
	Part int // of Whole, 1..Whole-1
}

// Whole is the unit of Share.Part: hundredths of a percent.
const Whole = 10_000

// MaxShares is the most shares of a rule.
const MaxShares = 8

// Reserved returns the part of r's quota requests of tier must leave free: the shares of the tiers
// before it, or of all if it has none. The share is rounded up to a unit of cost.
func (r *Rule) Reserved(tier []byte) int64 {
	part := int64(0)
	for i := range r.Reserve {
		if r.Reserve[i].Tier == string(tier) {
			break
		}
		part += int64(r.Reserve[i].Part)
	}
	return (r.Quota()*part + Whole - 1) / Whole
}

// Open returns the part of r's limit requests without a reserve may use, above 0 and up to 1.
func (r *Rule) Open() float64 {
	if len(r.Reserve) == 0 {
		return 1
	}
	return float64(max(1, r.Quota()-r.Reserved(nil))) / float64(r.Quota())
}

// Keeps reports whether a part of r's limit is kept for requests of tier. A drop ratio is for the
// others: whoever has a part of the limit is held by the counts, which keep that part free.
func (r *Rule) Keeps(tier []byte) bool {
	for i := range r.Reserve {
		if r.Reserve[i].Tier == string(tier) {
			return true
		}
	}
	return false
}

var (
	kindNames    = [...]string{Window: "window", Bucket: "bucket", Concurrency: "concurrency"}
	countsNames  = [...]string{CountAdmitted: "admitted", CountOffered: "offered"}
	actionNames  = [...]string{Shed: "shed", Block: "block", Allow: "allow"}
	modeNames    = [...]string{Enforce: "enforce", Shadow: "shadow", Off: "off"}
	scopeNames   = [...]string{Node: "node", PoP: "pop", Global: "global"}
	failureNames = [...]string{FailLocal: "local", FailAllow: "allow", FailDeny: "deny"}
	fairNames    = [...]string{FairPoPs: "pops", FairRequests: "requests"}
)

// String returns the name in the configuration and in answers.
func (k Kind) String() string { return kindNames[k] }

// String returns the name in the configuration and in answers.
func (c Counts) String() string { return countsNames[c] }

// String returns the name in the configuration and in answers.
func (a Action) String() string { return actionNames[a] }

// String returns the name in the configuration and in answers.
func (m Mode) String() string { return modeNames[m] }

// String returns the name in the configuration and in answers.
func (s Scope) String() string { return scopeNames[s] }

// String returns the name in the configuration and in answers.
func (f FailureMode) String() string { return failureNames[f] }

// String returns the name in the configuration and in answers.
func (f Fairness) String() string { return fairNames[f] }
