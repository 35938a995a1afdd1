package ask

import (
	"fmt"
	"strings"

	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/mitigation"
)

// earlier is how many generations stay in force for tickets, beside the present.
const earlier = 3

// generation holds the policies the records of tickets refer to: the rules by number, and of the
// policies asking how each settles a response. Sets of policies with the same such part are the
// same generation, whatever the sets of addresses and the policies asking nothing.
type generation struct {
	number   uint32 // from 1
	spelling string // equal for equal generations
	rules    [][]byte
	settles  *policy.Settler // nil: there are no policies
	before   *generation     // of its tickets; nil: none, or earlier were kept
}

// next returns the generation of e and the rules all names, after g: g itself if both are alike.
func (g *generation) next(e *policy.Engine, all []mitigation.Rule) *generation {
	n := &generation{number: g.number + 1, settles: e.Settler(), before: g.cut(earlier - 1)}
	var spelling strings.Builder
	for i := range all {
		n.rules = append(n.rules, []byte(all[i].Name))
		fmt.Fprintf(&spelling, "%s,", all[i].Name)
	}
	spelling.WriteString(n.settles.Spelling())
	if n.spelling = spelling.String(); g.spelling == n.spelling {
		n.number, n.before = g.number, g.before
	}
	return n
}

// cut returns g with at most more generations before g. A copy: requests read g meanwhile.
func (g *generation) cut(more int) *generation {
	if g == nil || g.number == 0 {
		return nil
	}
	short := *g
	if short.before = nil; more > 0 {
		short.before = g.before.cut(more - 1)
	}
	return &short
}

// of returns the generation of number, g or earlier; nil: it is gone.
func (g *generation) of(number uint32) *generation {
	for ; g != nil; g = g.before {
		if g.number == number {
			return g
		}
	}
	return nil
}
