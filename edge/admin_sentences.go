package edge

import (
	"fmt"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
)

// sentences says in plain sentences, the verdict first, why the key would now be let pass or refused: by which count or whose
// word, until when, and what would change it. v is what else is known of the key.
func (c *lifting) sentences(v *ExplainView) []string {
	if c.rule.Mode == mitigation.Off {
		return []string{"The rule is off: it neither counts nor refuses, so every request is allowed."}
	}
	all := []string{c.verdictSays(), c.groundSays(v)}
	if loss := c.lossSays(); loss != "" {
		all = append(all, loss)
	}
	return append(all, c.changeSays())
}

// drawn reports whether each request is drawn for, and nothing else refuses.
func (c *lifting) drawn() bool {
	return c.flag != nil && c.flag.Action == mitigation.Shed && c.flag.Ratio > 0 && c.count.Fits && !c.denied()
}

func (c *lifting) verdictSays() string {
	shadow := c.rule.Mode == mitigation.Shadow
	switch {
	case c.drawn() && shadow:
		return fmt.Sprintf("A request with this key would be allowed now, but only because the rule is in shadow: enforced, %s of such requests would be refused.",
			percentOf(c.flag.Ratio.Float()))
	case c.drawn():
		return fmt.Sprintf("Of the requests with this key %s are refused now, each by a draw of its own.", percentOf(c.flag.Ratio.Float()))
	case c.why() == mitigation.Unrefused:
		return "A request with this key would be allowed now."
	case shadow:
		return "A request with this key would be allowed now, but only because the rule is in shadow: enforced, it would be refused."
	}
	return "A request with this key would be refused now."
}

// groundSays names what the verdict rests on.
func (c *lifting) groundSays(v *ExplainView) string {
	limit := fmt.Sprintf("%d in %s", c.rule.Limit, spanOf(c.rule.Window))
	switch {
	case c.flag != nil && c.flag.Source == mitigation.Manual:
		return c.handSays(v)
	case c.denied():
		return fmt.Sprintf("The view of the %s is lost, and the rule's failure_mode is deny: everything is refused that is not allowed by hand.", c.whose())
	case c.flag != nil && c.flag.Action == mitigation.Block:
		return fmt.Sprintf("It went over the limit of %s, %s ago by %s, and is blocked %s.", limit, spanOf(c.now.Sub(c.flag.Since)), c.blocker(), c.untilSays(v))
	case c.drawn():
		return c.askedSays(v, limit)
	case c.why() == mitigation.ByLimit || v.Suspect:
		return fmt.Sprintf("By %s it used %d of the limit of %s, and asked for %d.", countersOf(v.View), c.count.Used, limit, v.Offered)
	case v.Estimate == 0:
		return fmt.Sprintf("It was not asked for in the last %s.", spanOf(c.rule.Window))
	}
	return fmt.Sprintf("The sketch saw at most %d of it in the last %s; from %.0f on it would be counted exactly, and only exact counts refuse.",
		v.Estimate, spanOf(c.rule.Window), v.PromoteAt)
}

// handSays names the operator whose word stands.
func (c *lifting) handSays(v *ExplainView) string {
	did, at, because := "blocked", "", ""
	if c.flag.Action == mitigation.Allow {
		did = "allowed"
	}
	if v.Flag.Node != "" {
		at = " at " + v.Flag.Node
	}
	if c.flag.Reason != "" {
		because = fmt.Sprintf(" (%q)", c.flag.Reason)
	}
	return fmt.Sprintf("It was %s by hand %s ago, by %s%s%s: an operator's word stands above every count, this one %s.",
		did, spanOf(c.now.Sub(c.flag.Since)), c.flag.Origin, at, because, c.untilSays(v))
}

// blocker names whose count set a block.
func (c *lifting) blocker() string {
	switch c.flag.Source {
	case mitigation.Gossip:
		return "the count of all PoPs, as " + c.flag.Origin + " says"
	case mitigation.Ring:
		return "the count of this PoP's nodes"
	}
	return "this node's exact count"
}

