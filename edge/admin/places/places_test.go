package admin

import (
	"net"
	"slices"
	"testing"
)

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

func closed(a *adminPlace) bool { return a.Conn.(*placeConn).closed }

// connect gives a connection from ip a place among p, if there is one.
func (p *adminPlaces) connect(ip string) (*adminPlace, bool) {
	return p.take(&placeConn{from: &net.TCPAddr{IP: net.ParseIP(ip), Port: 1}})
}

// fullHouse takes every place: the first for a client of its own address, the others for those of one address. All have
// asked without the token and wait, in that order.
func fullHouse(t *testing.T) (*adminPlaces, []*adminPlace) {
	t.Helper()
	p, all := newAdminPlaces(), []*adminPlace{}
	for n := range maxAdminConns {
		place, ok := p.connect(map[bool]string{true: "10.0.0.1", false: "10.0.0.2"}[n == 0])
		if !ok {
			t.Fatalf("no place for connection %d", n)
		}
		place.begin(false)
		place.end()
		all = append(all, place)
	}
	return p, all
}

func begin(all []*adminPlace, trusted bool) {
	for _, place := range all {
		place.begin(trusted)
	}
}

// TestAdminPlacesOrder checks whose place a newcomer to a full house gets.
func TestAdminPlacesOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(all []*adminPlace)
		cut     int // -1: none
	}{
		"all wait":                     {func([]*adminPlace) {}, 1},
		"the longest waiting asks":     {func(all []*adminPlace) { begin(all[1:2], false); all[1].end() }, 2},
		"it shows the token":           {func(all []*adminPlace) { begin(all[1:2], true); all[1].end() }, 2},
		"it is being answered":         {func(all []*adminPlace) { begin(all[1:2], false) }, 2},
		"all but one showed the token": {func(all []*adminPlace) { begin(all, true); begin(all[3:4], false) }, 3},
		"one showed it, then did not": {func(all []*adminPlace) {
			begin(all, true)
			begin(all[3:4], true)
			begin(all[3:4], false)
			all[3].end()
		}, 3},
		"all are being answered":                {func(all []*adminPlace) { begin(all, false) }, 1},
		"all are being answered, one is done":   {func(all []*adminPlace) { begin(all, false); all[9].end() }, 9},
		"all showed the token, one is done":     {func(all []*adminPlace) { begin(all, true); all[9].end() }, 9},
		"all showed the token, none is done":    {func(all []*adminPlace) { begin(all, true) }, -1},
		"the others showed the token":           {func(all []*adminPlace) { begin(all[1:], true) }, 0},
		"another address has as many, and more": {func(all []*adminPlace) { begin(all[2:], true) }, 0},
	} {
		p, all := fullHouse(t)
		c.prepare(all)
		if _, ok := p.connect("10.0.0.3"); ok != (c.cut >= 0) {
			t.Errorf("%s: a place for the newcomer: %v", name, ok)
		}
		if cut := slices.IndexFunc(all, closed); cut != c.cut {
			t.Errorf("%s: connection %d was cut, want %d", name, cut, c.cut)
		}
		if p.droppedTotal() != 1 || len(p.taken) != maxAdminConns {
			t.Errorf("%s: %v dropped, %d there", name, p.droppedTotal(), len(p.taken))
		}
	}
}

// TestAdminPlacesNewcomer checks that a connection gets the time to ask while strangers hold all other places with answers
// that they do not read, and connect again and again.
func TestAdminPlacesNewcomer(t *testing.T) {
	t.Parallel()
	p, all := fullHouse(t)
	begin(all, false)
	newcomer, _ := p.connect("10.0.0.2")
	for range 60 {
		p.connect("10.0.0.2")
	}
	if closed(newcomer) {
		t.Error("cut before it could ask")
	}
}

// TestAdminPlacesCount checks that the places by address come to nothing once all have left, whatever they showed.
func TestAdminPlacesCount(t *testing.T) {
	t.Parallel()
	p, all := fullHouse(t)
	begin(all[:9], true)
	begin(all[3:5], false)
	for n := range 20 {
		p.connect([]string{"2001:db8::1", "2001:db8::2", "2001:db8:0:1::1", "::ffff:10.0.0.1"}[n%4])
	}
	if len(p.strangers) != 4 { // two of them in one /64
		t.Errorf("%v", p.strangers)
	}
	for _, place := range all { // those that were cut close once more
		place.begin(true)
		place.end()
		_ = place.Close()
		place.begin(false)
	}
	for place := range p.taken {
		_ = place.Close()
		_ = place.Close()
	}
	if len(p.taken) != 0 || len(p.strangers) != 0 {
		t.Errorf("%d places, %v", len(p.taken), p.strangers)
	}
}
