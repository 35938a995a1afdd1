package input

import (
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/wire"
)

// Load is a report of how busy a pool is.
type Load struct {
	Pool  []byte
	From  []byte // who says it; nil: the sender
	Share uint32 // of wire.ShareUnit
}

// LoadOf reads a report from a query or from JSON, as ActOf does. Such as
// pool=db&from=web-1&utilisation=0.93. Sources are named so two reporters of a pool are two,
// whatever their addresses.
func LoadOf(query, body []byte) (l Load, p *api.Problem) {
	list, p := oneOf(query, body)
	shared := false
	for i := range list {
		m := &list[i]
		switch name := string(m.Name); {
		case p != nil:
		case given(list[:i], m):
			p = api.GivenTwice(api.Shown(m.Name))
		case name == "pool":
			l.Pool = m.Value
		case name == "from":
			if l.From = m.Value; len(m.Value) < 1 || len(m.Value) > wire.MaxSource {
				p = api.BadParameter(name, "must have 1 to 64 bytes")
			}
		case name == "utilisation":
			if l.Share, shared = wire.ParseShare(m.Value); !shared {
				p = api.BadParameter(name, "must be a number of 0 to 1 in decimal digits, such "+
					"as 0.93")
			}
		default:
			p = api.BadParameter(api.Shown(m.Name), "is not a member of this request")
		}
	}
	switch {
	case p != nil:
	case len(l.Pool) == 0:
		p = api.BadParameter("pool", "is missing")
	case !shared:
		p = api.BadParameter("utilisation", "is missing")
	}
	return l, p
}