// countersOf names those whose counts a view rests on.
func countersOf(view string) string {
	switch view {
	case mitigation.Global.String():
		return "the counts of all PoPs"
	case mitigation.PoP.String():
		return "the counts of this PoP's nodes"
	}
	return "this node's exact count"
}

// askedSays says what is asked for where a key is shed by a ratio.
func (c *lifting) askedSays(v *ExplainView, limit string) string {
	switch {
	case v.World != nil && v.World.AgeSeconds != nil:
		by := "another node"
		if v.World.Owner != "" {
			by = v.World.Owner
		}
		return fmt.Sprintf("All PoPs together are asked for %s a second, as %s adds up, and %s may pass.", rateOf(v.World.OfferedRate), by, rateOf(v.World.LimitRate))
	case v.Ring != nil && v.Ring.AgeSeconds != nil:
		return fmt.Sprintf("The nodes of this PoP together are asked for %s a second, and the limit is %s.", rateOf(v.Ring.OfferedRate), limit)
	}
	return fmt.Sprintf("More is asked for than the limit of %s.", limit)
}

// lossSays says what is done about a view that is lost; empty when it is not, or that is the ground already.
func (c *lifting) lossSays() string {
	if !c.lost || c.denied() {
		return ""
	}
	does := "this node goes by its own counts"
	switch c.rule.FailureMode {
	case mitigation.FailAllow:
		does = "only a flag refuses"
	case mitigation.FailDeny:
		does = "what is not allowed by hand is refused"
	}
	return fmt.Sprintf("The view of the %s is lost, and the rule's failure_mode is %s: %s until %s.", c.whose(), c.rule.FailureMode, does, c.found())
}

// changeSays says what ends a refusal, or brings one.
func (c *lifting) changeSays() string {
	switch {
	case c.flag != nil && c.flag.Action == mitigation.Allow:
		return c.command("unblock") + " has its count judge it again."
	case c.drawn() && c.flag.Source == mitigation.Gossip && c.rule.world:
		return "That ends when less is asked for; " + c.command("allow") + " ends it now."
	case c.drawn():
		return fmt.Sprintf("That ends in %s, unless too much is still asked for; %s ends it now.", c.flagLeft(), c.command("unblock"))
	case c.denied():
		return "Requests pass again once " + c.found() + "."
	case c.why() == mitigation.ByLimit:
		return c.roomSays()
	case c.why() != mitigation.Unrefused:
		words := c.refused()
		return strings.ToUpper(words[:1]) + words[1:] + "."
	case c.lost && c.rule.FailureMode == mitigation.FailAllow:
		return "What is asked for meanwhile is counted all the same."
	}
	past := "what comes on top is refused until earlier ones leave the window"
	if c.rule.Action == mitigation.Block {
		past = "one more than that blocks the key for " + spanOf(c.rule.BlockFor)
	}
	return fmt.Sprintf("There is room for %d more; %s.", c.answer.Remaining, past)
}

// roomSays says when a key that its count refuses may pass again.
func (c *lifting) roomSays() string {
	there := "There is"
	if c.rule.Mode == mitigation.Shadow {
		there = "There would be"
	}
	return fmt.Sprintf("%s room again in %s, when the oldest of the %d admitted leaves the window%s.",
		there, spanOf(c.count.Wait), c.count.Used, c.orSooner())
}

// untilSays says when the flag ends.
func (c *lifting) untilSays(v *ExplainView) string {
	form := time.TimeOnly
	if c.flag.Until.Sub(c.now) >= 12*time.Hour {
		form = time.DateTime
	}
	return fmt.Sprintf("until %s UTC, in %s", v.Flag.Expires.Format(form), c.flagLeft())
}

// percentOf renders a share: 83 %, 0.4 %.
func percentOf(share float64) string {
	if share < 0.1 {
		return fmt.Sprintf("%.1f %%", share*100)
	}
	return fmt.Sprintf("%.0f %%", share*100)
}
