package ask

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
)

// minEvery is the shortest time between two drawings.
const minEvery = 100 * time.Millisecond

// watchTop draws the heaviest keys again and again until ctx ends or q is pressed. A silent daemon
// is shown as such and asked again.
func (a *app) watchTop(ctx context.Context, client *cli.Client, f topFlags) error {
	f.every = max(f.every, minEvery)
	keys, restore := cli.Keystrokes()
	defer restore()
	_, _ = io.WriteString(a.Stdout, cli.EnterScreen)
	defer func() { _, _ = io.WriteString(a.Stdout, cli.LeaveScreen) }()
	ticker := time.NewTicker(f.every)
	defer ticker.Stop()
	for {
		a.drawTop(ctx, client, f)
		if !nextDrawing(ctx, ticker.C, keys, &f.sort) {
			return nil
		}
	}
}

// sortedBy returns the order a key stands for, the first letter of the word, or "".
func sortedBy(key byte) string {
	for _, order := range api.TopOrders {
		if order[0] == key|0x20 {
			return order
		}
	}
	return ""
}

// nextDrawing waits for the tick, or for a key asking for another order, put in order; true: go on:
// ctx or q may end the wait.
func nextDrawing(ctx context.Context, tick <-chan time.Time, keys <-chan byte, order *string) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case key, open := <-keys:
			switch is := sortedBy(key); {
			case !open:
				keys = nil
			case key == 'q' || key == 'Q':
				return false
			case is != "":
				*order = is
				return true
			}
		case <-tick:
			return ctx.Err() == nil // both may be due
		}
	}
}

// drawTop draws a picture, cut to the terminal's size.
func (a *app) drawTop(ctx context.Context, client *cli.Client, f topFlags) {
	columns, rows := cli.TerminalSize(a.Stdout)
	if rows > 3 {
		f.n = min(f.n, rows-3) // the title, an empty line, the header
	}
	var page strings.Builder
	fmt.Fprintf(&page, "headgate top   %s   %s   sorted by %s: o a s r u sort, q quits\n\n",
		cli.Safe(client.Address), a.Now().Format(time.TimeOnly), f.sort)
	ctx, cancel := context.WithTimeout(ctx, max(f.every, time.Second))
	defer cancel()
	view, err := fetchTop(ctx, client, f)
	if err != nil {
		fmt.Fprintln(&page, cli.SafeLines(client.ExplainRefusal(ctx, err, f.rule).Error()))
	} else {
		a.printTop(&page, view)
	}
	_, _ = io.WriteString(a.Stdout, cli.Frame(page.String(), columns))
}
