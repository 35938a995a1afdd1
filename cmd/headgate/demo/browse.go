package demo

import (
	"os/exec"
	"runtime"

	"github.com/headgate-dev/headgate/cmd/headgate/demo/screen"
)

// browse opens the first PoP's dashboard beside a live screen, and reports success. No browser is
// no fault: the address is on the screen.
func (d *demo) browse(a *app) (opened bool) {
	program := a.browser()
	if _, live := d.audience.(*screen.Live); !live || !d.flags.open || program == "" {
		return false
	}
	//nolint:gosec // one of two; the browser is its user's, and outlives this
	cmd := exec.Command(program, d.stage.PoPs[0].Dashboard())
	if cmd.Start() != nil {
		return false
	}
	// ends with the browser, or with this process: neither waits for the other
	go func() { _ = cmd.Wait() }()
	return true
}

// browser returns the program to open an address on this desktop, "" where there is none.
func (a *app) browser() string {
	program := "xdg-open"
	switch {
	case runtime.GOOS == "darwin":
		program = "open"
	case a.Getenv("DISPLAY") == "" && a.Getenv("WAYLAND_DISPLAY") == "":
		return ""
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return ""
	}
	return path
}
