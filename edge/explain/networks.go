package explain

import (
	"fmt"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// few reports whether the limit of a network denies nothing, because too few narrower keys asked.
func (c *explanation) few() bool { return c.Siblings < c.Rule.Siblings }

// siblingsSay says how many narrower keys asked, under the rule of a network; empty under others.
func (c *explanation) siblingsSay() string {
	switch {
	case c.Rule.Siblings == 0:
		return ""
	case c.few():
		return fmt.Sprintf("Of the narrower keys in it %d asked in the last %s: below %d its "+
			"limit denies nothing.", c.Siblings, c.span(), c.Rule.Siblings)
	}
	return fmt.Sprintf("Of the narrower keys in it at least %d asked in the last %s, so its "+
		"limit is in force.", c.Rule.Siblings, c.span())
}

// viewSiblings returns the narrower keys under the rule of a network; nil under others.
func (c *explanation) viewSiblings() *api.SiblingsView {
	if c.Rule.Siblings == 0 {
		return nil
	}
	return &api.SiblingsView{Asked: c.Siblings, Needed: c.Rule.Siblings}
}

// drawSays names the part by which a drop ratio is drawn; each stands before "at random".
func (c *explanation) drawSays(each string) string {
	if c.Rule.ShedBy == "" {
		return each + "at random"
	}
	return fmt.Sprintf("by %s, the same ones for %s and then others",
		c.Rule.ShedBy, Span(c.Rule.Epoch))
}

// byText says of whom the draw for a value of the part is told, in the texts: client 203.0.113.7.
func (c *explanation) byText() string { return c.Rule.ShedBy + " " + api.EscapeKey(c.by) }

// epochLeft returns the time until the running epoch ends, and others are drawn.
func (c *explanation) epochLeft() time.Duration {
	epoch := max(c.Rule.Epoch, mitigation.MinEpoch)
	return epoch - time.Duration(c.now)%epoch
}

// fate reports whether the ratio in force denies the requests with the part asked for until the
// epoch ends. known is false where none was asked for, or there is no ratio.
func (c *explanation) fate() (denied, known bool) {
	return c.why() == mitigation.ByShed, len(c.by) > 0 && c.Rule.ShedBy != "" && c.drawn()
}

// fateSays says whether the requests with the part asked for are denied in this epoch; empty where
// that is not known.
func (c *explanation) fateSays() string {
	does := "pass"
	switch denied, known := c.fate(); {
	case !known:
		return ""
	case denied && c.Rule.Mode == mitigation.Shadow:
		does = "would be denied, were the rule enforced,"
	case denied:
		does = "are denied"
	}
	return fmt.Sprintf("Those of %s %s for another %s, then it is drawn again.", c.byText(), does,
		Span(c.epochLeft()))
}

// viewShedBy returns the part by which the rule's drop ratio is drawn; nil where it is drawn for
// each request.
func (c *explanation) viewShedBy(at func(window.Instant) time.Time) *api.ShedByView {
	if c.Rule.ShedBy == "" {
		return nil
	}
	v := &api.ShedByView{
		Part: c.Rule.ShedBy, Epoch: c.Rule.Epoch.Seconds(),
		Ends: at(c.now.Add(c.epochLeft())),
	}
	if denied, known := c.fate(); known {
		v.By, v.Denied = api.EscapeKey(c.by), &denied
	}
	return v
}

// viewBlast returns the clients of the key; nil under a rule that does not count them.
func (c *explanation) viewBlast() *api.KeyBlastView {
	if c.Rule.MaxBlast == 0 {
		return nil
	}
	return &api.KeyBlastView{
		Clients: c.Blast, Most: c.Rule.MaxBlast,
		Sheds: c.Blast > c.Rule.MaxBlast,
	}
}

// blastSays says how many clients a block of the key denies, or would; empty where none was
// counted.
func (c *explanation) blastSays() string {
	if c.Blast == 0 {
		return ""
	}
	if c.Blast > c.Rule.MaxBlast {
		return fmt.Sprintf("A block would deny about %d clients, more than max_blast %d, so it "+
			"sheds instead.", c.Blast, c.Rule.MaxBlast)
	}
	return fmt.Sprintf("About %d clients asked meanwhile; above max_blast %d a block sheds "+
		"instead.", c.Blast, c.Rule.MaxBlast)
}
