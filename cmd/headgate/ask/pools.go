package ask

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
)

// Pools returns `headgate pools`, which shows how busy the pools are.
func Pools(shared *cli.App) *cobra.Command {
	a := &app{shared}
	cmd := &cobra.Command{
		Use:   "pools",
		Short: "Show how busy each pool is, and which tiers are denied by that",
		Long: `Show the pools. BUSY is the mean share in use that its sources report; above SHED
the level rises, below RESTORE it falls. LEVEL 1.3 denies all requests of the first tier in the
pool's order and 30 % of the second; DENIED NOW lists them. A pool without SOURCES sheds less
every second, to nothing in the end: LAST REPORT is how long ago one came.`,
		Example: `  headgate pools
  headgate pools --json | jq '.pools[] | select(.level > 0)'`,
		Args: cli.Want(),
	}
	return cli.View(shared, cmd, "/v1/pools", nil, a.listPools)
}

func (a *app) listPools(view api.PoolsView) error {
	if len(view.Pools) == 0 {
		fmt.Fprintln(a.Stdout, "there are no pools")
		return nil
	}
	rows := [][]cli.Cell{cli.Header("POOL", "BUSY", "SHED", "RESTORE", "LEVEL", "SOURCES",
		"LAST REPORT", "DENIED NOW")}
	for _, p := range view.Pools {
		rows = append(rows, poolRow(p, view.Now))
	}
	a.WriteTable(a.Stdout, rows)
	return nil
}

// poolRow is the row of a pool at now.
func poolRow(p api.PoolView, now time.Time) []cli.Cell {
	heard, busy, style := "never", "-", cli.Plain
	if p.Heard != nil {
		heard = cli.Span(max(0, now.Sub(*p.Heard)).Round(100*time.Millisecond)) + " ago"
	}
	if p.Sources > 0 {
		busy = cli.ShareText(p.Utilisation)
	}
	if p.Level > 0 {
		style = cli.Yellow
	}
	return []cli.Cell{
		cli.Left(p.Name), cli.Number(busy), cli.Number("> " + cli.ShareText(p.ShedAbove)),
		cli.Number("< " + cli.ShareText(p.RestoreBelow)),
		{Text: strconv.FormatFloat(p.Level, 'f', 2, 64), Style: style},
		cli.Number(strconv.Itoa(p.Sources)), cli.Left(heard), cli.Left(deniedTiers(p.Tiers)),
	}
}

// deniedTiers lists the tiers a pool denies, and the share of their requests.
func deniedTiers(tiers []api.TierView) string {
	var all []string
	for _, t := range tiers {
		if t.Ratio > 0 {
			all = append(all, fmt.Sprintf("%s %s", t.Tier, cli.ShareText(t.Ratio)))
		}
	}
	return cli.First(strings.Join(all, ", "), "none")
}
