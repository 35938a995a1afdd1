package edge

import (
	"fmt"
	"maps"
	"slices"

	"github.com/headgate-dev/headgate/edge/api"
)

// RLS returns the domains of the rate limit service in force.
func (n *Node) RLS() (v api.RLSView) {
	n.reloads.mu.Lock()
	cfg, limits, version := n.reloads.file.cfg, n.reloads.file.limits, n.xds.version
	n.reloads.mu.Unlock()
	v.Files, v.Domains = append([]string{}, cfg.RLSFiles()...), []api.RLSDomainView{}
	x := api.XDSView{
		Server: cfg.RLS.XDS.Server, NodeID: cfg.RLS.XDS.NodeID, Version: version,
		Domains: []api.RLSDomainView{},
	}
	if limits != nil {
		for _, name := range slices.Sorted(maps.Keys(limits.Domains)) {
			d := api.RLSDomainView{Name: name, Descriptors: limits.Domains[name].Limits()}
			source := "files"
			if limits.Streamed[name] {
				x.Domains, source = append(x.Domains, d), "xds"
			}
			d.Source = source
			v.Domains = append(v.Domains, d)
		}
	}
	if c := n.xds.client.Load(); c != nil {
		is := c.State()
		x.Connected, x.Since, x.Error, x.Lost = is.Connected, is.Since, is.Fault, is.Lost
		x.ACKs, x.NACKs = is.ACKs, is.NACKs
		if !is.Updated.IsZero() {
			x.Updated = &is.Updated
		}
		v.XDS = &x
	}
	return v
}

// limitFaults returns the present faults of rls.xds.
func (n *Node) limitFaults() (all []api.FaultView) {
	v := n.RLS()
	if v.XDS == nil {
		return nil
	}
	stay := "no limits were sent yet, and such questions are answered with grpc-status 14"
	if v.XDS.Version != "" || len(v.XDS.Domains) > 0 {
		stay = fmt.Sprintf("the limits of version %q stay", v.XDS.Version)
	}
	if v.XDS.Error != "" {
		all = append(all, api.FaultView{Text: "the last limits were rejected: " + v.XDS.Error})
	}
	if v.XDS.Lost != "" {
		all = append(all, api.FaultView{Text: v.XDS.Server + " is lost (" + v.XDS.Lost + ")"})
	}
	for i := range all {
		all[i].Code, all[i].Text = "rls-xds", "rls.xds: "+all[i].Text+"; "+stay
	}
	return all
}
