package admin

import (
	"net"
	"slices"
	"testing"
)

// most is how many connections these tests have a place for.
const most = 256

// placeConn is a connection that comes from an address and does nothing.
type placeConn struct {
	net.Conn
	from   net.Addr
	closed bool
}

func (c *placeConn) RemoteAddr() net.Addr { return c.from }

func (c *placeConn) Close() error {
	c.closed = true
	return nil
}

func closed(a *seat) bool { return a.Conn.(*placeConn).closed }

// connect gives a connection from ip a place among p, if there is one.
func connect(p *seats, ip string) (*seat, bool) {
	return p.Take(&placeConn{from: &net.TCPAddr{IP: net.ParseIP(ip), Port: 1}})
}

// fullHouse takes every place: the first for a client of its own address, the others for those of
// one address. All have asked without the token and wait, in that order.
func fullHouse(t *testing.T) (*seats, []*seat) {
	t.Helper()
	p, all := newSeats(most), []*seat{}
	for n := range most {
		place, ok := connect(p, map[bool]string{true: "10.0.0.1", false: "10.0.0.2"}[n == 0])
		if !ok {
			t.Fatalf("no place for connection %d", n)
		}
		place.Begin(false)
		place.End()
		all = append(all, place)
	}
	return p, all
}

func begin(all []*seat, trusted bool) {
	for _, place := range all {
		place.Begin(trusted)
	}
}

// TestOrder checks whose place a newcomer to a full house gets.
func TestOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(all []*seat)
		cut     int // -1: none
	}{
		"all wait": {func([]*seat) {}, 1},
		"the longest waiting asks": {func(all []*seat) {
			begin(all[1:2],
				false)
			all[1].End()
		}, 2},
		"it shows the token": {func(all []*seat) {
			begin(all[1:2],
				true)
			all[1].End()
		}, 2},
		"it is being answered": {func(all []*seat) { begin(all[1:2], false) }, 2},
		"all but one showed the token": {func(all []*seat) {
			begin(all, true)
			begin(
				all[3:4], false)
		}, 3},
		"one showed it, then did not": {func(all []*seat) {
			begin(all, true)
			begin(all[3:4], true)
			begin(all[3:4], false)
			all[3].End()
		}, 3},
		"all are being answered": {
			func(all []*seat) { begin(all, false) },
			1,
		},
		"all are being answered, one is done": {func(all []*seat) {
			begin(all,
				false)
			all[9].End()
		}, 9},
		"all showed the token, one is done": {func(all []*seat) {
			begin(all,
				true)
			all[9].End()
		}, 9},
		"all showed the token, none is done": {
			func(all []*seat) { begin(all, true) },
			-1,
		},
		"the others showed the token": {func(all []*seat) {
			begin(all[1:],
				true)
		}, 0},
		"another address has as many, and more": {func(all []*seat) {
			begin(all[2:],
				true)
		}, 0},
	} {
		p, all := fullHouse(t)
		c.prepare(all)
		if _, ok := connect(p, "10.0.0.3"); ok != (c.cut >= 0) {
			t.Errorf("%s: a place for the newcomer: %v", name, ok)
		}
		if cut := slices.IndexFunc(all, closed); cut != c.cut {
			t.Errorf("%s: connection %d was cut, want %d", name, cut, c.cut)
		}
		if is := p.Stats(); is.Dropped != 1 || is.Open != most {
			t.Errorf("%s: %+v", name, is)
		}
	}
}

// TestNewcomer checks that a connection gets the time to ask while strangers hold all other places
// with answers that they do not read, and connect again and again.
func TestNewcomer(t *testing.T) {
	t.Parallel()
	p, all := fullHouse(t)
	begin(all, false)
	newcomer, _ := connect(p, "10.0.0.2")
	for range 60 {
		connect(p, "10.0.0.2")
	}
	if closed(newcomer) {
		t.Error("cut before it could ask")
	}
}

// TestCount checks that the places by address come to nothing once all have left, whatever they
// showed.
func TestCount(t *testing.T) {
	t.Parallel()
	p, all := fullHouse(t)
	begin(all[:9], true)
	begin(all[3:5], false)
	var newcomers []*seat
	for n := range 20 {
		place, _ := connect(p, []string{
			"2001:db8::1", "2001:db8::2", "2001:db8:0:1::1",
			"::ffff:10.0.0.1",
		}[n%4])
		newcomers = append(newcomers, place)
	}
	if is := p.Stats(); is.Addresses != 4 { // two of them in one /64
		t.Errorf("%+v", is)
	}
	for _, place := range all { // those that were cut close once more
		place.Begin(true)
		place.End()
		_ = place.Close()
		place.Begin(false)
	}
	for _, place := range newcomers {
		_ = place.Close()
		_ = place.Close()
	}
	if is := p.Stats(); is.Open != 0 || is.Addresses != 0 {
		t.Errorf("%+v", is)
	}
}
