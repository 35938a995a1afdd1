package explain

import (
	"cmp"
	"slices"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// viewGlobal returns the state of key over all PoPs; nil when its rule is not global, or there is
// no gossip.
// standing is asked by key and not kept: it takes the lock of the coordinator, for a person's
// question only.
func viewGlobal(
	g *gate.Gate, standing Standing, now window.Instant, is *gate.Inspection, key []byte,
) *api.KeyGlobalView {
	if !is.Global || standing == nil {
		return nil
	}
	s := standing(now, is.Far, key)
	v := &api.KeyGlobalView{
		PoPRate: s.Rate, Owner: s.Owner, Standby: s.Standby, Reporter: s.Reporter,
		Alone: s.Alone,
		PoPs:  viewPoPs(now, s.Parts),
	}
	if s.Viewed == 0 { // nothing has come from the key's owner yet
		return v
	}
	// Not below 0: a view may have come after now was read.
	age := max(0, now.Sub(s.Viewed)).Seconds()
	v.AgeSeconds, v.OfferedRate, v.LimitRate, v.Shed = &age, s.View.Sum, s.View.Limit, s.View.Shed
	v.ShareRate = s.View.Share
	if s.Ratio > 0 {
		// The ratio as this node applies it, by its own count, and not as it was sent: this node
		// decides.
		v.Ratio = g.RatioByCount(&is.Rule, s.Ratio, is.Evidence.Offered, s.RateOnly).Float()
	}
	if s.View.Others.Period != 0 {
		offered, admitted := int64(0), int64(0)
		for _, by := range s.View.Others.By {
			offered, admitted = offered+by.Offered, admitted+by.Admitted
		}
		v.Others = &api.KeyOthersView{
			Offered: Amount(&is.Rule, offered), Admitted: Amount(&is.Rule, admitted),
		}
	}
	return v
}

// viewPoPs returns the rate each PoP is offered, by name. Parts of a PoP keep their order: their
// ages change from call to call.
func viewPoPs(now window.Instant, parts []control.Part) []api.KeyPoPView {
	var all []api.KeyPoPView
	for _, s := range parts {
		all = append(all, api.KeyPoPView{
			PoP: s.PoP, Alone: s.Alone, OfferedRate: s.Rate, ShareRate: s.Share,
			Ratio: s.Ratio.Float(), AgeSeconds: max(0, now.Sub(s.ReportedAt)).Seconds(),
		})
	}
	slices.SortStableFunc(all, func(a, b api.KeyPoPView) int { return cmp.Compare(a.PoP, b.PoP) })
	return all
}
