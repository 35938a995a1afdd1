package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/edge"
)

func clusterCommand(a *app) *cobra.Command {
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
		Args: want(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.cluster(cmd.Context(), asJSON) },
	}
	a.addAdminFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) cluster(ctx context.Context, asJSON bool) error {
	var view edge.ClusterView
	if err := a.fetch(ctx, "/v1/cluster", nil, &view); err != nil {
		return err
	}
	if asJSON {
		return writeJSON(a.stdout, view)
	}
	fmt.Fprintf(a.stdout, "node %s of PoP %s, view %s\n", safe(view.Node), safe(view.PoP), safe(view.View))
	switch {
	case view.Ring != nil:
		a.printRing(view.Ring)
	case view.Gossip != nil:
		fmt.Fprintln(a.stdout, "no ring: each node reports to the other PoPs by itself.")
	default:
		fmt.Fprintln(a.stdout, "no ring: this node counts alone. To count together with others, list the same memcached servers\n"+
			"in the configuration of each, under ring.servers, and start them anew.")
	}
	if view.Gossip != nil {
		a.printWorld(view.Gossip)
	}
	return nil
}

func (a *app) printRing(r *edge.RingView) {
	a.printFields([][2]string{
		{"nodes", strconv.Itoa(r.Nodes) + " counting together, this one included"},
		{"clock", clocked(r.Clock)},
		{"flushes", fmt.Sprintf("%d, one each %s, the last took %s", r.Flushes, span(seconds(r.Flush)), seconds(r.LastFlushSeconds).Round(10*time.Microsecond))},
		{"trouble", troubled(r)},
		{"servers", r.Fingerprint + ", the same on all nodes that count together"},
	})
	rows := [][]cell{header("SERVER", "WEIGHT", "STATE", "PROTOCOL", "OPERATIONS", "FAILED", "TIMEOUTS", "OPENED", "ANSWERED", "LAST ERROR")}
	for _, s := range r.Servers {
		rows = append(rows, serverRow(s))
	}
	a.writeTable(a.stdout, rows)
}

// serverRow is one server's row of the table.
func serverRow(s edge.RingServerView) []cell {
	answered := "never"
	if s.LastSuccessAge != nil {
		answered = span(seconds(*s.LastSuccessAge)) + " ago"
	}
	failed := uint64(0)
	for _, n := range s.Errors {
		failed += n
	}
	total := func(n uint64) cell { return number(strconv.FormatUint(n, 10)) }
	return []cell{
		left(s.Address), number(strconv.Itoa(s.Weight)), serverState(s), left(first(s.Protocol, "-")),
		total(s.Operations), total(failed), total(s.Timeouts), total(s.BreakerOpened), number(answered), left(s.LastError),
	}
}

// serverState names the state of a server: down is only of late, lost is for long.
func serverState(s edge.RingServerView) cell {
	switch {
	case s.Lost:
		return cell{text: "lost", style: red}
	case !s.Up:
		return cell{text: "down", style: yellow}
	}
	return cell{text: "up", style: green}
}

// clocked tells how the node's clock stands to the others'.
func clocked(c edge.ClockView) string {
	switch c.State {
	case edge.ClockAgreed.String():
		return "agrees with the others'"
	case edge.ClockApart.String():
		return clockApart(seconds(c.SkewSeconds)) + ": counting alone"
	case edge.ClockComparing.String():
		return "still being compared with the others': counting alone"
	}
	return c.State
}

// troubled tells what went wrong since start; "" when nothing did.
func troubled(r *edge.RingView) string {
	return listed([]counted64{
		{r.Failed, "exchanges failed"},
		{r.Implausible, "totals not believed"},
		{r.DroppedCost, "cost never told"},
		{r.Deferred, "keys made to wait"},
	})
}
