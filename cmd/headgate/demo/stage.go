package demo

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/serve"
	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/gossip"
	"golang.org/x/sync/errgroup"
)

const (
	demoRule     = "api"
	demoLimit    = 500              // requests a second, over all PoPs
	demoTogether = 20 * time.Second // for the PoPs to find each other
	demoLooks    = 50 * time.Millisecond
)

// demoConfig is a PoP's headgate.yaml: node, PoP, ring, gossip's seeds, the cluster's key and the rule.
const demoConfig = `node: %s-1
pop: %s
listen: {udp: "127.0.0.1:0", http: "127.0.0.1:0", admin: "127.0.0.1:0"}
memory: 16MiB
ring: {servers: [%q]}
gossip: {bind: "127.0.0.1:0", join: [%s], key_file: %q}
rules:
  - {name: %s, limit: %d, window: 1s, scope: global}
`

// demoPoP is one PoP: a daemon and its ring.
type demoPoP struct {
	name, node       string
	ring             *demoRing
	daemon           *edge.Node
	runs             bool
	udp, http, admin string // where it can be asked
	client           *cli.Client
}

// demoStage is the PoPs, as `headgate serve` would run them one by one, in this process.
//
//	dir/lhr.yaml ──► daemon ◄──► memcached     dir is removed in the end, and nothing runs any more
//	dir/fra.yaml ──► daemon ◄──► memcached
//	dir/nyc.yaml ──► daemon ◄──► memcached
//	                    └── gossip
type demoStage struct {
	dir     string
	pops    []*demoPoP
	said    *demoSaid          // by the daemons
	after   io.Writer          // where the kept lines go
	end     context.CancelFunc // of the daemons
	running errgroup.Group
	failed  context.CancelCauseFunc // ends all who ask the daemons
}

// openDemoStage starts everything and returns when the PoPs count together. The context it returns ends when ctx does, or when
// a daemon failed. program is the memcached to run, "" for none. What the daemons log is said, and in the end after.
func openDemoStage(ctx context.Context, program string, said *demoSaid, after io.Writer) (context.Context, *demoStage, error) {
	dir, err := os.MkdirTemp("", "headgate-demo-")
	if err != nil {
		return ctx, nil, fmt.Errorf("make a directory: %w", err)
	}
	ctx, failed := context.WithCancelCause(ctx)
	daemons, end := context.WithCancel(context.WithoutCancel(ctx)) // they outlast all who ask them
	s := &demoStage{dir: dir, said: said, after: after, end: end, failed: failed}
	if err := s.open(ctx, program); err != nil {
		return ctx, nil, errors.Join(err, s.close())
	}
	for _, p := range s.pops {
		p.runs = true
		s.running.Go(func() error {
			err := p.daemon.Run(daemons)
			if err != nil {
				s.failed(err)
			}
			return err
		})
	}
	if err := s.together(ctx); err != nil {
		return ctx, nil, errors.Join(err, s.close())
	}
	return ctx, s, nil
}

// open opens everything; the daemons do not run yet.
func (s *demoStage) open(ctx context.Context, program string) error {
	key := make([]byte, gossip.KeyBytes)
	_, _ = rand.Read(key) // never fails
	if err := s.write("cluster.key", base64.StdEncoding.EncodeToString(key)); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(s.said, &slog.HandlerOptions{Level: slog.LevelWarn}))
	var seeds []string
	for _, name := range demoPoPs {
		p := &demoPoP{name: name, node: name + "-1"}
		s.pops = append(s.pops, p) // to be closed, however far it comes
		if err := s.openPoP(ctx, p, program, seeds, log.With("pop", name)); err != nil {
			return fmt.Errorf("start %s: %w", name, err)
		}
		seeds = append(seeds, fmt.Sprintf("%q", p.daemon.Addresses().Gossip))
	}
	return nil
}

// openPoP starts a PoP's ring and opens its daemon, which logs to log.
func (s *demoStage) openPoP(ctx context.Context, p *demoPoP, program string, seeds []string, log *slog.Logger) (err error) {
	if p.ring, err = openDemoRing(ctx, program); err != nil {
		return err
	}
	file := p.name + ".yaml"
	conf := fmt.Sprintf(demoConfig, p.name, p.name, p.ring.address, strings.Join(seeds, ", "), s.path("cluster.key"), demoRule, demoLimit)
	if err := s.write(file, conf); err != nil {
		return err
	}
	if p.daemon, err = edge.New(ctx, serve.NodeOptions(s.path(file), log, nil)); err != nil {
		return err
	}
	at := p.daemon.Addresses()
	p.udp, p.http, p.admin = at.Datagram[0].String(), at.HTTP[0].String(), at.Admin[0].String()
	p.client, err = cli.NewClient(p.admin, "")
	return err
}

func (s *demoStage) path(file string) string { return filepath.Join(s.dir, file) }

func (s *demoStage) write(file, text string) error {
	if err := os.WriteFile(s.path(file), []byte(text), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// together waits until the PoPs know of each other, and their answers say so.
func (s *demoStage) together(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, demoTogether, fmt.Errorf("the PoPs did not find each other within %s", cli.Span(demoTogether)))
	defer cancel()
	look := time.NewTicker(demoLooks)
	defer look.Stop()
	for _, p := range s.pops {
		for !p.joined(ctx) {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-look.C:
			}
		}
	}
	return nil
}

// joined reports whether the PoP hears all others, and its ring.
func (p *demoPoP) joined(ctx context.Context) bool {
	var view api.ClusterView
	if err := p.client.Get(ctx, "/v1/cluster", nil, &view); err != nil || view.Gossip == nil || view.Ring == nil {
		return false
	}
	alive := 0
	for _, m := range view.Gossip.Members {
		if m.State == "alive" {
			alive++
		}
	}
	return alive == len(demoPoPs) && view.View == wire.ViewGlobal.String() && view.Ring.Clock.State == gate.ClockAgreed.String()
}

// doors returns where the PoPs take questions.
func (s *demoStage) doors() (all []string) {
	for _, p := range s.pops {
		all = append(all, p.udp)
	}
	return all
}

// close stops the daemons, then their rings, and removes their files. It returns when nothing is left. What the daemons
// say of one another's end is not said.
func (s *demoStage) close() error {
	s.said.end(s.after)
	s.end()
	errs := []error{s.running.Wait()}
	for _, p := range s.pops {
		if p.client != nil {
			p.client.Close()
		}
		if p.daemon != nil && !p.runs {
			errs = append(errs, p.daemon.Close())
		}
		if p.ring != nil {
			errs = append(errs, p.ring.close())
		}
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

// dashboard returns the address that a browser opens.
func (p *demoPoP) dashboard() string { return "http://" + p.admin + "/" }
