//go:build !linux

package demo

import (
	"os"
	"os/exec"
)

// tame keeps a memcached from a start as root. A ctrl-C on the terminal ends the child too, here.
func tame(cmd *exec.Cmd) {
	if os.Geteuid() == 0 {
		cmd.Args = append(cmd.Args, "-u", "nobody")
	}
}
