package edge

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/private"
	"github.com/headgate-dev/headgate/edge/state"
	"github.com/headgate-dev/headgate/edge/xds"
)

const (
	limitsURL  = "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig"
	limitsName = "rls-xds.pb" // in state_dir: the last response in force
)

// streamed are the limits of rls.xds.
//
//	server ─► Client ─► applyLimits ─┬─► rules, gRPC door ─► state_dir ─► ACK
//	                                 └─► fault ─► NACK
type streamed struct {
	client  atomic.Pointer[xds.Client] // nil: none
	changed chan struct{}              // the configuration has changed; holds one

	// under the lock of reloads
	resources [][]byte // in force
	version   string   // likewise
	known     bool     // resources are: from a server or the state, possibly of none
}

func (s *streamed) forget() { s.resources, s.version, s.known = nil, "", false }

// joinLimits puts the limits of rls.xds beside those of files into p, which is about to be put in
// force. Called with the lock of reloads, or before Run.
func (n *Node) joinLimits(p *prepared) (err error) {
	if p.cfg.RLS.XDS.Server == "" {
		n.xds.forget()
		return nil
	}
	if n.xds.known {
		p.limits, err = config.JoinRLS(&p.cfg, n.xds.resources)
	}
	return err
}

// awaitsLimits reports whether p has limits by rls.xds that are not known yet.
func (n *Node) awaitsLimits(p *prepared) bool {
	return p.cfg.RLS.XDS.Server != "" && !n.xds.known
}

// restoreLimits puts the last response of the state into p.
func (n *Node) restoreLimits(p *prepared) {
	n.xds.changed = make(chan struct{}, 1)
	if p.cfg.RLS.XDS.Server == "" || p.cfg.StateDir == "" {
		return
	}
	raw, warnings, err := state.ReadKept(p.cfg.StateDir, limitsName, xds.MaxResponse)
	n.warn(prepared{warnings: warnings})
	var r xds.Response
	if err == nil {
		r, err = xds.ReadResponse(raw, limitsURL)
	}
	if err == nil {
		n.xds.resources, n.xds.version, n.xds.known = r.Resources, r.Version, true
		before := *p
		if err = n.joinLimits(p); err != nil {
			*p = before
			n.xds.forget()
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.log.Warn("limits of rls.xds kept by the state are not used", "error", api.Lines(err))
	}
}

// applyLimits puts a response of rls.xds in force as a whole, or returns why nothing changed.
func (n *Node) applyLimits(r xds.Response) error {
	if err := n.swapLimits(&r); err != nil {
		if faults, ok := errors.AsType[config.Faults](err); ok {
			err = errors.New(faults[0].String())
			if more := len(faults) - 1; more > 0 {
				err = fmt.Errorf("%w (and %d more)", err, more)
			}
		}
		return err
	}
	if dir := n.started.StateDir; dir != "" {
		if err := state.WriteKept(dir, limitsName, r.Raw); err != nil {
			n.log.Error("limits of rls.xds not kept: a restart begins with older ones",
				"error", err)
		}
	}
	return nil
}

func (n *Node) swapLimits(r *xds.Response) error {
	n.reloads.mu.Lock()
	defer n.reloads.mu.Unlock()
	p := n.reloads.file
	if p.cfg.RLS.XDS.Server == "" {
		return errors.New("rls.xds is no longer configured")
	}
	if n.xds.known && slices.EqualFunc(n.xds.resources, r.Resources, bytes.Equal) {
		n.xds.version = r.Version
		return nil
	}
	limits, err := config.JoinRLS(&p.cfg, r.Resources)
	if err != nil {
		return err
	}
	p.limits = limits
	n.reloads.file = p
	n.xds.resources, n.xds.version, n.xds.known = r.Resources, r.Version, true
	n.log.Info("limits of rls.xds in force", "version", r.Version, "rules", len(p.cfg.RLS.Rules))
	return n.put(n.reloads.switches)
}

// followLimits follows the server of rls.xds, and another when a reload names another, until ctx
// ends.
func (n *Node) followLimits(ctx context.Context) error {
	for ctx.Err() == nil {
		is, version := n.limitServer()
		run, stop := context.WithCancel(ctx)
		var client sync.WaitGroup
		if n.xds.client.Store(nil); is.Server != "" {
			c := xds.New(n.xdsOptions(&is), version)
			n.xds.client.Store(c)
			client.Go(func() { c.Run(run) })
		}
		for same := true; same; {
			select {
			case <-ctx.Done():
				same = false
			case <-n.xds.changed:
				next, _ := n.limitServer()
				same = reflect.DeepEqual(is, next)
			}
		}
		stop()
		client.Wait()
	}
	return nil
}

// limitServer returns rls.xds as in force, and the version of the limits in force.
func (n *Node) limitServer() (is config.XDS, version string) {
	n.reloads.mu.Lock()
	defer n.reloads.mu.Unlock()
	return n.reloads.file.cfg.RLS.XDS, n.xds.version
}

// xdsOptions returns how to follow the server of x. Files are read at each connection.
func (n *Node) xdsOptions(x *config.XDS) xds.Options {
	o := xds.Options{
		Server: x.Server, TypeURL: limitsURL, Apply: n.applyLimits, Log: n.log,
		Node: xds.Node{
			ID: x.NodeID, Cluster: x.Cluster, Metadata: x.Metadata,
			Version: n.options.Build.Version,
		},
		Headers: func() (map[string]string, error) {
			all := map[string]string{}
			for name, is := range x.Headers {
				all[name] = is.Text
				if is.File == "" {
					continue
				}
				content, _, err := private.Read(is.File, maxPEM)
				if err != nil {
					return nil, fmt.Errorf("rls.xds.headers.%s: %w", name, err)
				}
				all[name] = string(bytes.TrimSpace(content))
			}
			return all, nil
		},
	}
	if t := x.TLS; t != nil {
		o.TLS = func() (*tls.Config, error) {
			c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
			var err error
			if c.Certificates, _, err = readPair("rls.xds.tls", t.CertFile, t.KeyFile); err == nil {
				c.RootCAs, err = readAuthorities("rls.xds.tls.ca_file", t.CAFile)
			}
			return c, err
		}
	}
	return o
}
