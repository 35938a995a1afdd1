package cli

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// IsTerminal reports whether stream is a terminal. /dev/null, a character device too, is none.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	return err == nil
}

// TerminalSize returns the columns and rows of a terminal, or zeros where there is none.
func TerminalSize(stream any) (columns, rows int) {
	file, ok := stream.(*os.File)
	if !ok {
		return 0, 0
	}
	size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(size.Col), int(size.Row)
}

// readKeystrokes sets a terminal to hand over each key when pressed, without echo, and returns the
// function to restore the terminal. Ctrl-C still interrupts.
func readKeystrokes(file *os.File) (restore func(), err error) {
	fd := int(file.Fd())
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, fmt.Errorf("ask the terminal for its settings: %w", err)
	}
	now := *before
	now.Lflag &^= unix.ICANON | unix.ECHO
	now.Cc[unix.VMIN], now.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &now); err != nil {
		return nil, fmt.Errorf("set the terminal to single keys: %w", err)
	}
	return func() { _ = unix.IoctlSetTermios(fd, unix.TCSETS, before) }, nil
}
