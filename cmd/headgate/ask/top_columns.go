package ask

import (
	"fmt"
	"strconv"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/mitigation"
)

// topColumn is a column of the list of keys.
type topColumn struct {
	name string
	cell func(a *app, t api.TopView) cli.Cell
}

// columnsOf returns the columns of a list: the columns of the keys' kind, or of several kinds the
// counts with each state in the kind's terms. top is not empty.
func columnsOf(top []api.TopView) []topColumn {
	for _, t := range top[1:] {
		if t.Kind != top[0].Kind {
			return append(windowColumns(),
				topColumn{"NOW", func(a *app, t api.TopView) cli.Cell {
					return cli.Left(a.nowOf(t))
				}})
		}
	}
	switch top[0].Kind {
	case mitigation.Bucket.String():
		return []topColumn{
			ruleColumn,
			keyColumn,
			{"OFFERED", numberOf(offeredOf)},
			{"TAKEN", numberOf(admittedOf)},
			{"BURST", numberOf(limitIn)},
			{"FILL", percentIn(func(t api.TopView) float64 { return 1 - usedPart(t) })},
			stateColumn,
			{"FULL IN", func(a *app, t api.TopView) cli.Cell { return cli.Number(a.fullIn(t)) }},
		}
	case mitigation.Concurrency.String():
		return []topColumn{
			ruleColumn,
			keyColumn,
			{"HELD", numberOf(admittedOf)},
			{"PLACES", numberOf(limitIn)},
			{"TAKEN", percentIn(usedPart)},
			stateColumn,
			{"OLDEST", func(a *app, t api.TopView) cli.Cell { return cli.Number(a.oldestOf(t)) }},
		}
	}
	return windowColumns()
}

// windowColumns are the columns of windows.
func windowColumns() []topColumn {
	return []topColumn{
		ruleColumn,
		keyColumn,
		{"OFFERED", numberOf(offeredOf)},
		{"ADMITTED", numberOf(admittedOf)},
		{"LIMIT", numberOf(limitIn)},
		{"SHARE", percentIn(func(t api.TopView) float64 { return t.Share })},
		stateColumn,
	}
}

// The columns every list has.
var (
	ruleColumn = topColumn{"RULE", func(_ *app, t api.TopView) cli.Cell { return cli.Left(t.Rule) }}
	keyColumn  = topColumn{"KEY", func(_ *app, t api.TopView) cli.Cell {
		if t.Cut {
			return cli.Left(t.Key + "…")
		}
		return cli.Left(t.Key)
	}}
	stateColumn = topColumn{"STATE", func(_ *app, t api.TopView) cli.Cell {
		if t.DeniedBy != "" {
			return cli.Left("denied by " + t.DeniedBy)
		}
		return cli.Cell{Text: cli.Safe(t.State), Style: cli.StateStyle(t.State)}
	}}
)

func offeredOf(t api.TopView) api.Amount  { return t.Offered }
func admittedOf(t api.TopView) api.Amount { return t.Admitted }
func limitIn(t api.TopView) api.Amount    { return t.Limit }

// usedPart returns the part of the limit taken by a key, 0..1: more is taken in advance.
func usedPart(t api.TopView) float64 { return float64(min(1, t.Admitted/t.Limit)) }

func numberOf(of func(api.TopView) api.Amount) func(*app, api.TopView) cli.Cell {
	return func(_ *app, t api.TopView) cli.Cell { return cli.Number(of(t).String()) }
}

func percentIn(of func(api.TopView) float64) func(*app, api.TopView) cli.Cell {
	return func(_ *app, t api.TopView) cli.Cell {
		return cli.Number(strconv.FormatFloat(of(t)*100, 'f', 0, 64) + " %")
	}
}

// fullIn returns the time until a bucket is full again; "now" if so.
func (a *app) fullIn(t api.TopView) string {
	if t.FullAt == nil {
		return "now"
	}
	return timeLeft(*t.FullAt, a.Now())
}

// oldestOf returns for how long the key has held the oldest place; "" if none is held any more.
func (a *app) oldestOf(t api.TopView) string {
	if t.Oldest == nil {
		return ""
	}
	return cli.Span(max(0, a.Now().Sub(*t.Oldest)).Round(time.Second))
}

// nowOf describes the state of a key in the terms of the rule; "" for a window, clear from the
// counts.
func (a *app) nowOf(t api.TopView) string {
	switch t.Kind {
	case mitigation.Bucket.String():
		text := fmt.Sprintf("%v of %v tokens", max(0, t.Limit-t.Admitted), t.Limit)
		if t.FullAt != nil {
			text += ", full in " + a.fullIn(t)
		}
		return text
	case mitigation.Concurrency.String():
		text := fmt.Sprintf("%v of %v places", t.Admitted, t.Limit)
		if t.Oldest != nil {
			text += ", oldest " + a.oldestOf(t)
		}
		return text
	}
	return ""
}
