package explain

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// explanation is the knowledge of a key the texts are made of.
type explanation struct {
	gate.Inspection
	key []byte
	// value of the part by which the rule's drop ratio is drawn; nil: none was asked for
	by     []byte
	now    window.Instant
	global *api.KeyGlobalView // nil: its rule is not global, or there is no gossip
}

// why returns the reason for a refusal. In shadow the decision does not tell a flag from the count,
// so it is found from flag and count.
func (c *explanation) why() mitigation.Why {
	switch {
	case !c.Decision.Deny && !c.Decision.Shadow:
		return mitigation.Unrefused
	case c.Decision.Why == mitigation.ByBlock, c.Decision.Shadow && c.Flag != nil &&
		c.Flag.Action == mitigation.Block:
		return mitigation.ByBlock
	case c.reserved() && c.Decision.Why != mitigation.ByShed:
		return mitigation.ByReserve
	case c.Decision.Why == mitigation.ByShed, c.Decision.Shadow && c.Count.Fits && !c.deniesLost():
		return mitigation.ByShed
	}
	return mitigation.ByLimit
}

// lifts returns a line on the shortest way to let the key pass. It is read by somebody in a hurry:
// a line, with the command to type.
func (c *explanation) lifts() string {
	switch {
	case c.Rule.Mode == mitigation.Off:
		return "nothing to lift: the rule is off"
	case c.why() == mitigation.Unrefused:
		return c.passing()
	case c.Rule.Mode == mitigation.Shadow:
		return "nothing to lift: the rule is in shadow and allows everything; if enforced, " +
			c.refused()
	}
	return c.refused()
}

// passing is lifts for a key that passes: by hand, by the failure mode, or because there is room.
func (c *explanation) passing() string {
	switch {
	case c.Flag != nil && c.Flag.Action == mitigation.Allow:
		return fmt.Sprintf("nothing to lift: allowed by hand (%s) for another %s",
			c.Flag.Origin, c.flagLeft())
	case c.ViewLost && c.Rule.FailureMode == mitigation.FailAllow:
		return "nothing to lift: the view of " + c.scope() + " is lost and failure_mode is allow"
	}
	return fmt.Sprintf("nothing to lift: %v of %v left", c.amount(c.Decision.Remaining),
		c.amount(c.Rule.Quota()))
}

// refused says when a refusal ends by itself, and which command ends it now. The order of the cases
// is that of the decision: a lost view refuses before any count does.
func (c *explanation) refused() string {
	switch {
	case c.denied():
		return "the view of " + c.scope() + " is lost and failure_mode is deny; requests pass " +
			"again once " + c.found()
	case c.why() == mitigation.ByReserve:
		return "the rest of the limit is reserved for other tiers; it passes when others leave " +
			"room" + c.inTime()
	case c.why() == mitigation.ByLimit:
		return c.counted()
	case c.Flag == nil: // it changed between the two readings of Inspect
		return "the mitigation has just ended"
	case c.why() == mitigation.ByBlock:
		return fmt.Sprintf("the block%s ends in %s; %s lifts it now", c.byOwner(), c.flagLeft(),
			c.command("unblock"))
	case c.Flag.Source == mitigation.Gossip && c.Global:
		return c.shedGlobally()
	}
	return fmt.Sprintf("%.0f %% of its requests are denied %s; that ends in %s, and %s ends it now",
		c.Flag.Ratio.Float()*100, c.drawSays(""), c.flagLeft(), c.command("unblock"))
}

// shedGlobally says why a key is shed over all PoPs. Lifting the flag would not help for long: the
// offered rate sets it again. So the command is to allow the key.
func (c *explanation) shedGlobally() string {
	because := "this PoP receives more than the limit and no totals from other PoPs"
	if c.global != nil && c.global.AgeSeconds != nil {
		because = fmt.Sprintf("all PoPs together receive %s a second and %s may pass",
			rateOf(c.global.OfferedRate), rateOf(c.global.LimitRate))
	}
	return fmt.Sprintf("%.0f %% of its requests are denied %s, because %s; that ends when fewer "+
		"requests arrive, and %s ends it now",
		c.Flag.Ratio.Float()*100, c.drawSays(""), because, c.command("allow"))
}

