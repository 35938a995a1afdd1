package demo

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/demo/screen"
	"github.com/headgate-dev/headgate/cmd/headgate/demo/story"
)

// flags are the options of `headgate demo`.
type flags struct {
	duration time.Duration // 0: until it is stopped
	seed     uint64
	plain    bool
	json     bool
	open     bool
}

const demoLong = `Run three PoPs (points of presence, as three data centres: London, Frankfurt, New
York) in one process. Each has a node and a ring of its own, and gossip joins them, as in
production. 80 normal clients and one attacker send requests. The attack starts in one PoP,
grows, moves to another and on to the third, comes through all three, and ends. One limit, 500
requests a second for each client, holds over all PoPs together.

Everything is on loopback, on free ports. The rings are memcached processes where memcached is
in PATH, else small stand-ins, and the output shows which. The dashboards work meanwhile, and
so does every command with --admin.

On a terminal a live screen shows the state of each PoP in the size of the terminal; p
pauses the screen, q or ctrl-C ends the demo. Elsewhere, and with --plain, the demo prints lines
of name=value pairs. At the end a summary shows the attack's share of its limit, counted by the
clients themselves, and whether any normal client was denied. The exit code is 0 whenever the
demo could run, whatever the figures; with --json
scripts look at .held.`

// Command returns `headgate demo`.
func Command(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var f flags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run three PoPs and an attack on this machine, and watch",
		Long:  demoLong,
		Example: `  headgate demo
  headgate demo --plain --duration 60s
  headgate demo --json --duration 30s 2>/dev/null | jq .attack.of_limit`,
		Args: cli.Want(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.duration != 0 && f.duration < story.Shortest {
				return cli.Usage(cmd, fmt.Errorf("--duration must be 0 or at least %s",
					cli.Span(story.Shortest)))
			}
			return a.demo(cmd.Context(), f)
		},
	}
	options := cmd.Flags()
	options.DurationVar(&f.duration, "duration", story.Round, "end after `DURATION`; 0: when "+
		"stopped")
	options.Uint64Var(&f.seed, "seed", 1, "draw the traffic from `NUMBER`: the same one, the "+
		"same requests")
	options.BoolVar(&f.plain, "plain", false, "print lines, on a terminal too")
	options.BoolVar(&f.json, "json", false, "print the summary as JSON, and the rest to stderr")
	options.BoolVar(&f.open, "open", true,
		"open the dashboard in a browser, where there is a desktop and a live screen")
	return cmd
}

// demo is a run of the demo.
type demo struct {
	flags    flags
	traffic  *story.Traffic
	record   *story.Record
	stage    *stage
	load     *load
	watch    *watch
	audience audience
}

// audience shows a demo. For a single goroutine.
type audience interface {
	Open(o *screen.Opening)                   // everything runs, no request was sent yet
	Phase(at time.Duration, p *story.Phase)   // begins
	Change(c screen.Change)                   // of a mitigation
	Board(b *screen.Board)                    // the state, twice a second
	Keys() (keys <-chan byte, restore func()) // pressed
	Pause()                                   // stop or go on, by a key
	Close()                                   // the summary follows
	Summary(s *story.Summary)
}

// demo runs the demo until the time is over, ctx ends or q is pressed.
func (a *app) demo(ctx context.Context, f flags) (err error) {
	// the terminal is gone, or the reader
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	program, _ := exec.LookPath("memcached") // none: stand-ins
	s := story.For(f.duration)
	f.duration -= f.duration % s.Length // whole rounds
	d := &demo{flags: f, traffic: story.NewTraffic(s, f.seed), record: story.NewRecord(s)}
	log := &daemonLog{}
	d.audience = a.audience(&d.flags, log)
	playing, open, err := openStage(ctx, program, log, a.Stderr)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // stopped before it began
	case err != nil:
		return err
	}
	d.stage = open
	defer func() { err = errors.Join(err, d.stage.Close()) }()
	senders, closing, err := dialDoors(d.stage.Doors(), d.traffic.Attacker)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closing()) }()
	d.load = newLoad(d.traffic, d.record, senders)
	result := d.run(playing, a)
	if f.json {
		return cli.WriteJSON(a.Stdout, result)
	}
	d.audience.Summary(result)
	return nil
}

// run plays the story and returns the result.
func (d *demo) run(ctx context.Context, a *app) *story.Summary {
	ctx, quit := context.WithCancel(ctx)
	defer quit()
	watching, unwatch := context.WithCancel(context.WithoutCancel(ctx))
	defer unwatch()
	d.watch = newWatch(d.clients(), func() time.Duration { return d.load.Elapsed(time.Now()) })
	d.audience.Open(d.opening())
	d.browse(a)
	d.load.Start(time.Now())
	var behind sync.WaitGroup
	over := make(chan struct{})
	behind.Go(func() { d.watch.Run(watching) })
	behind.Go(func() { defer close(over); d.load.Run(ctx, d.flags.duration) })
	d.show(over, quit)
	unwatch()
	behind.Wait()
	d.audience.Close()
	played := d.load.Played()
	d.record.Finish(played)
	return d.summary(played)
}

// show shows the audience the events until the story is over, and quits the story at q.
func (d *demo) show(over <-chan struct{}, quit func()) {
	keys, restore := d.audience.Keys()
	defer restore()
	// from a single look at the clock to the next
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	last := shown{phase: -1}
	for {
		select {
		case <-over:
			return
		case change := <-d.watch.Changes:
			d.audience.Change(change)
		case key, open := <-keys:
			switch {
			case !open:
				keys = nil
			case key == 'q' || key == 'Q':
				quit()
			case key == 'p' || key == 'P' || key == ' ':
				d.audience.Pause()
			}
		case now := <-tick.C:
			d.turn(d.load.Elapsed(now), &last)
		}
	}
}

// shown is the last state shown.
type shown struct{ phase, board int }

// turn shows the phase if another, and the state if due.
func (d *demo) turn(at time.Duration, last *shown) {
	if d.flags.duration > 0 {
		at = min(at, d.flags.duration-1) // later events are not shown
	}
	if _, phase, _ := d.traffic.Story.At(at); phase != last.phase {
		d.audience.Phase(at, &story.Phases[phase])
		last.phase = phase
	}
	// from a board to the next
	if board := int(at / (500 * time.Millisecond)); board != last.board {
		b := d.board(at)
		d.audience.Board(&b)
		d.record.CatchUp(at)
		last.board = board
	}
}

// audience returns the audience for these flags. Where there is no screen to draw on, f is made
// plain.
func (a *app) audience(f *flags, log *daemonLog) audience {
	f.plain = f.plain || f.json || !cli.IsTerminal(a.Stdout) || a.Getenv("TERM") == "dumb"
	if !f.plain {
		return screen.NewLive(a.App)
	}
	log.Through = a.Stderr
	if f.json {
		return &screen.Lines{W: a.Stderr}
	}
	return &screen.Lines{W: a.Stdout}
}

// app is the program, with the actions of this package's commands.
type app struct{ *cli.App }
