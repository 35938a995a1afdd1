package edge

import (
	"fmt"
	"strconv"

	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// lifting is what there is to know of one key when somebody asks what would let it through.
type lifting struct {
	rule   *rule
	key    []byte
	now    window.Instant
	flag   *mitigation.Flag // nil: none
	count  window.Count     // of a peek of cost 1
	answer wire.Answer      // to that peek
	lost   bool             // the view that the rule's scope asks for
	afar   bool             // it is the other PoPs that are not heard
	world  *KeyWorldView    // nil: the key is not the world's
}

// why returns what refuses the key, also where the rule is in shadow and the answer does not say.
func (c *lifting) why() mitigation.Why {
	switch {
	case c.answer.Status != wire.Deny && !c.answer.Shadow:
		return mitigation.Unrefused
	case c.answer.Why == wire.WhyBlock, c.answer.Shadow && c.flag != nil && c.flag.Action == mitigation.Block:
		return mitigation.ByBlock
	case c.answer.Why == wire.WhyShed, c.answer.Shadow && c.count.Fits && !c.deniesLost():
		return mitigation.ByShed
	}
	return mitigation.ByLimit
}

// words says in plain words what would let the key through.
func (c *lifting) words() string {
	switch {
	case c.rule.Mode == mitigation.Off:
		return "nothing to lift: the rule is off"
	case c.why() == mitigation.Unrefused:
		return c.passing()
	case c.rule.Mode == mitigation.Shadow:
		return "nothing to lift: the rule is in shadow and lets everything pass; were it enforced, " + c.refused()
	}
	return c.refused()
}

// passing says why nothing needs to be lifted.
func (c *lifting) passing() string {
	switch {
	case c.flag != nil && c.flag.Action == mitigation.Allow:
		return fmt.Sprintf("nothing to lift: allowed by hand (%s) for another %s", c.flag.Origin, c.flagLeft())
	case c.lost && c.rule.FailureMode == mitigation.FailAllow:
		return "nothing to lift: the view of the " + c.whose() + " is lost and failure_mode is allow"
	}
	return fmt.Sprintf("nothing to lift: %d of %d left", c.answer.Remaining, c.rule.Limit)
}

// refused says when the refusing ends, and what ends it now.
func (c *lifting) refused() string {
	switch {
	case c.denied():
		return "the view of the " + c.whose() + " is lost and failure_mode is deny; requests pass again once " + c.found()
	case c.why() == mitigation.ByLimit:
		return c.counted()
	case c.flag == nil: // it ended a moment ago
		return "the flag has just ended"
	case c.why() == mitigation.ByBlock:
		return fmt.Sprintf("the block flag%s ends in %s; %s lifts it now", c.byWord(), c.flagLeft(), c.command("unblock"))
	case c.flag.Source == mitigation.Gossip && c.rule.world:
		return c.shedAfar()
	}
	return fmt.Sprintf("each request is drawn for: %.0f %% are refused; that ends in %s, and %s ends it now",
		c.flag.Ratio.Float()*100, c.flagLeft(), c.command("unblock"))
}

// shedAfar says why a key is shed over all PoPs. To lift the flag would not help for long: what is asked for sets it again.
func (c *lifting) shedAfar() string {
	because := "this PoP is asked for more than the limit and nothing is heard of the others"
	if c.world != nil && c.world.AgeSeconds != nil {
		because = fmt.Sprintf("all PoPs together are asked for %s a second and %s may pass", rateOf(c.world.OfferedRate), rateOf(c.world.LimitRate))
	}
	return fmt.Sprintf("each request is drawn for: %.0f %% are refused, because %s; that ends when less is asked for, and %s ends it now",
		c.flag.Ratio.Float()*100, because, c.command("allow"))
}

// rateOf renders a rate: 50000, 12.5, 0.083.
func rateOf(rate float64) string {
	if rate >= 100 {
		return strconv.FormatFloat(rate, 'f', 0, 64)
	}
	return strconv.FormatFloat(rate, 'g', 3, 64)
}

// byWord names the PoP that said so; "" when it is this node.
func (c *lifting) byWord() string {
	if c.flag.Source != mitigation.Gossip || c.flag.Origin == "" {
		return ""
	}
	return ", the count of all PoPs by word of " + c.flag.Origin + ","
}

// whose names whose view is lost, and found what brings it back.
func (c *lifting) whose() string {
	if c.afar {
		return "world"
	}
	return "PoP"
}

func (c *lifting) found() string {
	if c.afar {
		return "another node is heard by gossip"
	}
	return "the ring answers"
}

// denied reports whether it is the rule's failure mode that refuses.
func (c *lifting) denied() bool { return c.deniesLost() && c.why() == mitigation.ByLimit }

// deniesLost reports whether the rule refuses because its view is lost, whatever was counted.
func (c *lifting) deniesLost() bool { return c.lost && c.rule.FailureMode == mitigation.FailDeny }

// counted says when enough of what was admitted leaves the window.
func (c *lifting) counted() string {
	return fmt.Sprintf("%s from now the oldest of %d admitted leaves the window", spanOf(c.count.Wait), c.count.Used) + c.orSooner()
}

// orSooner says what comes of not waiting for that; "" when nothing does.
func (c *lifting) orSooner() string {
	switch {
	case c.rule.Action == mitigation.Block:
		return ", but a check before then blocks the key for " + spanOf(c.rule.BlockFor)
	case c.flag != nil:
		return "; " + c.command("unblock") + " forgets them now"
	}
	return ""
}

func (c *lifting) flagLeft() string { return spanOf(c.flag.Until.Sub(c.now)) }

// command is what to type to do that to the key, fit to be pasted.
func (c *lifting) command(does string) string {
	dashes := ""
	if c.key[0] == '-' || c.rule.Name[0] == '-' {
		dashes = "-- "
	}
	return fmt.Sprintf("`headgate %s %s%s %s`", does, dashes, c.rule.Name, shellWord(c.key))
}

func decimalOf(n int64) string { return strconv.FormatInt(n, 10) }
