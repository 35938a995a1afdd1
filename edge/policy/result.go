package policy

import (
	"math/bits"
	"slices"

	"github.com/headgate-dev/headgate/mitigation"
)

// Verdict is the decision of the policies on a request before any rule is asked.
type Verdict uint8

// The verdicts.
const (
	Ask  Verdict = iota // the questions decide; without any, allow
	Skip                // allow: a policy takes the request out
	Deny                // deny with Result.Status
)

// Question is a rule asked by a request, by which key, at which cost. The slices point into the
// Result and the Engine, so 16 of them cost nothing to make.
type Question struct {
	Policy int    // number of the policy
	Rule   int    // place in Options.Rules
	Name   []byte // the rule's name; it outlives the Result
	Key    []byte // 1..mitigation.MaxKey bytes; it lies in the Result
	Cost   uint32 // 1..mitigation.MaxCost
	Burst  int64  // the most the request uses up of the rule's burst; 0: all
	// Narrower is, of the rule of a network, the key of the client's narrower network; else nil.
	Narrower []byte
	// ShedBy is, under a rule with ShedBy, the part of the request; nil if absent.
	ShedBy []byte
	Judges bool // it may deny; else it only counts
	Counts bool // it adds its cost; else it only looks
	// the policy is in shadow: denying nothing, and judged and counted as if enforced
	Shadow bool
	// of a policy with numbers 1, or 2 and the place of the key's number; of another 0
	number  uint32
	Later   bool    // whether it counts, or its cost, is known after the response
	Pending Pending // for Engine.Settle, where Later is true
}

// Pending is the part of a request kept until the response. A ticket carries Pending, in some bytes
// a question.
type Pending struct {
	Policy uint16 // its number among those that ask
	Held   uint64 // which tests of the request held
}

const (
	// match and count_when
	maxConds  = 2 * MaxPolicies
	condWords = (maxConds + 63) / 64
	testWords = MaxTests / 64
	// Each question, and another in its place, has room for its key and for a part to draw by, and
	// another key can be built: building never has to look how much is left.
	keyBytes = 4*MaxQuestions*mitigation.MaxKey + MaxParts*(3*maxPart+1)
)

// maxClientText is the longest address with a prefix, in bytes.
const maxClientText = 64

// Result is the result of Evaluate and Report for a request. A Result owns the keys of its
// questions until the next use. The caller must not copy a Result. One goroutine at a time uses a
// Result. About 20 KiB, one each for a lane or connection, used again for each request: only the
// words the engine uses are cleared.
type Result struct {
	Verdict   Verdict
	Policy    int    // number of the policy that skipped or denied, or -1
	Status    int    // of Deny, 400..599
	Shadow    bool   // a policy in shadow would have denied
	Tier      []byte // the tier policies noted; nil: none
	Pools     Pools  // that the request needs
	N         int    // how many questions there are, in the order of the file
	Questions [MaxQuestions]Question
	Later     bool   // one of them is
	Dropped   int    // questions left out, beyond MaxQuestions
	Left      []byte // the rule of the last of them
	BadCosts  int    // costs of a visitor that were not one number, and cost the most

	live    [condWords]uint64 // conditions that may hold
	seen    [testWords]uint64 // nodes evaluated
	held    [testWords]uint64 // those of them holding
	passed  [condWords]uint64 // lists of tests of which all hold
	matched [(MaxPolicies + 63) / 64]uint64
	light   bool                            // some question may not judge
	over    int                             // limits left out
	words   int                             // of a set of policies
	groups  [(MaxPolicies + 63) / 64]uint64 // of which a policy has asked
	skipped [(MaxPolicies + 63) / 64]uint64
	keys    [keyBytes]byte
	used    int                             // bytes of keys
	built   [(MaxPolicies + 63) / 64]uint64 // keys that spans finds
	spans   [MaxPolicies]span               // by number of a key
	client  [maxClientText]byte
	written int // bytes of client: the client's address as a key; 0: not yet
}

// Pools are the pools a request needs, as policies say.
type Pools struct {
	Enforced uint64 // a bit for each, by its place in Options.Pools
	Shadow   uint64 // those that only policies in shadow name
	by       [MaxPools]uint16
}

// By returns the number of the policy naming the pool.
func (p *Pools) By(pool int) int { return int(p.by[pool]) }

// notePool notes the pool for the policy of that number.
// Enforced wins over shadow, and of several policies the first is named: it is whose denial people
// look for.
func (out *Result) notePool(pool, policy int, enforced bool) {
	bit, is := uint64(1)<<pool, &out.Pools
	switch {
	case is.Enforced&bit != 0 || !enforced && is.Shadow&bit != 0:
		return
	case enforced:
		is.Enforced, is.Shadow = is.Enforced|bit, is.Shadow&^bit
	default:
		is.Shadow |= bit
	}
	is.by[pool] = uint16(policy) // at most MaxPolicies
}

// reset empties the result for an engine of so many policies, conditions and nodes.
func (out *Result) reset(e *Engine) {
	out.Verdict, out.Policy, out.Status, out.Shadow, out.Tier = Ask, -1, 0, false, nil
	out.Pools.Enforced, out.Pools.Shadow, out.Later = 0, 0, false
	out.N, out.Dropped, out.BadCosts, out.used, out.written = 0, 0, 0, 0, 0
	out.light, out.over = false, 0
	out.words = (len(e.policies) + 63) / 64
	clear(out.matched[:out.words])
	clear(out.built[:(len(e.keys)+63)/64])
	out.forget(e)
}

// forget empties the fields of a walk. The questions, and the keys that were built, are kept. held
// needs no clearing: a bit of it is read only where seen has it.
func (out *Result) forget(e *Engine) {
	clear(out.seen[:(len(e.nodes)+63)/64])
	clear(out.groups[:out.words])
	clear(out.skipped[:out.words])
	clear(out.passed[:(len(e.tests)+63)/64])
}

// Matched calls each with the number of every matching policy, in the order of the file.
func (out *Result) Matched(each func(policy int)) {
	for i, word := range out.matched[:out.words] {
		for ; word != 0; word &= word - 1 {
			each(i<<6 + bits.TrailingZeros64(word))
		}
	}
}

// span is where a key lies in Result.keys. A key is not empty.
type span struct{ at, end uint16 }

// makeRoom leaves a question out where there are as many as can be: that of rule, or, if the rule
// judges, the last that does not. The result is whether there is room now. So a request that asks
// too much is judged by the first limits of the file, whatever count_when of others counts.
func (out *Result) makeRoom(rule *askedRule, do does) bool {
	out.Dropped, out.Left = out.Dropped+1, rule.name
	if do&judges == 0 {
		return false
	}
	last := -1
	if out.light {
		last = out.N - 1
	}
	for last >= 0 && out.Questions[last].Judges {
		last--
	}
	if out.light = last >= 0; !out.light {
		out.over++
		return false
	}
	out.Left = out.Questions[last].Name
	copy(out.Questions[last:], out.Questions[last+1:])
	out.N--
	out.Later = slices.ContainsFunc(out.Questions[:out.N], func(q Question) bool { return q.Later })
	return true
}

// keep keeps the key built last, which is number, for further questions.
func (out *Result) keep(number int32, length int) {
	out.spans[number] = span{uint16(out.used), uint16(out.used + length)} // below keyBytes
	out.built[number>>6] |= 1 << (number & 63)
	out.used += length
}
