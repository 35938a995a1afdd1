package ask

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/spf13/cobra"
)

// Cluster returns `headgate cluster`, which shows the ring and the members.
func Cluster(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Show who counts together: the PoP's ring, and the other PoPs",
		Long: `Show how this node counts together with the others. Of its PoP: how many they are, whether their clocks agree, and
how each memcached of the ring is. A server is lost when it was silent for so long that the failure modes act. Of all
PoPs: which nodes gossip knows, since when they are alive or dead, in what they differ from this one, and what went
wrong.`,
		Example: `  headgate cluster
  headgate cluster --json | jq '.ring.servers[] | select(.lost)'
  headgate cluster --json | jq '.gossip.members[] | select(.state != "alive")'`,
		Args: cli.Want(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.cluster(cmd.Context(), asJSON) },
	}
	a.AddAdminFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) cluster(ctx context.Context, asJSON bool) error {
	var view api.ClusterView
	if err := a.Fetch(ctx, "/v1/cluster", nil, &view); err != nil {
		return err
	}
	if asJSON {
		return cli.WriteJSON(a.Stdout, view)
	}
	fmt.Fprintf(a.Stdout, "node %s of PoP %s, view %s\n", cli.Safe(view.Node), cli.Safe(view.PoP), cli.Safe(view.View))
	switch {
	case view.Ring != nil:
		a.printRing(view.Ring)
	case view.Gossip != nil:
		fmt.Fprintln(a.Stdout, "no ring: each node reports to the other PoPs by itself.")
	default:
		fmt.Fprintln(a.Stdout, "no ring: this node counts alone. To count together with others, list the same memcached servers\n"+
			"in the configuration of each, under ring.servers, and start them anew.")
	}
	if view.Gossip != nil {
		a.printWorld(view.Gossip)
	}
	return nil
}

func (a *app) printRing(r *api.RingView) {
	a.printFields([][2]string{
		{"nodes", strconv.Itoa(r.Nodes) + " counting together, this one included"},
		{"clock", clocked(r.Clock)},
		{"flushes", fmt.Sprintf("%d, one each %s, the last took %s", r.Flushes, cli.Span(cli.Seconds(r.Flush)), cli.Seconds(r.LastFlushSeconds).Round(10*time.Microsecond))},
		{"trouble", troubled(r)},
		{"servers", r.Fingerprint + ", the same on all nodes that count together"},
	})
	rows := [][]cli.Cell{cli.Header("SERVER", "WEIGHT", "STATE", "PROTOCOL", "OPERATIONS", "FAILED", "TIMEOUTS", "OPENED", "ANSWERED", "LAST ERROR")}
	for _, s := range r.Servers {
		rows = append(rows, serverRow(s))
	}
	a.WriteTable(a.Stdout, rows)
}

// serverRow is one server's row of the table.
func serverRow(s api.RingServerView) []cli.Cell {
	answered := "never"
	if s.LastSuccessAge != nil {
		answered = cli.Span(cli.Seconds(*s.LastSuccessAge)) + " ago"
	}
	failed := uint64(0)
	for _, n := range s.Errors {
		failed += n
	}
	total := func(n uint64) cli.Cell { return cli.Number(strconv.FormatUint(n, 10)) }
	return []cli.Cell{
		cli.Left(s.Address), cli.Number(strconv.Itoa(s.Weight)), serverState(s), cli.Left(cli.First(s.Protocol, "-")),
		total(s.Operations), total(failed), total(s.Timeouts), total(s.BreakerOpened), cli.Number(answered), cli.Left(s.LastError),
	}
}

// serverState names the state of a server: down is only of late, lost is for long.
func serverState(s api.RingServerView) cli.Cell {
	switch {
	case s.Lost:
		return cli.Cell{Text: "lost", Style: cli.Red}
	case !s.Up:
		return cli.Cell{Text: "down", Style: cli.Yellow}
	}
	return cli.Cell{Text: "up", Style: cli.Green}
}

// clocked tells how the node's clock stands to the others'.
func clocked(c api.ClockView) string {
	switch c.State {
	case gate.ClockAgreed.String():
		return "agrees with the others'"
	case gate.ClockApart.String():
		return clockApart(cli.Seconds(c.SkewSeconds)) + ": counting alone"
	case gate.ClockComparing.String():
		return "still being compared with the others': counting alone"
	}
	return c.State
}

// troubled lists the faults since start; "" when there were none.
func troubled(r *api.RingView) string {
	return listed([]counted64{
		{r.Failed, "exchanges failed"},
		{r.Implausible, "totals not believed"},
		{r.DroppedCost, "cost never told"},
		{r.Deferred, "keys made to wait"},
	})
}

// clockApart says by how much a clock differs, ahead by skew.
func clockApart(skew time.Duration) string {
	if skew == 0 {
		return "is minutes or more from the ring's"
	}
	if skew < 0 {
		return fmt.Sprintf("is %d s behind the ring's", -skew/time.Second)
	}
	return fmt.Sprintf("is %d s ahead of the ring's", skew/time.Second)
}
