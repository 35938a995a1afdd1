package edge

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/grpc"
	"github.com/headgate-dev/headgate/edge/door/lines"
	"github.com/headgate-dev/headgate/edge/door/resp"
	"github.com/headgate-dev/headgate/edge/door/spop"
	"github.com/headgate-dev/headgate/edge/latency"
)

// reopenEvery is the time between two attempts to open a lost listener.
const reopenEvery = time.Second

// served is a door as its package makes it.
type served interface {
	Serve(context.Context, ...net.Listener) error
	Figures() door.Figures
	AddLatency(*latency.Sum)
	Panics() *door.Panics
	Unread() *lines.Unread
}

// streamDoor is a door of connections the configuration opens, beside HTTP.
type streamDoor struct {
	served
	name string
	from []config.Address
	tls  *tls.Config   // of TCP listeners; nil: they are plain
	step door.Doorstep // before all of them
	// at changes while runStream opens lost listeners again; the admin listener asks meanwhile.
	mu sync.Mutex // protects at
	at []net.Listener
}

// open opens the listeners of s. With an error, the open doors are kept for close.
func (s *streamDoor) open(ctx context.Context) error {
	at, err := listenAll(ctx, s.from)
	for i, ln := range at {
		at[i] = s.step.Before(ln)
		// The mode of the file says who may connect to a unix socket.
		if s.tls != nil && !s.from[i].IsUnix() {
			at[i] = tls.NewListener(at[i], s.tls)
		}
	}
	s.mu.Lock()
	s.at = at
	s.mu.Unlock()
	return err
}

// listeners returns the listeners of s.
func (s *streamDoor) listeners() []net.Listener {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

// close closes the listeners of s.
func (s *streamDoor) close() (errs []error) {
	for _, ln := range s.listeners() {
		errs = append(errs, ln.Close())
	}
	return errs
}

// openStreams opens the doors the configuration has addresses for. When a listener fails the others
// stay open, for Close.
func (n *Node) openStreams(ctx context.Context, p *prepared) error {
	l := &p.cfg.Listen
	if len(l.GRPC) > 0 {
		if err := n.openGRPC(p); err != nil {
			return err
		}
	}
	if len(l.SPOP) > 0 {
		d := spop.New(n.gate, n.room, n.web.Budget(), n.webLanes()...)
		d.SetHeaders(p.cfg.Headers)
		n.streams = append(n.streams, &streamDoor{served: d, name: "spop", from: l.SPOP})
	}
	if len(l.RESP) > 0 {
		if err := n.openRESP(p); err != nil {
			return err
		}
	}
	// All doors are made before the first listens: a fault in the files of the last leaves nobody
	// connected to the first.
	for _, s := range n.streams {
		if err := s.open(ctx); err != nil {
			return err
		}
	}
	return nil
}

// openGRPC makes the door for gRPC.
func (n *Node) openGRPC(p *prepared) error {
	secure, err := n.secured(&p.cfg.TLS, "h2") // by ALPN: RFC 9113, 3.2
	if err != nil {
		return err
	}
	n.grpc = grpc.New(n.gate, grpc.Options{
		Room: n.room, DigestKey: p.digestKey(n.secret),
		Anybody: p.cfg.TLS.Clients == config.AnyClient, Budget: n.web.Budget(),
	}, n.webLanes()...)
	n.grpc.SetClients(p.cfg.Policies.Clients)
	n.grpc.SetLimits(p.limits, n.awaitsLimits(p))
	n.grpc.SetLimitForm(grpc.LimitForm{Headers: p.cfg.RLS.Headers, Metadata: p.cfg.RLS.Metadata})
	n.streams = append(n.streams, &streamDoor{
		served: n.grpc, name: "grpc", from: p.cfg.Listen.GRPC, tls: secure,
	})
	return nil
}

// openRESP makes the door for Redis clients.
func (n *Node) openRESP(p *prepared) error {
	secure, err := n.secured(&p.cfg.TLS)
	if err != nil {
		return err
	}
	n.resp = resp.New(n.gate, resp.Options{
		Room: n.room, Rule: p.cfg.RESP.Rule, Bytes: throttleBytes(&p.cfg), Budget: n.web.Budget(),
		Anybody: p.cfg.TLS.Clients == config.AnyClient,
	}, n.webLanes()...)
	n.resp.SetTrust(p.cfg.Policies.Clients.Trusts)
	n.resp.SetPassword([]byte(p.password))
	n.streams = append(n.streams, &streamDoor{
		served: n.resp, name: "resp", from: p.cfg.Listen.RESP, tls: secure,
	})
	return nil
}

// runStream serves s until ctx ends. A listener lost ends all connections of s; failures are
// logged, and listeners opened anew each reopenEvery until success.
func (n *Node) runStream(ctx context.Context, s *streamDoor) error {
	for {
		err := s.Serve(ctx, s.listeners()...)
		if ctx.Err() != nil {
			return nil
		}
		n.log.Error("a listener was lost", "listener", s.name, "error", err)
		for door.Pause(ctx, reopenEvery) {
			if err = s.open(ctx); err == nil {
				break
			}
			_ = s.close()
			n.log.Error("a listener cannot be opened again", "listener", s.name, "error", err)
		}
	}
}

// view returns the state of s for people.
func (s *streamDoor) view() api.DoorView {
	f := s.Figures()
	// [] and not null in JSON, when no listener is open.
	v := api.DoorView{
		Protocol: s.name, Addresses: []string{}, Asked: f.Requests,
		UnknownRule: f.Unknown,
	}
	for _, at := range addressesOf(s.listeners()) {
		v.Addresses = append(v.Addresses, addressText(at))
	}
	return v
}

// addressesOf returns where listeners are.
func addressesOf(all []net.Listener) (at []net.Addr) {
	for _, ln := range all {
		at = append(at, ln.Addr())
	}
	return at
}
