// Command headgate is the daemon and everything around: a single binary, a single wiring.
//
//	serve ───────────────► edge: UDP 4290, HTTP 4291, admin 4292
//	check ───────────────► UDP 4290, by edge/client
//	mitigations, top, … ─► admin 4292, JSON
//	config check, replay ► files
//	demo ────────────────► three of serve, in this process
//
// Each command is a file in a package below; here is the table. All write to the given streams and
// return an error knowing the exit code, so a test runs the whole program by calling run.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/headgate-dev/headgate/cmd/headgate/ask"
	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/demo"
	"github.com/headgate-dev/headgate/cmd/headgate/policies"
	"github.com/headgate-dev/headgate/cmd/headgate/replay"
	"github.com/headgate-dev/headgate/cmd/headgate/serve"
	"github.com/headgate-dev/headgate/cmd/headgate/setup"
)

// version is set by the linker (-X main.version=…).
var version = ""

// The groups of commands in help.
const (
	toRun    = "Run it:"
	toAsk    = "Ask it:"
	toChange = "Change it by hand:"
	toKnow   = "About itself:"
)

// commands is the table of everything headgate can do.
var commands = []cli.Entry{
	{Group: toRun, Build: serve.Command},
	{Group: toRun, Build: setup.Config},
	{Group: toRun, Build: setup.Init},
	{Group: toRun, Build: setup.Import},
	{Group: toRun, Build: policies.TestRequest},
	{Group: toRun, Build: policies.Policy},
	{Group: toRun, Build: replay.Command},
	{Group: toRun, Build: demo.Command},
	{Group: toAsk, Build: ask.Check},
	{Group: toAsk, Build: ask.Rules},
	{Group: toAsk, Build: ask.Suggest},
	{Group: toAsk, Build: ask.Explain},
	{Group: toAsk, Build: ask.History},
	{Group: toAsk, Build: ask.Who},
	{Group: toAsk, Build: ask.Mitigations},
	{Group: toAsk, Build: ask.Top},
	{Group: toAsk, Build: ask.Pools},
	{Group: toAsk, Build: ask.RLS},
	{Group: toAsk, Build: ask.Leases},
	{Group: toAsk, Build: ask.Surge},
	{Group: toAsk, Build: ask.Events},
	{Group: toAsk, Build: ask.Cluster},
	{Group: toAsk, Build: ask.Health},
	{Group: toChange, Build: ask.Block},
	{Group: toChange, Build: ask.Allow},
	{Group: toChange, Build: ask.Unblock},
	{Group: toChange, Build: ask.Limit},
	{Group: toChange, Build: ask.Mode},
	{Group: toChange, Build: ask.Reload},
	{Group: toChange, Build: ask.Export},
	{Group: toKnow, Build: cli.Version},
	{Group: toKnow, Build: docsCommand},
	{Group: toKnow, Build: manCommand},
}

func main() {
	cli.Release = version
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run executes headgate with args, the program's name left out, and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return cli.NewApp(stdout, stderr).Run(ctx, commands, args)
}
