package edge

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/door/grpc"
	"github.com/headgate-dev/headgate/mitigation"
)

// reloads puts configurations in force in turn. Reads may overlap, for a disk may be slow; no
// configuration replaces a later read.
type reloads struct {
	mu     sync.Mutex // comes before the locks of the gate, the flusher and the link
	newest uint64     // number of the reload in force; 0: the start

	file     prepared // the configuration in force, except for modes set by hand
	switches switches
	waiting  []string  // settings of the file waiting for a restart
	since    time.Time // when it was put in force
}

// Reload puts the configuration in the file in force; a file with faults changes nothing. waiting
// names the settings waiting for a restart.
func (n *Node) Reload() (waiting []string, err error) {
	v, err := n.reload(false)
	return v.NeedRestart, err
}

// reload is Reload, by force also with sets that lost most of their entries.
func (n *Node) reload(force bool) (v api.ReloadView, err error) {
	// A service manager waits between these two, also where the file has faults.
	n.manager.Reloading()
	defer func() { n.manager.Ready(len(n.gate.Rules()), err) }()
	// Taken before the file is read: of two reloads at once the later wins, whichever disk is
	// faster.
	number := n.begun.Add(1)
	p, err := n.prepare(n.options.File, &n.started)
	if err != nil {
		n.refuse(number, err)
		return v, err
	}
	if n.surges.watch == nil && p.cfg.Surge.Sample > 0 {
		p.waiting = append(p.waiting, "surge.sample")
	}
	before := n.engine()
	if err = n.loadPolicies(&p, force); err != nil {
		n.refuse(number, err)
		return v, err
	}
	if err = n.commit(number, p); err != nil {
		n.refuse(number, err)
		return v, err
	}
	n.warn(p)
	n.log.Info("reloaded", "file", n.options.File)
	if len(p.waiting) > 0 {
		n.log.Warn("reloaded, but some settings need a restart", "settings",
			strings.Join(p.waiting, ", "))
	}
	v.Rules, v.NeedRestart = len(n.gate.Rules()), p.waiting
	if p.policies != nil {
		for _, c := range p.policies.Changed(before) {
			v.Sets = append(v.Sets, api.SetChangeView(c))
		}
	}
	return v, nil
}

// commit puts p in force, the number-th read. It waits for nothing but other changes, and fails
// only where rls.xds has sent the same domains or names as p.
func (n *Node) commit(number uint64, p prepared) error {
	n.reloads.mu.Lock()
	defer n.reloads.mu.Unlock()
	if number < n.reloads.newest {
		return nil
	}
	if err := n.joinLimits(&p); err != nil {
		return err
	}
	n.reloads.newest = number
	n.reloads.file, n.reloads.switches = p, switches{}
	n.reloads.waiting, n.reloads.since = p.waiting, time.Now()
	if n.state != nil {
		n.state.SetDigests(n.digests(&p))
	}
	if n.flusher != nil {
		n.flusher.Rekey(p.ringSecret())
	}
	if n.link != nil {
		n.link.Rekey(p.gossipKeys())
	}
	n.admin.SetToken(p.token)
	if n.grpc != nil {
		n.grpc.SetClients(p.cfg.Policies.Clients)
	}
	if n.resp != nil {
		n.resp.SetTrust(p.cfg.Policies.Clients.Trusts)
		n.resp.SetPassword([]byte(p.password))
	}
	n.setSurge(&p)
	if len(n.surges.applied) > 0 {
		if joined, err := n.switched(&switches{}); err == nil {
			p.policies, p.cfg = joined.policies, joined.cfg
		}
	}
	n.setRules(p, func(rules []mitigation.Rule) { n.gate.Reload(time.Now(), rules) })
	n.surges.wake()
	select {
	case n.xds.changed <- struct{}{}:
	default: // it is known already
	}
	return nil
}

// setRules puts the rules, by put, the policies and the limits of p in force. Rules of the old
// policies stay until the old policies are gone, so no request asks for a missing rule.
func (n *Node) setRules(p prepared, put func([]mitigation.Rule)) {
	next := p.rules()
	named := make(map[string]bool, len(next))
	for i := range next {
		named[next[i].Name] = true
	}
	both := slices.Clone(next)
	if n.room.Engine() != nil || n.grpc != nil {
		for _, r := range n.gate.Rules() {
			if !named[r.Name] {
				both = append(both, r)
			}
		}
	}
	// Rules, then policies, then the rules without the unused.
	put(both)
	n.room.SetPools(p.cfg.Pools)
	n.room.Set(p.policies, next, p.cfg.TicketKeep)
	if n.grpc != nil {
		n.grpc.SetLimits(p.limits, n.awaitsLimits(&p))
		n.grpc.SetLimitForm(grpc.LimitForm{
			Headers:  p.cfg.RLS.Headers,
			Metadata: p.cfg.RLS.Metadata,
		})
	}
	if len(both) > len(next) {
		put(next)
	}
}

// refuse records the faults of the number-th configuration read, which changes nothing.
func (n *Node) refuse(number uint64, err error) {
	n.log.Warn("reload rejected, nothing was changed", "file", n.options.File,
		"faults", api.Lines(err))
	n.reloads.mu.Lock()
	defer n.reloads.mu.Unlock()
	if number > n.reloads.newest {
		n.gate.RefuseReload(err)
	}
}

// warn logs the warnings of p.
func (n *Node) warn(p prepared) {
	for _, w := range p.warnings {
		n.log.Warn(api.EscapeKey([]byte(w)))
	}
}

// Configuration returns the configuration in force: settings of the start, rules as of the last
// reload, and present modes. The result holds the paths of secret files, not their content.
func (n *Node) Configuration() (api.ConfigView, error) {
	n.reloads.mu.Lock()
	cfg, v := n.reloads.file.cfg, api.ConfigView{
		File:  n.options.File,
		Since: n.reloads.since.UTC().Truncate(time.Millisecond), NeedRestart: n.reloads.waiting,
	}
	n.reloads.mu.Unlock()
	cfg.Node, cfg.Rules = n.gate.Node(), n.gate.Rules()
	text, err := cfg.JSON()
	v.Config = text
	return v, err
}
