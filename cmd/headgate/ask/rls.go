package ask

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
)

// RLS returns `headgate rls`, which shows the domains of the rate limit service.
func RLS(shared *cli.App) *cobra.Command {
	a := &app{shared}
	cmd := &cobra.Command{
		Use:   "rls",
		Short: "Show the domains of the rate limit service, and the stream of rls.xds",
		Long: `Show the domains of envoyproxy/ratelimit's files and of a management server, with
the number of descriptors that have a limit. The last lines are the state of the stream: a
configuration that was rejected is named with its fault, and the limits before it stay.`,
		Args: cli.Want(),
	}
	return cli.View(shared, cmd, "/v1/rls", nil, a.listRLS)
}

func (a *app) listRLS(v api.RLSView) error {
	rows := [][]cli.Cell{cli.Header("DOMAIN", "LIMITS", "SOURCE")}
	for _, d := range v.Domains {
		rows = append(rows, []cli.Cell{
			cli.Left(d.Name), cli.Number(cli.Grouped(d.Descriptors)), cli.Left(d.Source),
		})
	}
	a.WriteTable(a.Stdout, rows)
	if len(v.Files) > 0 {
		fmt.Fprintf(a.Stdout, "files: %s\n", cli.Safe(strings.Join(v.Files, " ")))
	}
	x := v.XDS
	if x == nil {
		return nil
	}
	state, since := "not connected", "from the state"
	if x.Connected {
		state = "connected"
	}
	fmt.Fprintf(a.Stdout, "%s: %s for %s as %s\n", cli.Safe(x.Server), state,
		cli.Span(a.Now().Sub(x.Since)), cli.Safe(x.NodeID))
	if x.Updated != nil {
		since = "since " + cli.Span(a.Now().Sub(*x.Updated))
	}
	if x.Version != "" {
		fmt.Fprintf(a.Stdout, "version %s, %s\n", cli.Safe(x.Version), since)
	}
	if x.Error != "" {
		fmt.Fprintf(a.Stdout, "rejected: %s\n", cli.Safe(x.Error))
	}
	return nil
}
