package explain

import (
	"fmt"

	"github.com/headgate-dev/headgate/edge/api"
)

// few reports whether the limit of a network denies nothing, because too few narrower keys asked.
func (c *explanation) few() bool { return c.Siblings < c.Rule.Siblings }

// siblingsSay says how many narrower keys asked, under the rule of a network; empty under others.
func (c *explanation) siblingsSay() string {
	switch {
	case c.Rule.Siblings == 0:
		return ""
	case c.few():
		return fmt.Sprintf("Of the narrower keys in it %d asked in the last %s: below %d its limit denies nothing.", c.Siblings, c.span(), c.Rule.Siblings)
	}
	return fmt.Sprintf("Of the narrower keys in it at least %d asked in the last %s, so its limit is in force.", c.Rule.Siblings, c.span())
}

// viewSiblings returns the narrower keys under the rule of a network; nil under others.
func (c *explanation) viewSiblings() *api.SiblingsView {
	if c.Rule.Siblings == 0 {
		return nil
	}
	return &api.SiblingsView{Asked: c.Siblings, Needed: c.Rule.Siblings}
}

// drawSays says by what a drop ratio is drawn; each stands before "at random".
func (c *explanation) drawSays(each string) string {
	if c.Rule.ShedBy == "" {
		return each + "at random"
	}
	return fmt.Sprintf("by %s, the same ones for %s and then others", c.Rule.ShedBy, Span(c.Rule.Epoch))
}

// blastSays says how many clients a block of the key denies, or would.
func (c *explanation) blastSays() string {
	if c.Blast > c.Rule.MaxBlast {
		return fmt.Sprintf("A block would deny about %d clients, more than max_blast %d, so it sheds instead.", c.Blast, c.Rule.MaxBlast)
	}
	return fmt.Sprintf("About %d clients asked meanwhile; above max_blast %d a block sheds instead.", c.Blast, c.Rule.MaxBlast)
}
