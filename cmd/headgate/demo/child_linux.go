package demo

import (
	"os"
	"os/exec"
	"syscall"
)

// nobody is the user, and the group, without any rights.
const nobody = 65534

// tame prepares a memcached to be started: a ctrl-C meant for this process does not reach the
// child, the child ends with this process in any case, and never runs as root. (The option -u would
// undo the second.)
func tame(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
}