// rateOf renders a rate, cost a second, by its three leading digits or all before the point: 50000,
// 12.5, 0.083.
func rateOf(rate float64) string {
	if rate >= 100 {
		return strconv.FormatFloat(rate, 'f', 0, 64)
	}
	return strconv.FormatFloat(rate, 'g', 3, 64)
}

// byOwner is a part of a sentence about a block. It names the PoP whose owner of the key set the
// flag; empty when this node set it.
func (c *explanation) byOwner() string {
	if c.Flag.Source != mitigation.Gossip || c.Flag.Origin == "" {
		return ""
	}
	return ", set by the count of all PoPs at " + c.Flag.Origin + ","
}

// scope names the scope of the lost view.
func (c *explanation) scope() string {
	if c.Remote {
		return "all PoPs"
	}
	return "the PoP"
}

// found names the event that brings the view back.
func (c *explanation) found() string {
	if c.Remote {
		return "gossip reaches another node"
	}
	return "the ring answers"
}

// denied reports whether the rule's failure mode is the reason for the refusal. A block stands
// above it: then the reason is the flag, although the view is lost as well.
func (c *explanation) denied() bool { return c.deniesLost() && c.why() == mitigation.ByLimit }

// deniesLost reports whether the rule refuses every key whose view is lost, whatever its count.
func (c *explanation) deniesLost() bool {
	return c.ViewLost && c.Rule.FailureMode == mitigation.FailDeny
}

// counted says when enough admitted cost leaves the window for another request.
func (c *explanation) counted() string {
	if wait, waits := c.wait(); waits {
		return fmt.Sprintf("a request that can wait passes after %s; %s from now a token is back "+
			"in its bucket", threeDigits(wait.Round(time.Millisecond)), Span(c.Count.Wait))
	}
	if c.isBucket() {
		return fmt.Sprintf("%s from now a token is back in its bucket",
			Span(c.Count.Wait)) + c.orSooner()
	}
	return fmt.Sprintf("%s from now the oldest of %v admitted leaves the window",
		Span(c.Count.Wait), c.amount(c.Count.Used)) + c.orSooner()
}

// orSooner names the effect of a request before then, or the command that forgets the count; empty
// when neither applies.
func (c *explanation) orSooner() string {
	switch {
	case c.Rule.Action == mitigation.Block:
		return ", but a check before then blocks the key for " + Span(c.Rule.NextBlock(c.Strikes))
	case c.Flag != nil:
		return "; " + c.command("unblock") + " clears the count now"
	}
	return ""
}

// inTime renders the time after which a denied request may pass; empty where none is known.
func (c *explanation) inTime() string {
	if c.Decision.Retry <= 0 {
		return ""
	}
	return ", in " + Span(c.Decision.Retry)
}

// flagLeft renders the time until the flag ends.
func (c *explanation) flagLeft() string { return Span(c.Flag.Until.Sub(c.now)) }

// command returns the command line of verb on the key, in backquotes. It is safe to paste into a
// shell, whatever bytes a stranger chose as the key. The flag of a network is lifted from the
// network.
func (c *explanation) command(verb string) string {
	dashes, key := "", c.key
	if verb == "unblock" && c.holder() {
		key = c.Flag.Key
	}
	if key[0] == '-' || c.Rule.Name[0] == '-' {
		dashes = "-- "
	}
	return fmt.Sprintf("`headgate %s %s%s %s`", verb, dashes, c.Rule.Name, shellWord(key))
}

// holder reports whether the flag is of a network holding the key.
func (c *explanation) holder() bool {
	return c.Flag != nil && c.Flag.Source == mitigation.Manual && len(c.Flag.Key) > 0 &&
		!bytes.Equal(c.Flag.Key, c.key)
}

// decimalOf renders n without grouping: 10000.
func decimalOf(n int64) string { return strconv.FormatInt(n, 10) }
