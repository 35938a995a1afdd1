package cli

import (
	"os"
	"strings"
)

// ANSI control sequences for drawing on a terminal.
const (
	EnterScreen = "\x1b[?1049h\x1b[?25l" // the other screen, no cursor
	LeaveScreen = "\x1b[?25h\x1b[?1049l"
	Home        = "\x1b[H"
	ClearLine   = "\x1b[K"
	ClearBelow  = "\x1b[J"
)

// Frame returns the bytes to draw page over the last, without a flicker; lines longer than columns
// are cut (0: as they are).
func Frame(page string, columns int) string {
	var b strings.Builder
	b.WriteString(Home)
	for line := range strings.Lines(page) {
		b.WriteString(cut(strings.TrimSuffix(line, "\n"), columns) + ClearLine + "\r\n")
	}
	return b.String() + ClearBelow
}

// cut returns the first columns characters of line. Control sequences take no room, and those after
// the cut are kept, so no colour runs on.
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

// Keystrokes returns the keys pressed on stdin's terminal, and the function to restore the
// terminal. Where stdin is none, no key ever comes.
func Keystrokes() (keys <-chan byte, restore func()) {
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
