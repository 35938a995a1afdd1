package stream

import (
	"errors"
	"os"
	"time"
)

// Feeder takes the bytes a connection receives. Its methods are called by a single goroutine.
type Feeder interface {
	// Room returns memory for the next bytes, at least 1.
	Room() []byte
	// Patience returns how long they may take. The wait may be an eighth longer.
	Patience() time.Duration
	// Take is told that n bytes were read into Room; or n is 0, and err says why:
	// os.ErrDeadlineExceeded that Patience is over, or that the door stops and the 50 ms for bytes
	// on their way are, any other the connection ended. It reports whether to go on, which nothing
	// does after the end. At the stop its own Patience holds again then.
	Take(n int, err error) bool
}

// A rester is a Feeder giving its Room back while nothing is there to be read.
type rester interface{ Rest() }

// Feed gives f the bytes that c receives, until f has enough.
func (c *Conn) Feed(f Feeder) {
	if c.pull(f) {
		return
	}
	for goes := true; goes; {
		n, err := 0, c.limitRead(time.Now(), f.Patience())
		if err == nil {
			n, err = c.Read(f.Room())
		}
		if n > 0 {
			err = nil // it comes again
		}
		goes = c.give(f, n, err)
	}
}

// ReadWithin reads into b, or fails after d, or an eighth later; not earlier at the stop.
func (c *Conn) ReadWithin(b []byte, d time.Duration) (int, error) {
	for by := time.Now().Add(d); ; c.resume() {
		err := c.limitRead(time.Now(), max(0, time.Until(by)))
		if err != nil {
			return 0, err
		}
		n, err := c.Read(b)
		if n > 0 || !late(err) || !c.isWoken() {
			return n, err
		}
	}
}

// give has f take n bytes, or err. It reports whether more can come, and f wants it.
func (c *Conn) give(f Feeder, n int, err error) bool {
	if n > 0 {
		c.owed.Settle()
	} else {
		c.owed.Broken(err)
	}
	goes := f.Take(n, err) && (err == nil || late(err))
	if goes && err != nil && c.isWoken() {
		c.resume()
	}
	return goes
}

// late reports whether err says that a deadline passed.
func late(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
