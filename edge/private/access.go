package private

import (
	"errors"
	"fmt"
	"io/fs"
)

// ErrExposed is the error of a file everybody on the machine may write: nothing in it can be
// trusted.
var ErrExposed = errors.New("can be written by everybody")

// look returns a warning, a sentence each, for every other user or group with access to the file at
// path, whose FileInfo is info. A file everybody may write is an error. Systems whose files have no
// owner and mode are not checked.
func look(path string, info fs.FileInfo) (warnings []string, err error) {
	if !owned {
		return nil, nil
	}
	mode := info.Mode().Perm()
	if mode&0o002 != 0 {
		return nil, fmt.Errorf("%s %w (mode %04o): chmod o-rw it, and put something new in it",
			path, ErrExposed, mode)
	}
	if mode&0o020 != 0 {
		warnings = append(warnings, fmt.Sprintf("%s can be written by its group (mode %04o): "+
			"chmod g-w it", path, mode))
	}
	if mode&0o004 != 0 {
		warnings = append(warnings, fmt.Sprintf("%s can be read by everybody (mode %04o): chmod "+
			"o-r it", path, mode))
	}
	if uid, foreign := Foreign(info); foreign {
		warnings = append(warnings, fmt.Sprintf("%s belongs to user %d, who can change it: chown "+
			"it to root or to the user who reads it", path, uid))
	}
	return warnings, nil
}
