package policy

import (
	"bytes"
	"math/bits"

	"github.com/headgate-dev/headgate/mitigation"
)

// Verdict is what the policies make of a request before any rule is asked.
type Verdict uint8

// The verdicts.
const (
	Ask  Verdict = iota // the questions decide; without any, allow
	Skip                // allow: a policy takes the request out
	Deny                // deny with Result.Status
)

// Question is one rule that a request asks, by which key, at which cost.
type Question struct {
	Policy  int     // number of the policy
	Rule    int     // place in Options.Rules
	Name    []byte  // the rule's name; it outlives the Result
	Key     []byte  // 1..mitigation.MaxKey bytes; it lies in the Result
	Cost    uint32  // 1..mitigation.MaxCost
	Judges  bool    // it may deny; else it only counts
	Counts  bool    // it adds its cost; else it only looks
	Shadow  bool    // its policy is in shadow: it denies nothing, and is judged and counted as if it did
	Later   bool    // whether it counts, or its cost, is known after the response
	Pending Pending // for Engine.Settle, where Later is true
}

// Pending is what is kept of a request until its response is known.
type Pending struct {
	Policy uint16
	Held   uint64 // which tests of the request held
}

const (
	maxConds  = 2 * MaxPolicies
	condWords = (maxConds + 63) / 64
	testWords = MaxTests / 64
	keyBytes  = MaxQuestions*mitigation.MaxKey + MaxParts*(3*maxPart+1)
)

// maxClientText is the longest address with a prefix, in bytes.
const maxClientText = 64

// Result is what Evaluate and Report make of a request. It owns the keys of its questions: they hold
// until it is used again. The caller must not copy it. One goroutine at a time uses a Result.
type Result struct {
	Verdict   Verdict
	Policy    int    // number of the policy that skipped or denied, or -1
	Status    int    // of Deny, 400..599
	Shadow    bool   // a policy in shadow would have denied
	Tier      []byte // the tier that policies noted; nil: none
	N         int    // how many questions there are, in the order of the file
	Questions [MaxQuestions]Question
	Dropped   int // questions beyond MaxQuestions
	BadCosts  int // costs that were no numbers and count as 1

	live    [condWords]uint64 // conditions that may hold
	seen    [testWords]uint64 // nodes that were evaluated
	held    [testWords]uint64 // those of them that hold
	matched [(MaxPolicies + 63) / 64]uint64
	groups  [(MaxPolicies + 63) / 64]uint64 // of which a policy has asked
	skipped [(MaxPolicies + 63) / 64]uint64
	keys    [keyBytes]byte
	used    int // bytes of keys
	client  [maxClientText]byte
	written int // bytes of client: the client's address as a key; 0: not yet
}

// reset empties the result for an engine of so many policies, conditions and nodes.
func (out *Result) reset(e *Engine) {
	out.Verdict, out.Policy, out.Status, out.Shadow, out.Tier = Ask, -1, 0, false, nil
	out.N, out.Dropped, out.BadCosts, out.used, out.written = 0, 0, 0, 0, 0
	tests, policies := (len(e.nodes)+63)/64, (len(e.policies)+63)/64
	clear(out.seen[:tests])
	clear(out.matched[:policies])
	clear(out.groups[:policies])
	clear(out.skipped[:policies])
}

// Matched calls each with the number of every policy that matched, in the order of the file.
func (out *Result) Matched(each func(policy int)) {
	for i, word := range out.matched {
		for ; word != 0; word &= word - 1 {
			each(i<<6 + bits.TrailingZeros64(word))
		}
	}
}

// ask adds q, whose key ends the used bytes, unless there is an equal one or no room.
func (out *Result) ask(q Question) {
	for i := range out.N {
		if same := &out.Questions[i]; same.Rule == q.Rule && same.Cost == q.Cost && !same.Later && !q.Later &&
			same.Shadow == q.Shadow && bytes.Equal(same.Key, q.Key) {
			same.Judges = same.Judges || q.Judges
			same.Counts = same.Counts || q.Counts
			return
		}
	}
	if out.N == MaxQuestions {
		out.Dropped++
		return
	}
	out.used += len(q.Key)
	out.Questions[out.N] = q
	out.N++
}
