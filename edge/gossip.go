package edge

import (
	"log/slog"
	"net"
	"strconv"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/global"
	"github.com/headgate-dev/headgate/gossip"
)

// newLink returns the link to the other PoPs of p's node, nil without gossip. rest lets others run.
func newLink(p prepared, node, version string, log *slog.Logger, rest func()) *global.Link {
	if p.cfg.Gossip.Bind.IsZero() {
		return nil
	}
	return global.New(global.Options{
		Node: node, PoP: p.cfg.PoP, Version: version, Flush: p.cfg.Ring.Flush,
		Memory: controlBytes(&p.cfg),
		Bind:   hostPort(p.cfg.Gossip.Bind), Join: hostPorts(p.cfg.Gossip.Join),
		Keys: p.gossipKeys(), Log: log,
		Admin: reachableAdmin(p.cfg.Listen.Admin), Rest: rest,
	})
}

// hooksOf returns link for the gate, nil if there is none.
func hooksOf(link *global.Link) *gate.Global {
	if link == nil {
		return nil
	}
	return link.Hooks()
}

// openGossip joins the node's gate to other PoPs over link. Other members compare the fingerprint
// of this PoP's ring with their own: nodes of a PoP with different servers would count apart and
// not notice.
func (n *Node) openGossip(link *global.Link) error {
	link.Attach(n.gate)
	fingerprint := ""
	if n.flusher != nil {
		fingerprint = n.flusher.Stats(n.gate.Now()).Fingerprint
	}
	if err := link.Open(fingerprint); err != nil {
		return err
	}
	n.link = link
	return nil
}

// reachableAdmin returns the first of the admin listeners other machines may reach, empty if there
// is none. A port the system chooses is not known yet, a name longer than gossip carries is left
// out.
func reachableAdmin(all []config.Address) string {
	for _, at := range all {
		if text := hostPort(at); !at.Loopback() && at.Port != 0 && len(text) <= gossip.MaxMetaText {
			return text
		}
	}
	return ""
}

// hostPort returns a as host:port, an IPv6 address in brackets.
func hostPort(a config.Address) string {
	return net.JoinHostPort(a.Host, strconv.Itoa(int(a.Port)))
}

// hostPorts returns all as hostPort does, in their order.
func hostPorts(all []config.Address) (texts []string) {
	for _, a := range all {
		texts = append(texts, hostPort(a))
	}
	return texts
}
