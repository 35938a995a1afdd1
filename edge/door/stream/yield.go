package stream

import (
	"fmt"
	"runtime"

	"github.com/headgate-dev/headgate/edge/door"
)

// mostReads is how many reads in a row a connection makes without a wait, which each fill the room
// of its Feeder, before it lets others run: some 300 µs of commands.
const mostReads = 32

// yields is how the connections of a Server that never wait, since their clients send faster than
// they are answered, let others run. A connection does so for all that want to at the same time.
type yields struct{ free chan *door.Yielder }

// open makes the Yielder.
func (s *yields) open() error {
	y, err := door.NewYielder()
	if err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	s.free = make(chan *door.Yielder, 1)
	s.free <- y
	return nil
}

// close closes it. No connection is left.
func (s *yields) close() { _ = (<-s.free).Close() }

// yield lets others run. An error of the Yielder leaves those that the runtime knows to be ready.
func (s *yields) yield() {
	select {
	case y := <-s.free:
		_ = y.Yield()
		s.free <- y
	default: // another connection does, or there is no Serve
		runtime.Gosched()
	}
}
