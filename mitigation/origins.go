package mitigation

import (
	"strings"

	"github.com/headgate-dev/headgate/window"
)

// Share is one origin's part in a key, as its owner knows it.
type Share struct {
	PoP   string
	Alone bool           // nodes of the PoP that count alone, together
	Rate  float64        // offered there of late, cost a second
	Ratio Ratio          // to refuse there while it is asked for Rate
	Heard window.Instant // when Rate was told last
}

// Shares returns the part of every origin that is heard, in the order they first came.
func (a *Account) Shares(now window.Instant) []Share {
	var all []Share
	ratio := View{Sum: a.sum, Limit: a.Limit(), Shed: a.shed}.Ratio(0, 0) // of one that is asked for what it told
	for _, name := range a.order {
		o := a.origins[name]
		if a.silent(now, name, o) && a.guarded == 0 {
			continue
		}
		pop, alone := strings.CutSuffix(name, Alone(""))
		all = append(all, Share{PoP: pop, Alone: alone, Rate: o.demand.Rate, Heard: o.heard, Ratio: ratio})
	}
	return all
}
