package systemtest

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// Hold lets everything run for a while.
func Hold(t testing.TB, d time.Duration) {
	t.Helper()
	end := time.NewTimer(d)
	defer end.Stop()
	select {
	case <-end.C:
	case <-t.Context().Done():
	}
}

// Place is where a process runs and where its doors are dialled from. nil is where the test itself
// is.
type Place struct {
	In      func(what func()) // runs a function there
	Address string            // of the place, by which others reach it
}

// Do runs a function at the place.
func (p *Place) Do(what func()) {
	if p == nil {
		what()
		return
	}
	p.In(what)
}

// dial dials from the place.
func (p *Place) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	p.Do(func() { conn, err = new(net.Dialer).DialContext(ctx, network, address) })
	return conn, err
}

// Host is the address of the place for the others.
func (p *Place) Host() string {
	if p == nil {
		return "127.0.0.1"
	}
	return p.Address
}

// Await returns once ok does.
func Await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	edgetest.Await(t, what, edgetest.Patience, ok)
}
