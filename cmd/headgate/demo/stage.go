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

	"golang.org/x/sync/errgroup"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/demo/story"
	"github.com/headgate-dev/headgate/cmd/headgate/serve"
	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate/health"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/gossip"
)

const (
	joinTimeout = 20 * time.Second // for the PoPs to find each other
	joinPoll    = 50 * time.Millisecond
)

// nodeConfig is a PoP's headgate.yaml: node, PoP, ring, gossip's seeds, the cluster's key and the
// rule.
const nodeConfig = `node: %s-1
pop: %s
listen: {udp: "127.0.0.1:0", http: "127.0.0.1:0", admin: "127.0.0.1:0"}
memory: 16MiB
ring: {servers: [%q]}
gossip: {bind: "127.0.0.1:0", join: [%s], key_file: %q}
rules:
  - {name: %s, limit: %d, window: 1s, scope: global}
`

// pop is a PoP: a daemon and a ring.
type pop struct {
	Name, City, Node string
	Ring             *nodeRing
	UDP, HTTP, Admin string      // its listeners, host:port
	Client           *cli.Client // of the admin listener

	daemon *edge.Node
	runs   bool
}

// Dashboard returns the address a browser opens.
func (p *pop) Dashboard() string { return "http://" + p.Admin + "/" }

// stage is the PoPs, in the order of story.PoPs.
type stage struct {
	PoPs []*pop

	dir     string
	log     *daemonLog         // of the daemons
	after   io.Writer          // where the kept lines go
	end     context.CancelFunc // of the daemons
	running errgroup.Group
	failed  context.CancelCauseFunc // ends all that depend on the daemons
}

// openStage starts everything and returns when the PoPs count together. The context it returns ends
// when ctx does, or when a daemon failed. program is the memcached to run, "" for none. The daemons
// log to log; Close writes the lines it kept to after.
func openStage(
	ctx context.Context, program string, log *daemonLog, after io.Writer,
) (context.Context, *stage, error) {
	dir, err := os.MkdirTemp("", "headgate-demo-")
	if err != nil {
		return ctx, nil, fmt.Errorf("make a directory: %w", err)
	}
	ctx, failed := context.WithCancelCause(ctx)
	daemons, end := context.WithCancel(context.WithoutCancel(ctx)) // they outlast their clients
	s := &stage{dir: dir, log: log, after: after, end: end, failed: failed}
	if err := s.open(ctx, program); err != nil {
		return ctx, nil, errors.Join(err, s.Close())
	}
	for _, p := range s.PoPs {
		p.runs = true
		s.running.Go(func() error {
			err := p.daemon.Run(daemons)
			if err != nil {
				s.failed(err)
			}
			return err
		})
	}
	if err := s.join(ctx); err != nil {
		return ctx, nil, errors.Join(err, s.Close())
	}
	return ctx, s, nil
}

// open opens everything; the daemons do not run yet.
func (s *stage) open(ctx context.Context, program string) error {
	key := make([]byte, gossip.KeyBytes)
	_, _ = rand.Read(key) // never fails
	if err := s.write("cluster.key", base64.StdEncoding.EncodeToString(key)); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	var seeds []string
	for n, name := range story.PoPs {
		p := &pop{Name: name, City: story.Cities[n], Node: name + "-1"}
		s.PoPs = append(s.PoPs, p) // for Close, even if the rest fails
		if err := s.openPoP(ctx, p, program, seeds, log.With("pop", name)); err != nil {
			return fmt.Errorf("start %s: %w", name, err)
		}
		seeds = append(seeds, fmt.Sprintf("%q", p.daemon.Addresses().Gossip))
	}
	return nil
}

// openPoP starts a PoP's ring and opens the daemon, with log as log.
func (s *stage) openPoP(
	ctx context.Context, p *pop, program string, seeds []string, log *slog.Logger,
) (err error) {
	if p.Ring, err = openRing(ctx, program); err != nil {
		return err
	}
	file := p.Name + ".yaml"
	conf := fmt.Sprintf(nodeConfig, p.Name, p.Name, p.Ring.Address, strings.Join(seeds, ", "),
		s.path("cluster.key"), story.Rule, story.Limit)
	if err := s.write(file, conf); err != nil {
		return err
	}
	if p.daemon, err = edge.New(ctx, serve.NodeOptions(s.path(file), log, nil)); err != nil {
		return err
	}
	at := p.daemon.Addresses()
	p.UDP, p.HTTP, p.Admin = at.Datagram[0].String(), at.HTTP[0].String(), at.Admin[0].String()
	p.Client, err = cli.NewClient(p.Admin, "")
	return err
}

func (s *stage) path(file string) string { return filepath.Join(s.dir, file) }

func (s *stage) write(file, text string) error {
	if err := os.WriteFile(s.path(file), []byte(text), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// join waits until each PoP reports counting with all others.
func (s *stage) join(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, joinTimeout,
		fmt.Errorf("the PoPs did not find each other within %s", cli.Span(joinTimeout)))
	defer cancel()
	poll := time.NewTicker(joinPoll)
	defer poll.Stop()
	for _, p := range s.PoPs {
		for !p.joined(ctx) {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-poll.C:
			}
		}
	}
	return nil
}

// joined reports whether the PoP is connected to all others and to the ring.
func (p *pop) joined(ctx context.Context) bool {
	var view api.ClusterView
	if err := p.Client.Get(ctx, "/v1/cluster", nil, &view); err != nil ||
		view.Gossip == nil || view.Ring == nil {
		return false
	}
	alive := 0
	for _, m := range view.Gossip.Members {
		if m.State == "alive" {
			alive++
		}
	}
	return alive == len(story.PoPs) && view.View == wire.ViewGlobal.String() &&
		view.Ring.Clock.State == health.ClockAgreed.String()
}

// Doors returns the addresses at which the PoPs take datagrams.
func (s *stage) Doors() (all []string) {
	for _, p := range s.PoPs {
		all = append(all, p.UDP)
	}
	return all
}

// Close stops the daemons, then their rings, and removes their files. Close returns when nothing is
// left. Lines the daemons log about each other's end are dropped.
func (s *stage) Close() error {
	s.log.End(s.after)
	s.end()
	errs := []error{s.running.Wait()}
	for _, p := range s.PoPs {
		if p.Client != nil {
			p.Client.Close()
		}
		if p.daemon != nil && !p.runs {
			errs = append(errs, p.daemon.Close())
		}
		if p.Ring != nil {
			errs = append(errs, p.Ring.Close())
		}
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}
