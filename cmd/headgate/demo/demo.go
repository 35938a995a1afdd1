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

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/spf13/cobra"
)

const (
	demoRound  = 2 * time.Minute // the length of one round of the story, about, in a longer demo
	Shortest   = 8 * time.Second // the shortest demo: below it a phase is over before it can be seen
	demoTurn   = 100 * time.Millisecond
	demoBoards = 500 * time.Millisecond // from one board to the next
)

// demoFlags are the options of `headgate demo`.
type demoFlags struct {
	duration time.Duration // 0: until it is told to stop
	seed     uint64
	plain    bool
	json     bool
	open     bool
}

// Command returns `headgate demo`.
func Command(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run three PoPs and an attack on this machine, and watch",
		Long: `Run three PoPs in one process, each with a ring of its own, joined by gossip as in production, and let 80 normal clients and
an attack loose on them: it starts in one PoP, grows, moves to another and another, comes from everywhere, and ends. One
limit, 500 requests a second for each client, holds over all of them.
Everything is on loopback, on free ports; the rings are memcached processes where memcached is in PATH, else small
stand-ins, and the output says which. The dashboards, and every command with --admin, can be asked meanwhile.
On a terminal a live screen shows what each PoP sees, q or ctrl-C ends it; elsewhere, and with --plain, it is told in lines
of name=value pairs. In the end a summary says what the attack got, by the clients' own count, and whether any normal client
was refused. It exits 0 when it could run, whatever the figures; with --json scripts look at .held.`,
		Example: `  headgate demo
  headgate demo --plain --duration 60s
  headgate demo --json --duration 30s 2>/dev/null | jq .attack.of_limit`,
		Args: cli.Want(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.duration != 0 && f.duration < Shortest {
				return cli.Usage(cmd, fmt.Errorf("--duration must be 0 or at least %s", cli.Span(Shortest)))
			}
			return a.demo(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.duration, "duration", demoRound, "end after this `time`; 0: when told to")
	flags.Uint64Var(&f.seed, "seed", 1, "`number` that the traffic follows from: the same one, the same requests")
	flags.BoolVar(&f.plain, "plain", false, "tell it in lines, on a terminal too")
	flags.BoolVar(&f.json, "json", false, "print the summary as JSON, and the rest to stderr")
	flags.BoolVar(&f.open, "open", true, "open the dashboard in a browser, where there is a desktop and a live screen")
	return cmd
}

// demo is one run of it.
//
//	demoStory, demoCrowd ─► demoLoad ──UDP──► demoStage: three daemons and their rings ◄──HTTP── demoWatch: flags
//	                           └─► demoFlow ─► demoRecord ─► demoSummary                              │
//	                                  └───────► demoBoard ─► demoAudience: a screen, or lines ◄───────┘
type demo struct {
	flags    demoFlags
	stage    *demoStage
	load     *demoLoad
	watch    *demoWatch
	record   *demoRecord
	audience demoAudience
}

// demo runs the demo until its time is over, ctx ends or somebody presses q.
func (a *app) demo(ctx context.Context, f demoFlags) (err error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGPIPE) // the terminal is gone, or who reads
	defer stop()
	program, _ := exec.LookPath("memcached") // none is well
	round := roundOf(f.duration)
	f.duration -= f.duration % round // whole rounds
	d := &demo{flags: f, load: newDemoLoad(demoStory{demoPhases, round}, f.seed)}
	said := &demoSaid{}
	d.audience = a.demoAudience(&f, said)
	playing, stage, err := openDemoStage(ctx, program, said, a.Stderr)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // told to stop before it began
	case err != nil:
		return err
	}
	d.stage = stage
	defer func() { err = errors.Join(err, d.stage.close()) }()
	if err := d.load.dial(d.stage.doors()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.load.close()) }()
	return a.showDemo(d.run(playing, a), f)
}

// roundOf returns how long a round of the story lasts in a demo of that duration.
func roundOf(duration time.Duration) time.Duration {
	if duration == 0 {
		return demoRound
	}
	rounds := max(1, (duration+demoRound/2)/demoRound)
	return (duration / rounds).Truncate(demoBin)
}

// run plays the story and returns its result.
func (d *demo) run(ctx context.Context, a *app) *Summary {
	ctx, quit := context.WithCancel(ctx)
	defer quit()
	watching, blind := context.WithCancel(context.WithoutCancel(ctx))
	defer blind()
	d.watch, d.record = newDemoWatch(d.load, d.stage.pops), newDemoRecord(d.load)
	d.audience.opens(d)
	d.browse(a)
	d.load.start(time.Now())
	var behind sync.WaitGroup
	over := make(chan struct{})
	behind.Go(func() { d.watch.run(watching) })
	behind.Go(func() { defer close(over); d.load.run(ctx, d.flags.duration) })
	d.tell(over, quit)
	blind()
	behind.Wait()
	d.audience.closes()
	told := d.load.told()
	d.record.finish(told)
	s := d.record.summary(told, d.stage.pops, d.watch)
	s.Seed, s.Complete = d.flags.seed, d.flags.duration > 0 && told >= d.flags.duration
	return s
}

// tell shows the audience the events until the story is over, and quits it when somebody presses q.
func (d *demo) tell(over <-chan struct{}, quit func()) {
	keys, restore := d.audience.keys()
	defer restore()
	tick := time.NewTicker(demoTurn)
	defer tick.Stop()
	is := demoTold{phase: -1}
	for {
		select {
		case <-over:
			return
		case item := <-d.watch.news:
			d.audience.news(item)
		case key, open := <-keys:
			if !open {
				keys = nil
			} else if key == 'q' || key == 'Q' {
				quit()
			}
		case now := <-tick.C:
			d.turn(d.load.elapsed(now), &is)
		}
	}
}

// demoTold is the last state shown.
type demoTold struct{ phase, board int }

// turn tells of the phase if it is another one, and how it stands if that is due.
func (d *demo) turn(at time.Duration, is *demoTold) {
	if d.flags.duration > 0 {
		at = min(at, d.flags.duration-1) // later events are not shown
	}
	if _, phase, _ := d.load.story.at(at); phase != is.phase {
		d.audience.phase(at, &d.load.story.phases[phase])
		is.phase = phase
	}
	if board := int(at / demoBoards); board != is.board {
		b := d.board(at)
		d.audience.board(&b)
		d.record.catchUp(at)
		is.board = board
	}
}

// demoAudience returns whom it is told to. Where there is no screen to draw on, f is made plain.
func (a *app) demoAudience(f *demoFlags, said *demoSaid) demoAudience {
	f.plain = f.plain || f.json || !cli.IsTerminal(a.Stdout) || a.Getenv("TERM") == "dumb"
	if !f.plain {
		return &demoScreen{a: a}
	}
	said.through = a.Stderr
	if f.json {
		return &demoPlain{w: a.Stderr}
	}
	return &demoPlain{w: a.Stdout}
}

// showDemo prints its result.
func (a *app) showDemo(s *Summary, f demoFlags) error {
	switch {
	case f.json:
		return cli.WriteJSON(a.Stdout, s)
	case f.plain:
		(&demoPlain{w: a.Stdout}).summary(s)
	default:
		a.printDemo(s)
	}
	return nil
}

// app is the program, with the actions of this package's commands.
type app struct{ *cli.App }
