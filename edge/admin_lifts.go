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
		return "nothing to lift: the view of the PoP is lost and failure_mode is allow"
	}
	return fmt.Sprintf("nothing to lift: %d of %d left", c.answer.Remaining, c.rule.Limit)
}

// refused says when the refusing ends, and what ends it now.
func (c *lifting) refused() string {
	switch {
	case c.denied():
		return "the view of the PoP is lost and failure_mode is deny; requests pass again once the ring answers"
	case c.why() == mitigation.ByLimit:
		return c.counted()
	case c.flag == nil: // it ended a moment ago
		return "the flag has just ended"
	case c.why() == mitigation.ByBlock:
		return fmt.Sprintf("the block flag ends in %s; %s lifts it now", c.flagLeft(), c.unblock())
	}
	return fmt.Sprintf("each request is drawn for: %.0f %% are refused; that ends in %s, and %s ends it now",
		c.flag.Ratio.Float()*100, c.flagLeft(), c.unblock())
}

// denied reports whether it is the rule's failure mode that refuses.
func (c *lifting) denied() bool { return c.deniesLost() && c.why() == mitigation.ByLimit }

// deniesLost reports whether the rule refuses because its view is lost, whatever was counted.
func (c *lifting) deniesLost() bool { return c.lost && c.rule.FailureMode == mitigation.FailDeny }

// counted says when enough of what was admitted leaves the window.
func (c *lifting) counted() string {
	text := fmt.Sprintf("%s from now the oldest of %d admitted leaves the window", spanOf(c.count.Wait), c.count.Used)
	switch {
	case c.rule.Action == mitigation.Block:
		return text + ", but a check before then blocks the key for " + spanOf(c.rule.BlockFor)
	case c.flag != nil:
		return text + "; " + c.unblock() + " forgets them now"
	}
	return text
}

func (c *lifting) flagLeft() string { return spanOf(c.flag.Until.Sub(c.now)) }

// unblock is the command that lifts the key's flag, fit to be pasted.
func (c *lifting) unblock() string {
	dashes := ""
	if c.key[0] == '-' || c.rule.Name[0] == '-' {
		dashes = "-- "
	}
	return fmt.Sprintf("`headgate unblock %s%s %s`", dashes, c.rule.Name, shellWord(c.key))
}

func decimalOf(n int64) string { return strconv.FormatInt(n, 10) }
