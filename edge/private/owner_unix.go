//go:build unix

package private

import (
	"io/fs"
	"os"
	"syscall"
)

// owned is whether files have an owner and a mode.
const owned = true

// Foreign returns the owner of a file, and whether that is neither root nor the user of this
// process.
func Foreign(info fs.FileInfo) (uid int, foreign bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	uid = int(stat.Uid)
	return uid, uid != 0 && uid != os.Geteuid()
}
