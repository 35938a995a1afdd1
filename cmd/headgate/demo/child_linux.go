package demo

import (
	"os"
	"os/exec"
	"syscall"
)

// nobody is the user, and the group, that may do nothing.
const nobody = 65534

// tame keeps a memcached that is to be started from being ended by the ctrl-C that is meant for this process, has it end with
// this process however that ends, and never run as root. (Its own -u would undo the second.)
func tame(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
}
