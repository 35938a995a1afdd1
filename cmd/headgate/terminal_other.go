//go:build !linux

package main

import (
	"errors"
	"os"
)

// isTerminal reports whether stream is a terminal; a character device is taken for one.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// terminalSize knows no size here.
func terminalSize(any) (columns, rows int) { return 0, 0 }

// readKeystrokes is not to be had here: ctrl-C ends what q would.
func readKeystrokes(*os.File) (restore func(), err error) { return nil, errors.ErrUnsupported }
