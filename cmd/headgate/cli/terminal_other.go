//go:build !linux

package cli

import (
	"errors"
	"os"
)

// IsTerminal reports whether stream is a terminal; a character device is taken for a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// TerminalSize knows no size here.
func TerminalSize(any) (columns, rows int) { return 0, 0 }

// readKeystrokes is not supported here: only ctrl-C ends a screen.
func readKeystrokes(*os.File) (restore func(), err error) { return nil, errors.ErrUnsupported }
