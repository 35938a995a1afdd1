package policies

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/sample"
	"github.com/spf13/cobra"
)

func listCommand(a *app) *cobra.Command {
	var file string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the policies in their order, with what they did",
		Long: `List the policies of the running daemon in the order of its file: how many
requests each matched and denied since it was first in force, and when it matched last. With
-c list those of a file, and ask no daemon.`,
		Example: "  headgate policy list\n  headgate policy list -c headgate.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.list(cmd.Context(), file, asJSON)
		},
	}
	cmd.Flags().StringVarP(&file, "config", "c", "", "list the policies of configuration `FILE` "+
		"(default: ask the daemon)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	a.AddAdminFlags(cmd)
	return cmd
}

func (a *app) list(ctx context.Context, file string, asJSON bool) error {
	var view api.PoliciesView
	if file == "" {
		if err := a.Fetch(ctx, "/v1/policies", url.Values{}, &view); err != nil {
			return err
		}
	} else {
		e, err := a.load(file)
		if err != nil {
			return err
		}
		view.Policies = sample.Views(e)
	}
	if asJSON {
		return cli.WriteJSON(a.Stdout, view)
	}
	a.printList(view, file == "")
	return nil
}

// printList prints the policies as a table. live: in force, with effects.
func (a *app) printList(v api.PoliciesView, live bool) {
	header := []string{"POLICY", "LINE", "MODE", "DOES", "KEY"}
	if live {
		header = append(header, "MATCHED", "DENIED", "LAST SEEN")
	}
	rows := [][]cli.Cell{cli.Header(header...)}
	for i := range v.Policies {
		p := &v.Policies[i]
		line := ""
		if p.Line > 0 { // of a surge, in no file
			line = strconv.Itoa(p.Line)
		}
		row := []cli.Cell{
			cli.Left(p.Name), cli.Left(line), cli.Left(p.Mode),
			cli.Left(p.Does), cli.Left(p.Key),
		}
		if live {
			row = append(row, cli.Left(strconv.FormatUint(p.Matched, 10)), cli.Left(denied(p)),
				cli.Left(lastSeen(p, v.Now)))
		}
		rows = append(rows, row)
	}
	a.WriteTable(a.Stdout, rows)
	for i := range v.Policies {
		if p := &v.Policies[i]; p.Unreported {
			fmt.Fprintf(a.Stdout, "%s: its questions are never reported\n", p.Name)
		}
	}
	if v.Tickets > 0 {
		fmt.Fprintf(a.Stdout, "%s: waiting for the report of a response\n",
			cli.Count(v.Tickets, "ticket"))
	}
}

// denied returns how many requests p denied, or in shadow would have.
func denied(p *api.PolicyView) string {
	if p.ShadowDenied > 0 {
		return strconv.FormatUint(p.Denied, 10) + " (" +
			strconv.FormatUint(p.ShadowDenied, 10) + " in shadow)"
	}
	return strconv.FormatUint(p.Denied, 10)
}

func lastSeen(p *api.PolicyView, now time.Time) string {
	if p.LastSeen == nil {
		return "never"
	}
	return cli.Span(max(0, now.Sub(*p.LastSeen)).Truncate(time.Second)) + " ago"
}
