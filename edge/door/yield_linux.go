package door

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Yielder lets all goroutines run that are ready, those that wait for a socket included. It is for
// a loop that seldom waits: runtime.Gosched makes room only for goroutines the runtime knows to be
// ready, and while each processor has such a goroutine it looks at the network every 10 ms. So
// Yield waits for an event of a descriptor of its own (eventfd(2)), which is there at once: to find
// it, the runtime has to look at all of them. It takes about 2 µs where nothing else is ready.
//
// A Yielder is for a single goroutine. NewYielder makes it, Close closes its descriptor.
type Yielder struct {
	file  *os.File
	raw   syscall.RawConn
	await func(fd uintptr) bool
	asked bool
	// the number added to the descriptor: nobody reads the sum, each addition is an event
	one [8]byte
	err error
}

// NewYielder opens the descriptor of a Yielder.
func NewYielder() (*Yielder, error) {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("door: open an eventfd: %w", err)
	}
	y := &Yielder{file: os.NewFile(uintptr(fd), "eventfd")}
	binary.NativeEndian.PutUint64(y.one[:], 1)
	y.await = y.ask // one closure, not one a call
	if y.raw, err = y.file.SyscallConn(); err != nil {
		return nil, fmt.Errorf("door: wait for an eventfd: %w", err)
	}
	return y, nil
}

// ask adds to the eventfd when it is first called, and says then that there is something to wait
// for.
func (y *Yielder) ask(fd uintptr) bool {
	if y.asked {
		return true
	}
	y.asked = true
	_, y.err = unix.Write(int(fd), y.one[:])
	return y.err != nil
}

// Yield returns when the goroutines that were ready have had a processor. It allocates nothing.
func (y *Yielder) Yield() error {
	y.asked = false
	if err := y.raw.Read(y.await); err != nil {
		return fmt.Errorf("door: wait for an eventfd: %w", err)
	}
	runtime.Gosched() // the event of y may have come first
	return y.err
}

// GiveWay is Yield, and lets threads of other programs run that are ready on this core. It is for
// work of some milliseconds beside the requests: until such work waits for something, the kernel
// has a thread that wakes for a request wait up to a tick of its timer.
func (y *Yielder) GiveWay() error {
	err := y.Yield()
	_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) // it never fails
	return err
}

// Close closes the descriptor.
func (y *Yielder) Close() error { return y.file.Close() }
