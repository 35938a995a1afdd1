package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/ring"
)

func serveCommand(a *app) *cobra.Command {
	var file string
	var logs logFlags
	cmd := &cobra.Command{
		Use:   "serve [-c FILE]",
		Short: "Run the daemon",
		Long: `Run the daemon until it is told to stop (SIGINT or SIGTERM); it then answers what has arrived and exits 0.
Without -c it runs on the built-in configuration: everything on loopback, the rules per-ip and login.
SIGHUP reads the file again; a file with faults changes nothing.`,
		Example: `  headgate serve
  headgate serve -c /etc/headgate/headgate.yaml`,
		Args: want(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runServe(cmd.Context(), a, file, logs)
		},
	}
	cmd.Flags().StringVarP(&file, "config", "c", "", "the configuration `file` (default: built in)")
	addLogFlags(cmd, &logs)
	return cmd
}

// daemon is everything serve starts. It only wires: what each part does is its own business.
type daemon struct {
	file   string
	log    *slog.Logger
	edge   *edge.Edge
	udp    []*edge.UDP
	http   *edge.HTTP
	admin  *edge.Admin
	ring   *ring.Ring  // nil: this node is its PoP
	pop    *edge.PoP   // nil likewise
	secret []byte      // of the counters' names
	world  *world      // nil: no gossip
	state  *edge.State // nil: nothing outlives the daemon
	atHTTP []net.Listener
	atMan  []net.Listener

	hangup   <-chan os.Signal // each has the file read again; nil: none comes
	manager  *notifier        // nil: nobody wants to be told how the daemon is
	watchdog *watchdog
}

// runServe runs the daemon with the configuration in file ("": the built-in one) until ctx ends.
func runServe(ctx context.Context, a *app, file string, logs logFlags) error {
	log, err := newLogger(a.stderr, logs)
	if err != nil {
		return err
	}
	d, err := newDaemon(ctx, file, log)
	if err != nil {
		return err
	}
	d.greet(a.stdout)
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP) // before anybody is told that this is ready: until here it would end the process
	defer signal.Stop(hangup)
	d.hangup = hangup
	d.manager = openNotifier(a.getenv, d.log)
	d.watchdog = openWatchdog(a.getenv, os.Getpid(), d.manager, d.log)
	return errors.Join(d.run(ctx), d.manager.close())
}

