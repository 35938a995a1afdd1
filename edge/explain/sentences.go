package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/mitigation"
)

// sentences returns three sentences or more, or a when the rule is off: the verdict on the next
// request, its ground (a count, or an operator), the room of each tier, the networks and the
// clients of the key, a lost view, and the way to change the verdict. v is the view the sentences
// go into, with its flag and counts filled in. Verdict, ground, way out: in this order, since most
// readers stop after the first, and the last is advice.
func (c *explanation) sentences(v *api.ExplainView) []string {
	if c.Rule.Mode == mitigation.Off {
		return []string{"The rule is off: it neither counts nor denies, so every request is " +
			"allowed."}
	}
	all := []string{c.verdictSays(), c.groundSays(v)}
	for _, more := range [...]string{
		c.fateSays(), c.reserveSays(), c.siblingsSay(),
		ladderSays(v.Ladder), c.blastSays(), c.lossSays(),
	} {
		if more != "" {
			all = append(all, more)
		}
	}
	return append(all, c.changeSays())
}

// drawn reports whether a ratio decides on each request by a draw, and nothing else refuses.
func (c *explanation) drawn() bool {
	return c.Flag != nil && c.Flag.Action == mitigation.Shed && c.Flag.Ratio > 0 &&
		c.Count.Fits && !c.denied()
}

// verdictSays states the verdict on the next request. For a key drawn for there is no single
// verdict: it states the refused share.
func (c *explanation) verdictSays() string {
	shadow := c.Rule.Mode == mitigation.Shadow
	switch {
	case c.drawn() && shadow:
		return fmt.Sprintf("A request with this key would be allowed now, but only because the "+
			"rule is in shadow: enforced, %s of such requests would be denied.",
			percentOf(c.Flag.Ratio.Float()))
	case c.drawn():
		return fmt.Sprintf("Of the requests with this key %s are denied now, %s.",
			percentOf(c.Flag.Ratio.Float()), c.drawSays("each "))
	case c.why() == mitigation.Unrefused:
		return "A request with this key would be allowed now."
	case shadow:
		return "A request with this key would be allowed now, but only because the rule is in " +
			"shadow: enforced, it would be denied."
	case c.why() == mitigation.ByReserve:
		return "A request with this key would be denied now, unless it is of a tier with a reserve."
	}
	if wait, waits := c.wait(); waits {
		return fmt.Sprintf("A request with this key that can wait would be allowed %s later; any "+
			"other would be denied now.", threeDigits(wait.Round(time.Millisecond)))
	}
	return "A request with this key would be denied now."
}

// groundSays names the ground of the verdict: an operator, a lost view, a flag or a count, in this
// order of precedence. The last two cases are keys that only the sketch knows.
func (c *explanation) groundSays(v *api.ExplainView) string {
	limit := c.limitSays()
	switch {
	case c.Flag != nil && c.Flag.Source == mitigation.Manual:
		return c.handSays(v)
	case c.denied():
		return fmt.Sprintf("The view of %s is lost, and the rule's failure_mode is deny: every "+
			"key without a manual allow is denied.", c.scope())
	case c.Flag != nil && c.Flag.Action == mitigation.Block:
		return fmt.Sprintf("It went over the limit of %s, %s ago by %s, and is blocked %s.", limit,
			Span(c.now.Sub(c.Flag.Since)), c.blocker(), c.untilSays(v)) + c.strikesSay()
	case c.drawn():
		return c.askedSays(v, limit)
	case c.isBucket() && v.Suspect:
		return c.bucketSays(v)
	case c.Count.Brief:
		return fmt.Sprintf("It is held by rate at its limit of %s: no exact slot was free.", limit)
	case c.why() == mitigation.ByLimit || v.Suspect:
		return fmt.Sprintf("By %s it used %v of the limit of %s and offered %v.",
			countersOf(v.View), c.amount(c.Count.Used), limit, v.Offered)
	case v.Estimate == 0:
		return fmt.Sprintf("No request with this key arrived in the last %s.", c.span())
	}
	return fmt.Sprintf("The sketch saw at most %v of it in the last %s; from %.0f on the key is "+
		"counted exactly, and only exact counts deny.",
		v.Estimate, c.span(), v.PromoteAt)
}

// handSays names the operator who set the flag by hand.
func (c *explanation) handSays(v *api.ExplainView) string {
	did, at, because := "blocked", "", ""
	if c.Flag.Action == mitigation.Allow {
		did = "allowed"
	}
	if v.Flag.Node != "" {
		at = " at " + v.Flag.Node
	}
	if c.Flag.Reason != "" {
		because = fmt.Sprintf(" (%q)", c.Flag.Reason)
	}
	if c.holder() {
		did += " with its network " + api.EscapeKey(c.Flag.Key)
	}
	return fmt.Sprintf("It was %s by hand %s ago, by %s%s%s: an operator's override outranks "+
		"every count, this one %s.",
		did, Span(c.now.Sub(c.Flag.Since)), c.Flag.Origin, at, because, c.untilSays(v))
}

