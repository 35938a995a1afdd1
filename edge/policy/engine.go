package policy

import (
	"slices"

	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
)

// Engine answers which questions a request asks. An Engine never changes. A reload makes another
// and swaps a pointer: requests under way end with the old.
type Engine struct {
	clients  request.Clients
	names    request.Names
	policies []policy
	keys     []builtKey
	conds    []cond
	// by number of a condition, as conds
	steps []step // by condition
	tests []testList
	asked []askedRule
	nodes []node
	words int // of a set of conditions
	bytes int64
	// of all sets
	entries int
	files   map[string]setFile // by the name of the set, for the next engine
	digest  *digester

	numbers map[string]*mitigation.Numbers // by rule
	settles *Settler

	// Each answers, for a field of a request, with the set of conditions not ruled out.
	methods, hosts *texts
	paths          *paths
	networks       *networks
}

// Names returns the headers looked at.
func (e *Engine) Names() *request.Names { return &e.names }

// Clients returns who the client of a request is.
func (e *Engine) Clients() *request.Clients { return &e.clients }

// Bytes returns the memory the sets take.
func (e *Engine) Bytes() int64 { return e.bytes }

// Entries returns how many entries all sets have.
func (e *Engine) Entries() int { return e.entries }

// Len returns how many policies there are.
func (e *Engine) Len() int { return len(e.policies) }

// Off reports whether policy i matches nothing: by its mode, or because its time is over.
func (e *Engine) Off(i int) bool { return e.policies[i].off }

// Hides reports whether a policy keeps the values of the header called name, in lower case, out of
// its keys.
func (e *Engine) Hides(name []byte) bool {
	at := e.names.Index(name)
	return at >= 0 && slices.ContainsFunc(e.policies, func(p policy) bool {
		return slices.ContainsFunc(slices.Concat(p.Key.Parts...), func(part Part) bool {
			return part.field.Kind == condition.Header && part.field.Name == string(name) &&
				part.secret()
		})
	})
}

// Policy returns policy i. The caller must not change the result.
func (e *Engine) Policy(i int) *Policy { return e.policies[i].Policy }
