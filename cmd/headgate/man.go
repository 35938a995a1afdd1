package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/spf13/cobra"
)

// manCommand returns `headgate man`. The manual is written from the commands' own help texts, so
// the two cannot differ. For makers of packages:
//
//	command tree ─────► headgate.1, headgate-COMMAND.1 …
//	reference.All ─► headgate.yaml.5, with the example file
func manCommand(a *cli.App) *cobra.Command {
	var example string
	cmd := &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages to a directory",
		Hidden: true,
		Long: `Write the manual pages to a directory, one page for each command.
SOURCE_DATE_EPOCH (seconds) sets their date; without it they have none, so that the same source
always yields the same pages.`,
		Args: cli.Want("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			date, err := sourceDate(a.Getenv("SOURCE_DATE_EPOCH"))
			if err != nil {
				return err
			}
			return writeManual(cmd.Root(), args[0], example, date)
		},
	}
	cmd.Flags().StringVar(&example, "example", "", "`FILE` with a configuration to show at the "+
		"end of headgate.yaml(5)")
	return cmd
}

// sourceDate reads SOURCE_DATE_EPOCH for a page; "" gives "".
func sourceDate(epoch string) (string, error) {
	if epoch == "" {
		return "", nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return "", fmt.Errorf("SOURCE_DATE_EPOCH is %s, not seconds", cli.Quote(epoch))
	}
	return time.Unix(seconds, 0).UTC().Format(time.DateOnly), nil
}

// writeManual writes the pages of root and all its commands into dir, and the page of the
// configuration, with the example if any.
func writeManual(root *cobra.Command, dir, example, date string) error {
	for _, cmd := range documented(root) {
		if err := writePage(dir, pageName(cmd)+".1", commandPage(cmd, date)); err != nil {
			return err
		}
	}
	var text []byte
	if example != "" {
		var err error
		//nolint:gosec // who makes the package names it
		if text, err = os.ReadFile(example); err != nil {
			return fmt.Errorf("man: %w", err)
		}
	}
	return writePage(dir, "headgate.yaml.5", configPage(string(text), date))
}

func writePage(dir, name, page string) error {
	//nolint:gosec // for everybody to read
	if err := os.WriteFile(filepath.Join(dir, name), []byte(page), 0o644); err != nil {
		return fmt.Errorf("man: %w", err)
	}
	return nil
}

// documented returns the commands with a page: root, and every shown command below with an action.
func documented(root *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{root}
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() && cmd.Name() != "completion" {
			all = append(all, documented(cmd)...)
		}
	}
	return all
}

// pageName returns how cmd's page is called: headgate-config-check.
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// commandPage returns cmd's page.
func commandPage(cmd *cobra.Command, date string) string {
	p := newRoff(pageName(cmd), 1, date)
	p.section("NAME")
	short := strings.ToLower(cmd.Short[:1]) + cmd.Short[1:]
	p.line(roffText(pageName(cmd)) + ` \- ` + roffText(short))
	p.section("SYNOPSIS")
	p.line(".B " + roffText(cmd.CommandPath()))
	p.line(roffText(synopsis(cmd)))
	p.section("DESCRIPTION")
	p.prose(cli.First(cmd.Long, cmd.Short+"."))
	p.commands(cmd)
	p.options(cmd)
	if cmd.Example != "" {
		p.section("EXAMPLES")
		p.verbatim(cmd.Example)
	}
	if !cmd.HasParent() {
		p.section("EXAMPLES")
		p.styled(manExamples)
		p.terms("ENVIRONMENT", manEnvironment)
		p.terms("FILES", manFiles)
	}
	p.seeAlso(cmd)
	return p.String()
}

// synopsis returns the usage of cmd without the name.
func synopsis(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return "COMMAND [ARGUMENT...] [OPTION...]"
	}
	return strings.TrimPrefix(strings.TrimPrefix(cmd.UseLine(), cmd.CommandPath()), " ")
}

// The text of the general page beside the commands' own help texts.
var (
	manEnvironment = [][2]string{
		{"HEADGATE_ADMIN", "address of the admin listener: host:port, or unix:/path (default " +
			"127.0.0.1:4292)"},
		{"HEADGATE_ADDR", "address of the UDP listener, for check: host:port, or unix:/path " +
			"(default 127.0.0.1:4290)"},
		{"HEADGATE_TOKEN_FILE", "file with the admin token, for the commands that change " +
			"something"},
		{"NO_COLOR", "print without colours, even on a terminal"},
		{
			"NOTIFY_SOCKET, WATCHDOG_USEC",
			"set by a service manager, to which serve then reports its state: sd_notify(3)",
		},
	}
	manFiles = [][2]string{
		{
			"/etc/headgate/headgate.yaml",
			"the configuration, as installed by a package: headgate.yaml(5)",
		},
		{
			"/var/lib/headgate/headgate.state",
			"the state that survives a restart, if state_dir is set",
		},
		{"/run/headgate", "unix sockets, if listen names them"},
	}
)
