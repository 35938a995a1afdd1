package admin

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation/pool"
	"github.com/headgate-dev/headgate/window"
)

// pools answers the pools and their levels.
func (a *Door) pools(w http.ResponseWriter, r *http.Request) *api.Problem {
	return answerJSON(w, http.StatusOK,
		api.PoolsView{Now: a.gate.Shown(a.gate.Now()), Pools: viewPools(a.gate, a.options)})
}

// viewPools returns the views of all pools, in the order of the configuration.
func viewPools(g *gate.Gate, o Options) []api.PoolView {
	all := []api.PoolView{}
	if o.Requests != nil {
		for _, p := range o.Requests.Pools() {
			all = append(all, viewPool(g, &p))
		}
	}
	return all
}

// ticketsOf returns how many requests wait for the report of their response at now.
func ticketsOf(o Options, now window.Instant) uint64 {
	if o.Requests == nil {
		return 0
	}
	return o.Requests.Stats(now).Tickets
}

// viewPool returns the view of a pool.
func viewPool(g *gate.Gate, p *pool.View) api.PoolView {
	v := api.PoolView{
		Name: p.Name, Level: p.Level, Utilisation: p.Mean, Sources: p.Sources, Reports: p.Reports,
		Dropped: p.Crowded, Denied: p.Denied,
		ShedAbove:    float64(p.ShedAbove) / pool.Unit,
		RestoreBelow: float64(p.RestoreBelow) / pool.Unit,
	}
	// Absent rather than 1970 where no source has reported yet.
	if p.Heard != 0 {
		heard := g.Shown(p.Heard)
		v.Heard = &heard
	}
	for i, tier := range p.Order {
		v.Tiers = append(v.Tiers, api.TierView{Tier: tier, Ratio: p.Share(i)})
	}
	return v
}

// leases answers the leases of a key, or the keys holding most places under a rule.
func (a *Door) leases(w http.ResponseWriter, r *http.Request) *api.Problem {
	query, of, n, p := a.listed(r, topDefault)
	switch {
	case p != nil:
		return p
	case of == nil:
		return api.BadParameter("rule", "is missing")
	}
	now := a.gate.Now()
	view := api.LeasesView{Now: a.gate.Shown(now), Rule: of.Name, Limit: of.Limit}
	var err error
	if query.Get("key")+query.Get("shown") == "" {
		err = a.listHolders(&view, now, n)
	} else if key, p := adminKey(query.Get("key"), query.Get("shown")); p != nil {
		return p
	} else {
		view.Key = api.EscapeKey(key)
		err = a.listLeases(&view, now, key)
	}
	if errors.Is(err, gate.ErrKind) {
		return api.BadParameter("rule", "is not of kind concurrency: it has no leases")
	}
	return answerJSON(w, http.StatusOK, view)
}

// listLeases fills in the leases of key.
func (a *Door) listLeases(view *api.LeasesView, now window.Instant, key []byte) error {
	list, err := a.gate.Leases(now, []byte(view.Rule), key, gate.MaxLeases)
	for _, l := range list {
		view.Taken += l.Cost
		view.Leases = append(view.Leases, api.LeaseView{
			Lease: fmt.Sprintf("%016x", l.Number), Places: l.Cost, Since: a.gate.Shown(l.Since),
			Until: a.gate.Shown(l.Until),
		})
	}
	return err
}

// listHolders fills in the n keys holding most places. The keys of the table are cut at some length
// there; Cut says so, as the whole key cannot be had.
func (a *Door) listHolders(view *api.LeasesView, now window.Instant, n int) error {
	list, keys, err := a.gate.Holders(now, []byte(view.Rule), n)
	view.Keys = keys
	for _, h := range list {
		view.Held = append(view.Held,
			api.HolderView{
				Key: api.EscapeKey(h.Key), Cut: h.Cut, Places: h.Places,
				Oldest: a.gate.Shown(h.Oldest),
			})
	}
	for _, u := range a.gate.PlacesTaken(now) {
		if u.Rule == view.Rule {
			view.Taken = int64(u.Places) // far below 2^63
		}
	}
	return err
}
