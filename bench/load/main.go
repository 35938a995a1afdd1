package main

import (
	"fmt"
	"io"
	"os"
)

// command is one subcommand: it measures and returns the result.
type command struct {
	name, summary string
	run           func(options) (Report, error)
}

// commands is the table of subcommands.
func commands() []command {
	// Each runs once, on one goroutine: more load is more processes, which taskset can put on
	// cores.
	return []command{
		{"udp", "lines of text in datagrams, UDP or unix", runUDP},
		{"http", "GET over keep-alive connections, TCP or unix", runHTTP},
	}
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the whole program: 0 all answered, 1 something was lost or could not be asked, 2 bad
// usage.
// Loss is an error, so that a script which measures stops rather than writing down a rate of
// losses.
func run(args []string, stdout, stderr io.Writer) int {
	for _, c := range commands() {
		if len(args) > 0 && args[0] == c.name {
			return measure(c, args[1:], stdout, stderr)
		}
	}
	fmt.Fprintln(stderr, "usage: load COMMAND [flags]")
	for _, c := range commands() {
		fmt.Fprintf(stderr, "  %-6s %s\n", c.name, c.summary)
	}
	return 2
}

func measure(c command, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(c.name, args, stderr)
	if err != nil {
		return usageCode(err, stderr)
	}
	report, err := c.run(o)
	if err != nil {
		fmt.Fprintf(stderr, "load %s: %v\n", c.name, err)
		return 1
	}
	if err := report.write(stdout, o.json); err != nil {
		fmt.Fprintf(stderr, "load: write report: %v\n", err)
		return 1
	}
	// Behind the report, so that a script knows by it that all connections are open and idle.
	o.holdOpen()
	if report.Lost > 0 {
		return 1
	}
	return 0
}
