package edge

import (
	"context"
	"net"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/http"
	"github.com/headgate-dev/headgate/edge/door/udp"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/latency"
	"github.com/headgate-dev/headgate/edge/metrics"
)

// openDoors opens every listener. On Linux each UDP address gets a socket and a reader for each
// processor, and the kernel spreads datagrams over them; a unix socket has a reader. When a door
// fails the others stay open, for Close. The admin listener is opened with the others and answers
// last: it shows all of them.
func (n *Node) openDoors(ctx context.Context, p prepared) error {
	processors := runtime.GOMAXPROCS(0)
	share := udp.NewShare(processors, n.turnsOfConnections)
	for _, at := range p.cfg.Listen.UDP {
		d, err := udp.Listen(ctx, n.gate, n.room, at, processors)
		if err != nil {
			return err
		}
		d.ShareWith(share)
		n.datagram = append(n.datagram, d)
	}
	var err error
	if n.atWeb, err = listenAll(ctx, p.cfg.Listen.HTTP); err != nil {
		return err
	}
	for i, ln := range n.atWeb {
		n.atWeb[i] = n.webStep.Before(ln)
	}
	if n.atAdmin, err = listenAll(ctx, p.cfg.Listen.Admin); err != nil {
		return err
	}
	n.web = http.New(n.gate, n.room, n.webLanes()...)
	n.web.SetHeaders(p.cfg.Headers)
	if err := n.openStreams(ctx, &p); err != nil {
		return err
	}
	n.openAdmin(p)
	return nil
}

// turnsOfConnections returns about how many batches the doors of connections have answered since
// the start. Called while the doors serve.
func (n *Node) turnsOfConnections() uint64 {
	var timed latency.Sum
	n.web.AddLatency(&timed)
	for _, s := range n.streams {
		s.AddLatency(&timed)
	}
	return timed.Count() * door.LatencyEvery
}

// webLanes returns the lanes of the HTTP door: the upper half, which datagram readers use last. A
// lane's counters are written by few goroutines at best; two kinds of doors on the same lane would
// share cache lines.
func (n *Node) webLanes() []*gate.Lane {
	var all []*gate.Lane
	for lane := gate.Lanes / 2; lane < gate.Lanes; lane++ {
		all = append(all, n.gate.Lane(lane))
	}
	return all
}

// listenAll opens a listener at each address. With an error the open doors are returned.
func listenAll(ctx context.Context, addresses []config.Address) (all []net.Listener, err error) {
	for _, at := range addresses {
		ln, err := door.Listen(ctx, at)
		if err != nil {
			return all, err
		}
		all = append(all, ln)
	}
	return all, nil
}

// openAdmin makes the door for people, and metrics. Parts the node lacks (the ring, the state file,
// gossip) stay nil in the options of both, so neither shows zeros.
func (n *Node) openAdmin(p prepared) {
	o := admin.Options{
		Token: p.token, Local: !slices.ContainsFunc(p.cfg.Listen.Admin, beyondLoopback),
		Mixed:  slices.ContainsFunc(p.cfg.Listen.Admin, config.Address.Loopback),
		Reload: n.reload, Switch: n.Switch, Config: n.Configuration,
		Build: n.options.Build, PoP: p.cfg.PoP, File: filepath.Base(n.options.File),
		Log: n.log, Audit: n.options.Audit,
		Unlogged: n.options.Unlogged,
		Registry: prometheus.NewRegistry(), Doors: n.doorViews, Requests: n.room,
		Budget: n.web.Budget(), Surges: n,
	}
	m := metrics.Sources{
		Gate: n.gate, Ask: n.room, Build: n.options.Build, UDP: n.datagram,
		HTTP: []*http.Door{n.web}, Surge: n.Surge,
	}
	m.Abandoned = map[string]func() uint64{"http": n.webStep.Abandoned}
	o.Faults, o.RLS = []func() []api.FaultView{n.sets.Faults, n.limitFaults}, n.RLS
	n.gatherUnread()
	m.Panics, m.Unread, o.Unread = n.tellPanics(), n.unread.doors, n.unread.recent
	if n.grpc != nil {
		m.Row, m.RLS = n.grpc.Row, n.RLS
	}
	for _, s := range n.streams {
		m.Doors = append(m.Doors, metrics.Listener{Name: s.name, Door: s})
		m.Abandoned[s.name] = s.step.Abandoned
	}
	if n.flusher != nil {
		m.Ring, o.Ring = n.flusher.Stats, n.flusher.Stats
	}
	if n.state != nil {
		m.State, o.State = n.state.Stats, n.state.Stats
	}
	if n.link != nil {
		m.Gossip, o.Gossip, o.Standing = n.link.View, n.link.View, n.link.Standing
	}
	metrics.Register(o.Registry, m)
	n.admin = admin.New(n.gate, o)
}

// tellPanics has the panics of all doors logged, and returns their numbers by the name of the door.
func (n *Node) tellPanics() map[string]func() uint64 {
	total := map[string]func() uint64{}
	tell := func(name string, doors ...*door.Panics) {
		for _, p := range doors {
			p.Tell(func(fault any, stack []byte) {
				n.log.Error("a question met a fault of the daemon: it was answered as an error",
					"door", name, "fault", fault, "stack", string(stack))
			})
		}
		total[name] = func() (sum uint64) {
			for _, p := range doors {
				sum += p.Total()
			}
			return sum
		}
	}
	var datagram []*door.Panics
	for _, d := range n.datagram {
		datagram = append(datagram, d.Panics())
	}
	tell("udp", datagram...)
	tell("http", n.web.Panics())
	tell("local", n.local.Panics())
	for _, s := range n.streams {
		tell(s.name, s.Panics())
	}
	return total
}

// doorViews returns the decision listeners, with the number of requests since start. Asked is lines
// over UDP and connections over HTTP: as counted by each door.
func (n *Node) doorViews() []api.DoorView {
	datagram, web := api.DoorView{Protocol: "udp", Addresses: []string{}},
		api.DoorView{Protocol: "http", Addresses: []string{}}
	for _, d := range n.datagram {
		is := d.Stats()
		datagram.Addresses = append(datagram.Addresses, addressText(d.Addr()))
		datagram.Asked += is.Lines
		datagram.UnknownRule += is.UnknownRule
	}
	is := n.web.Stats()
	for _, ln := range n.atWeb {
		web.Addresses = append(web.Addresses, addressText(ln.Addr()))
	}
	web.Asked, web.UnknownRule = is.Accepted, is.UnknownRule
	views := []api.DoorView{datagram, web}
	for _, s := range n.streams {
		views = append(views, s.view())
	}
	return views
}

// addressText returns at as in the configuration.
func addressText(at net.Addr) string {
	if at, ok := at.(*net.UnixAddr); ok {
		return "unix:" + at.Name
	}
	return at.String()
}