// blocker names the count that set a block: this node's, its PoP's, or that of all PoPs.
func (c *explanation) blocker() string {
	switch c.Flag.Source {
	case mitigation.Gossip:
		return "the count of all PoPs, reported by " + c.Flag.Origin
	case mitigation.Ring:
		return "the count of this PoP's nodes"
	}
	return "this node's exact count"
}

// countersOf names the counts a view rests on.
func countersOf(view string) string {
	switch view {
	case mitigation.Global.String():
		return "the counts of all PoPs"
	case mitigation.PoP.String():
		return "the counts of this PoP's nodes"
	}
	return "this node's exact count"
}

// askedSays states the offered rate behind a ratio, in cost a second, by the widest count there is.
// limit is the limit in words.
func (c *explanation) askedSays(v *api.ExplainView, limit string) string {
	switch {
	case v.Global != nil && v.Global.AgeSeconds != nil:
		by := "another node"
		if v.Global.Owner != "" {
			by = v.Global.Owner
		}
		return fmt.Sprintf("All PoPs together receive %s a second (summed by %s), and %s may pass.",
			rateOf(v.Global.OfferedRate), by, rateOf(v.Global.LimitRate))
	case v.Ring != nil && v.Ring.AgeSeconds != nil:
		return fmt.Sprintf("The nodes of this PoP together receive %s a second; the limit is %s.",
			rateOf(v.Ring.OfferedRate), limit)
	}
	return fmt.Sprintf("Its requests exceed the limit of %s.", limit)
}

// lossSays states the effect of a lost view; empty when it is not lost, or when that is the ground
// already.
func (c *explanation) lossSays() string {
	if !c.ViewLost || c.denied() {
		return ""
	}
	does := "this node enforces the limit by its own counts"
	switch c.Rule.FailureMode {
	case mitigation.FailAllow:
		does = "only a mitigation in force denies"
	case mitigation.FailDeny:
		does = "every key without a manual allow is denied"
	}
	return fmt.Sprintf("The view of %s is lost, and the rule's failure_mode is %s: %s until %s.",
		c.scope(), c.Rule.FailureMode, does, c.found())
}

// changeSays states the event or the command ending a refusal, or would bring a refusal. Its
// commands are fit to be pasted.
func (c *explanation) changeSays() string {
	switch {
	case c.Flag != nil && c.Flag.Action == mitigation.Allow:
		return c.command("unblock") + " makes its count decide again."
	case c.drawn() && c.Flag.Source == mitigation.Gossip && c.Global:
		return "That ends when fewer requests arrive; " + c.command("allow") + " ends it now."
	case c.drawn():
		return fmt.Sprintf("That ends in %s unless its requests still exceed the limit; %s ends "+
			"it now.", c.flagLeft(), c.command("unblock"))
	case c.denied():
		return "Requests pass again once " + c.found() + "."
	case c.why() == mitigation.ByReserve:
		return "There is room again for requests without a reserve when others leave some" +
			c.inTime() + "."
	case c.why() == mitigation.ByLimit:
		return c.roomSays()
	case c.why() != mitigation.Unrefused:
		text := c.refused()
		return strings.ToUpper(text[:1]) + text[1:] + "."
	case c.ViewLost && c.Rule.FailureMode == mitigation.FailAllow:
		return "Requests are still counted meanwhile."
	case c.few():
		return fmt.Sprintf("Beyond its limit it is denied once %d narrower keys ask within %s.",
			c.Rule.Siblings, c.span())
	}
	// the key passes: the next change is the limit
	past := "requests beyond that are denied until earlier ones leave the window"
	if c.isBucket() {
		past = c.pastSays()
	}
	if c.Rule.Action == mitigation.Block {
		past = "one more than that blocks the key for " + Span(c.Rule.NextBlock(c.Strikes))
	}
	return fmt.Sprintf("There is room for %v more; %s.", c.amount(c.Decision.Remaining),
		past) + c.struckSays()
}

// roomSays states when a key its count refuses may pass again.
func (c *explanation) roomSays() string {
	there := "There is"
	if c.Rule.Mode == mitigation.Shadow {
		there = "There would be"
	}
	if c.isBucket() {
		return fmt.Sprintf("%s room again in %s, when a token is back%s.", there,
			Span(c.Count.Wait), c.orSooner())
	}
	return fmt.Sprintf("%s room again in %s, when the oldest of the %v admitted leaves the "+
		"window%s.",
		there, Span(c.Count.Wait), c.amount(c.Count.Used), c.orSooner())
}

// untilSays states when the flag ends, with the date when that is half a day away or more.
func (c *explanation) untilSays(v *api.ExplainView) string {
	form := time.TimeOnly
	if c.Flag.Until.Sub(c.now) >= 12*time.Hour {
		form = time.DateTime
	}
	return fmt.Sprintf("until %s UTC, in %s", v.Flag.Expires.Format(form), c.flagLeft())
}

// percentOf renders a share, 0..1: 83 %, 0.4 %. A decimal below 10 %, where a whole number would be
// off by a twentieth or more.
func percentOf(share float64) string {
	if share < 0.1 {
		return fmt.Sprintf("%.1f %%", share*100)
	}
	return fmt.Sprintf("%.0f %%", share*100)
}
