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
	Ratio Ratio          // to refuse there, as follows from Rate
	Heard window.Instant // when Rate was told last
}

// Shares returns the part of every origin that is heard, in the order they first came.
func (a *Account) Shares(now window.Instant) []Share {
	var all []Share
	for _, name := range a.order {
		o := a.origins[name]
		if a.silent(now, name, o) && a.guarded == 0 {
			continue
		}
		pop, alone := strings.CutSuffix(name, Alone(""))
		all = append(all, Share{
			PoP: pop, Alone: alone, Rate: o.demand.Rate, Heard: o.heard,
			Ratio: a.View(now, name).Ratio(o.demand.Rate, o.demand.Over),
		})
	}
	return all
}