// newDaemon returns a daemon with the configuration in file ("": the built-in one). Its doors are open, so that it is known
// where they are; it must then run, or be closed. A process may hold several.
func newDaemon(ctx context.Context, file string, log *slog.Logger) (*daemon, error) {
	cfg, err := config.Read(file)
	if err != nil {
		return nil, err
	}
	d := &daemon{file: file, log: log}
	for _, w := range config.Warnings(cfg) {
		d.log.Warn(w)
	}
	if d.edge, err = edge.New(cfg, time.Now()); err != nil {
		return nil, err
	}
	if err := d.openRing(cfg); err != nil {
		return nil, err
	}
	if err := d.openGossip(cfg); err != nil {
		return nil, errors.Join(err, d.close())
	}
	if cfg.StateDir != "" {
		d.state = d.edge.OpenState(cfg.StateDir, d.log)
	}
	if err := d.open(ctx, cfg); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// open opens every listener of cfg.
func (d *daemon) open(ctx context.Context, cfg config.Config) error {
	for _, at := range cfg.Listen.UDP {
		u, err := edge.ListenUDP(ctx, d.edge, at, runtime.GOMAXPROCS(0))
		if err != nil {
			return err
		}
		d.udp = append(d.udp, u)
	}
	var err error
	if d.atHTTP, err = listenAll(ctx, cfg.Listen.HTTP); err != nil {
		return err
	}
	if d.atMan, err = listenAll(ctx, cfg.Listen.Admin); err != nil {
		return err
	}
	d.http = edge.NewHTTP(d.edge, d.lanes()...)
	return d.openAdmin(cfg)
}

// lanes returns the lanes of the HTTP door: those that datagram readers use last.
func (d *daemon) lanes() []*edge.Lane {
	var all []*edge.Lane
	for n := edge.Lanes / 2; n < edge.Lanes; n++ {
		all = append(all, d.edge.Lane(n))
	}
	return all
}

func listenAll(ctx context.Context, addresses []config.Address) (all []net.Listener, err error) {
	for _, at := range addresses {
		ln, err := edge.ListenHTTP(ctx, at)
		if err != nil {
			return all, err
		}
		all = append(all, ln)
	}
	return all, nil
}

// close closes what run would have closed, had it begun.
func (d *daemon) close() error {
	var errs []error
	for _, ln := range append(d.atHTTP, d.atMan...) {
		errs = append(errs, ln.Close())
	}
	for _, u := range d.udp {
		errs = append(errs, u.Close())
	}
	if d.ring != nil {
		d.ring.Close()
	}
	if d.world != nil {
		errs = append(errs, d.world.node.Close())
	}
	return errors.Join(errs...)
}

// run starts everything and waits. The doors stop first; what they ask stays up until they are done.
func (d *daemon) run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	behind, doors := newGroup(stop), newGroup(stop)
	behind.start(func() error { d.edge.Run(work); return nil })
	behind.start(func() error { d.reloadOnHangup(work); return nil })
	if d.state != nil {
		behind.start(func() error { d.state.Run(work); return nil })
	}
	if d.pop != nil {
		behind.start(func() error { defer d.ring.Close(); d.pop.Run(work); return nil })
		behind.start(func() error { d.watchRing(work); return nil })
	}
	if d.world != nil {
		behind.start(func() error { return d.world.run(work) })
		if d.pop == nil {
			behind.start(func() error { d.edge.RunAlone(work); return nil })
		}
	}
	for _, u := range d.udp {
		doors.start(func() error { return u.Serve(ctx) })
	}
	if len(d.atHTTP) > 0 {
		doors.start(func() error { return d.http.Serve(ctx, d.atHTTP...) })
	}
	behind.start(func() error { return d.admin.Serve(work, d.atMan...) })
	behind.start(func() error { d.watchdog.run(work, d.life); return nil })
	d.admin.SetReady(true)
	d.manager.ready(len(d.edge.Rules()), nil)
	<-ctx.Done()
	d.manager.stopping()
	d.admin.SetReady(false)
	d.log.Info("stopping: no new requests, answering what has arrived")
	err := doors.wait()
	stopWork()
	return errors.Join(err, behind.wait())
}

// reloadOnHangup reads the configuration again at every SIGHUP.
func (d *daemon) reloadOnHangup(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.hangup:
			if d.reload() == nil { // else logged, and in the metrics
				d.log.Info("admin: changed", "change", "reload", "from", "SIGHUP")
			}
		}
	}
}

// life looks at the loops that decisions rest on.
func (d *daemon) life() edge.Life { return d.edge.Life(d.udp...) }

// reload puts the rules of the file in force; a file with faults changes nothing.
func (d *daemon) reload() (err error) {
	d.manager.reloading()
	defer func() { d.manager.ready(len(d.edge.Rules()), err) }()
	err = d.edge.Reload(time.Now(), func() (config.Config, error) {
		cfg, err := config.Read(d.file)
		if err == nil {
			err = d.rekey(cfg)
		}
		return cfg, err
	})
	if err != nil {
		d.log.Error("reload refused, the old rules stay", "error", safeLines(err.Error()))
		return err
	}
	d.log.Info("reloaded", "file", d.file)
	return nil
}

// rekey takes over the keys of the key file as it is now.
func (d *daemon) rekey(cfg config.Config) error {
	if d.pop != nil {
		secret, err := ringSecret(cfg)
		if err != nil {
			return err
		}
		if !bytes.Equal(secret, d.secret) {
			d.pop.Rekey(secret)
			d.secret = secret
		}
	}
	if d.world != nil {
		return d.world.rekey(cfg)
	}
	return nil
}

// openAdmin makes the inspection door.
func (d *daemon) openAdmin(cfg config.Config) error {
	token, err := readToken(cfg.AdminTokenFile)
	if err != nil {
		return err
	}
	local := !slices.ContainsFunc(cfg.Listen.Admin, func(at config.Address) bool { return !at.Loopback() })
	d.admin = edge.NewAdmin(d.edge, edge.AdminOptions{
		Token: token, Local: local, Reload: d.reload, Build: edge.Build(thisBuild()), PoP: cfg.PoP, Log: d.log, Audit: auditOf(d.log), Unlogged: unlogged(d.log),
		Doors: edge.Doors{UDP: d.udp, HTTP: []*edge.HTTP{d.http}},
	})
	return nil
}
