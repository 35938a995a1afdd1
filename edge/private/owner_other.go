//go:build !unix

package private

import "io/fs"

// owned is whether files have an owner and a mode.
const owned = false

// Foreign would return the owner of a file. This system does not tell.
func Foreign(fs.FileInfo) (uid int, foreign bool) { return 0, false }
