//go:build !linux

package door

import "net"

// Before returns ln: only Linux has the system calls.
func (*Doorstep) Before(ln net.Listener) net.Listener { return ln }
