package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/edge"
)

// What drawing on a terminal takes, as ANSI control sequences.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // the other screen, no cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// minEvery is the shortest time between two drawings.
const minEvery = 100 * time.Millisecond

// watchTop draws the heaviest keys again and again until ctx ends or q is pressed. A daemon that does
// not answer is shown as such and asked again.
func (a *app) watchTop(ctx context.Context, client *adminClient, f topFlags) error {
	f.every = max(f.every, minEvery)
	keys, restore := keystrokes()
	defer restore()
	_, _ = io.WriteString(a.stdout, enterScreen)
	defer func() { _, _ = io.WriteString(a.stdout, leaveScreen) }()
	ticker := time.NewTicker(f.every)
	defer ticker.Stop()
	for {
		a.drawTop(ctx, client, f)
		if !nextDrawing(ctx, ticker.C, keys, &f.sort) {
			return nil
		}
	}
}

// sortedBy returns the order that a key stands for, the first letter of its word, or "".
func sortedBy(key byte) string {
	for _, order := range edge.TopOrders {
		if order[0] == key|0x20 {
			return order
		}
	}
	return ""
}

// nextDrawing waits for the tick, or for a key that asks for another order, which it puts in order; it reports whether
// to go on: ctx or q may end it.
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

// drawTop draws one picture, cut to the terminal's size.
func (a *app) drawTop(ctx context.Context, client *adminClient, f topFlags) {
	columns, rows := terminalSize(a.stdout)
	if rows > 3 {
		f.n = min(f.n, rows-3) // the title, an empty line, the header
	}
	var page strings.Builder
	fmt.Fprintf(&page, "headgate top   %s   %s   by %s: o a s r sort, q quits\n\n", safe(client.address), a.now().Format(time.TimeOnly), f.sort)
	ctx, cancel := context.WithTimeout(ctx, max(f.every, time.Second))
	defer cancel()
	view, err := client.top(ctx, f)
	if err != nil {
		fmt.Fprintln(&page, safeLines(client.explainRefusal(ctx, err, f.rule).Error()))
	} else {
		a.printTop(&page, view)
	}
	_, _ = io.WriteString(a.stdout, frame(page.String(), columns))
}

// frame makes of page what draws it over the last one, without a flicker; lines longer than columns
// are cut (0: as they are).
func frame(page string, columns int) string {
	var b strings.Builder
	b.WriteString(home)
	for line := range strings.Lines(page) {
		b.WriteString(cut(strings.TrimSuffix(line, "\n"), columns) + clearLine + "\r\n")
	}
	return b.String() + clearBelow
}

// cut returns the first columns characters of line. Control sequences take no room, and those after
// the cut are kept, so that no colour runs on.
func cut(line string, columns int) string {
	if columns <= 0 {
		return line
	}
	var b strings.Builder
	inSequence, used := false, 0
	for _, r := range line {
		inSequence = inSequence || r == '\x1b'
		if inSequence || used < columns {
			b.WriteRune(r)
		}
		switch {
		case inSequence:
			inSequence = r != 'm'
		default:
			used++
		}
	}
	return b.String()
}

// keystrokes returns the keys pressed on the terminal that is stdin, and what gives the terminal back.
// Where stdin is none, no key ever comes.
func keystrokes() (keys <-chan byte, restore func()) {
	restore, err := readKeystrokes(os.Stdin)
	if err != nil {
		return nil, func() {}
	}
	pressed := make(chan byte)
	go func() { // ends with the process: a read of a terminal cannot be called off
		defer close(pressed)
		for key := make([]byte, 1); ; {
			if n, err := os.Stdin.Read(key); n == 0 || err != nil {
				return
			}
			pressed <- key[0]
		}
	}()
	return pressed, restore
}
