package explain

import (
	"fmt"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
)

// climbs reports whether the blocks of the key's rule grow longer.
func (c *explanation) climbs() bool {
	return c.Rule.Action == mitigation.Block && len(c.Rule.Ladder.Steps) > 0
}

// strikesSay says which block of its key this is, by a ladder, and how long the next one lasts;
// empty without a block.
func (c *explanation) strikesSay() string {
	if c.Strikes < 1 || !c.climbs() {
		return ""
	}
	return fmt.Sprintf(" It is block %d of the key in a row; another within %s of its end lasts "+
		"%s.", c.Strikes, Span(c.Rule.Ladder.Forget), Span(c.Rule.NextBlock(c.Strikes)))
}

// struckSays says how often a key that is not blocked was; empty if it was not.
func (c *explanation) struckSays() string {
	if c.Strikes < 1 || !c.climbs() {
		return ""
	}
	return fmt.Sprintf(" It was blocked %s before, which is forgotten in %s.", times(c.Strikes),
		Span(c.Forget.Sub(c.now)))
}

// times renders a number of times: once, twice, 3 times.
func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return decimalOf(int64(n)) + " times"
}

// viewStrikes returns the key's place on its rule's ladder; nil for a rule whose blocks are all as
// long.
func (c *explanation) viewStrikes(g *gate.Gate) *api.KeyStrikesView {
	if !c.climbs() {
		return nil
	}
	v := &api.KeyStrikesView{Blocks: c.Strikes, Next: c.Rule.NextBlock(c.Strikes).Seconds()}
	if c.Strikes > 0 {
		at := g.Shown(c.Forget).Truncate(time.Millisecond)
		v.Forgotten = &at
	}
	return v
}
