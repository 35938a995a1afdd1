package ask

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate/health"
)

// Cluster returns `headgate cluster`, which shows the ring and the members.
func Cluster(shared *cli.App) *cobra.Command {
	a := &app{shared}
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Show the nodes that share counts: the PoP's ring and the other PoPs",
		Long: `Show the nodes that share counts with this one. For its PoP: the number of nodes,
whether their clocks agree, and the state of each memcached server of the ring. A server is lost
once it has been silent so long that failure_mode applies. For all PoPs: the nodes known to
gossip, how long they have been alive or dead, settings in which they differ from this node, and
errors.`,
		Example: `  headgate cluster
  headgate cluster --json | jq '.ring.servers[] | select(.lost)'
  headgate cluster --json | jq '.gossip.members[] | select(.state != "alive")'`,
		Args: cli.Want(),
	}
	return cli.View(shared, cmd, "/v1/cluster", nil, a.cluster)
}

func (a *app) cluster(view api.ClusterView) error {
	fmt.Fprintf(a.Stdout, "node %s of PoP %s, view %s\n", cli.Safe(view.Node), cli.Safe(view.PoP),
		cli.Safe(view.View))
	switch {
	case view.Ring != nil:
		a.printRing(view.Ring)
	case view.Gossip != nil:
		fmt.Fprintln(a.Stdout, "no ring: each node reports to the other PoPs on its own")
	default:
		fmt.Fprintln(a.Stdout, "no ring: this node counts alone. To share counts with other "+
			"nodes, list the same memcached servers\n"+
			"in the configuration of each node, under ring.servers, and restart them.")
	}
	if view.Gossip != nil {
		a.printWorld(view.Gossip)
	}
	return nil
}

func (a *app) printRing(r *api.RingView) {
	a.printFields([][2]string{
		{"nodes", strconv.Itoa(r.Nodes) + " share counts, this one included"},
		{"clock", clocked(r.Clock)},
		{"flushes", fmt.Sprintf("%d, one every %s, the last took %s", r.Flushes,
			cli.Span(cli.Seconds(r.Flush)),
			cli.Seconds(r.LastFlushSeconds).Round(10*time.Microsecond))},
		{"errors", troubled(r)},
		{"servers", "fingerprint " + r.Fingerprint + ", the same on all nodes of the PoP"},
	})
	rows := [][]cli.Cell{cli.Header("SERVER", "WEIGHT", "STATE", "PROTOCOL", "OPERATIONS", "FAILED",
		"TIMEOUTS", "OPENED", "ANSWERED", "LAST ERROR")}
	for _, s := range r.Servers {
		rows = append(rows, serverRow(s))
	}
	a.WriteTable(a.Stdout, rows)
}

// serverRow is a server's row of the table.
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
		cli.Left(s.Address), cli.Number(strconv.Itoa(s.Weight)), serverState(s),
		cli.Left(cli.First(s.Protocol, "-")),
		total(s.Operations), total(failed), total(s.Timeouts), total(s.BreakerOpened),
		cli.Number(answered), cli.Left(s.LastError),
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

// clocked compares the node's clock with the other nodes'.
func clocked(c api.ClockView) string {
	switch c.State {
	case health.ClockAgreed.String():
		if c.OffsetSeconds != 0 {
			return api.ClockApart(cli.Seconds(c.OffsetSeconds)) + ": corrected"
		}
		return "agrees with the other nodes"
	case health.ClockApart.String():
		return api.ClockApart(cli.Seconds(c.SkewSeconds)) + ": counting alone"
	case health.ClockComparing.String():
		return "being compared with the other nodes: counting alone until then"
	}
	return c.State
}

// troubled lists the faults since start; "" when there were none.
func troubled(r *api.RingView) string {
	return listed([]counted64{
		{r.Failed, "failed exchanges"},
		{r.Implausible, "implausible totals ignored"},
		{r.DroppedCost, "cost never sent"},
		{r.Deferred, "keys postponed to a later flush"},
	})
}
