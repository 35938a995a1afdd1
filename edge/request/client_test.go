package request_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/request"
)

type findClientCase struct {
	name    string
	clients request.Clients
	peer    string
	headers string // separated by |
	want    string
	found   request.Found
}

func findClientCases() []findClientCase {
	list := request.DefaultClients()
	forwarded := list
	forwarded.From, forwarded.Header = request.FromForwarded, "forwarded"
	single := list
	single.From, single.Header = request.FromHeader, "x-real-ip"
	peer := list
	peer.From, peer.Header = request.FromPeer, ""
	hops := list
	hops.Hops = 2
	return []findClientCase{
		{"no header", list, "127.0.0.1", "", "127.0.0.1", request.FoundPeer},
		{"one address", list, "127.0.0.1", "203.0.113.7", "203.0.113.7", request.FoundHeader},
		{
			"an untrusted peer", list, "198.51.100.1", "203.0.113.7", "198.51.100.1",
			request.FoundPeer,
		},
		{"a unix socket", list, "", "203.0.113.7", "203.0.113.7", request.FoundHeader},
		{
			"the rightmost untrusted", list, "127.0.0.1", "1.1.1.1, 203.0.113.7, 127.0.0.9",
			"203.0.113.7", request.FoundHeader,
		},
		{
			"all trusted", list, "127.0.0.1", "127.0.0.3, 127.0.0.2", "127.0.0.3",
			request.FoundHeader,
		},
		{
			"several headers", list, "127.0.0.1", "1.1.1.1|203.0.113.7, 127.0.0.2", "203.0.113.7",
			request.FoundHeader,
		},
		{"a port", list, "127.0.0.1", "203.0.113.7:4711", "203.0.113.7", request.FoundHeader},
		{
			"brackets, port and zone", list, "127.0.0.1", "[fe80::1%eth0]:80", "fe80::1",
			request.FoundHeader,
		},
		{
			"IPv4-mapped", list, "::ffff:127.0.0.1", "::ffff:203.0.113.7", "203.0.113.7",
			request.FoundHeader,
		},
		{
			"unreadable at once", list, "127.0.0.1", "203.0.113.7, unknown", "127.0.0.1",
			request.FoundUnreadable,
		},
		{
			"unreadable later", list, "127.0.0.1", "x, 127.0.0.5", "127.0.0.5",
			request.FoundUnreadable,
		},
		{"empty elements", list, "127.0.0.1", "203.0.113.7,, ", "203.0.113.7", request.FoundHeader},
		{
			"hops", hops, "127.0.0.1", "1.1.1.1, 127.0.0.4, 203.0.113.7", "127.0.0.4",
			request.FoundHeader,
		},
		{"fewer than hops", hops, "127.0.0.1", "203.0.113.7", "203.0.113.7", request.FoundHeader},
		{
			"forwarded", forwarded, "127.0.0.1",
			`for=1.1.1.1, For="[2001:db8::1]:4711";proto=https`,
			"2001:db8::1", request.FoundHeader,
		},
		{
			"forwarded with a comma in quotes", forwarded, "127.0.0.1", `for=203.0.113.7;by="a,b"`,
			"203.0.113.7", request.FoundHeader,
		},
		{
			"forwarded hidden", forwarded, "127.0.0.1", `for=203.0.113.7, for=_x`, "127.0.0.1",
			request.FoundUnreadable,
		},
		{
			"forwarded without for", forwarded, "127.0.0.1", `proto=https`, "127.0.0.1",
			request.FoundUnreadable,
		},
		{
			"a header with one address", single, "127.0.0.1", " 203.0.113.7 ", "203.0.113.7",
			request.FoundHeader,
		},
		{
			"a header with two", single, "127.0.0.1", "203.0.113.7, 1.1.1.1", "127.0.0.1",
			request.FoundUnreadable,
		},
		{"the peer", peer, "127.0.0.1", "203.0.113.7", "127.0.0.1", request.FoundPeer},
	}
}

func TestFindClient(t *testing.T) {
	for _, c := range findClientCases() {
		var names request.Names
		names.Add(c.clients.Header)
		r := new(request.Request)
		r.Reset(&names)
		if c.peer != "" {
			r.Peer = netip.MustParseAddr(c.peer)
		}
		for value := range strings.SplitSeq(c.headers, "|") {
			if value != "" {
				r.AddHeader([]byte(c.clients.Header), []byte(value))
			}
		}
		if found := r.FindClient(&c.clients, netip.Addr{}); found != c.found ||
			r.Client != netip.MustParseAddr(c.want) {
			t.Errorf("%s: got %v, %d, want %s, %d", c.name, r.Client, found, c.want, c.found)
		}
	}
}

// The client that a sender names counts only if the sender is trusted.
func TestGivenClient(t *testing.T) {
	c, given := request.DefaultClients(), netip.MustParseAddr("203.0.113.7")
	r := new(request.Request)
	r.Peer = netip.MustParseAddr("127.0.0.1")
	if r.FindClient(&c, given) != request.FoundGiven || r.Client != given {
		t.Errorf("trusted: %v", r.Client)
	}
	r.Peer = netip.MustParseAddr("198.51.100.1")
	if r.FindClient(&c, given) != request.FoundPeer || r.Client != r.Peer {
		t.Errorf("untrusted: %v", r.Client)
	}
}

// Every address that netip reads is read alike, and no other.
func FuzzAddress(f *testing.F) {
	for _, seed := range []string{
		"192.0.2.1", "192.0.2.01", "1.2.3", "1.2.3.4.5", "::", "::1", "1::", "2001:db8::1",
		"1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "::ffff:1.2.3.4",
		"1:2:3:4:5:6:1.2.3.4", "fe80::1%eth0", ":::", "1::2::3", "12345::", "1:2:3:4:5:6:7:8:9",
		"[::1]:80", "1.2.3.4:80", "::1.2.3.4.5", "1:", ":1", "::%",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := request.ParseAddress([]byte(text))
		want, err := netip.ParseAddr(text)
		if err == nil && len(text) <= 128 {
			if want = want.Unmap().WithZone(""); !ok || got != want &&
				!strings.Contains(text, "%") {
				t.Fatalf("%q: got %v, want %v", text, got, want)
			}
			return
		}
		if !ok {
			return
		}
		if port, err := netip.ParseAddrPort(text); err == nil {
			want = port.Addr()
		} else if inner, cut := strings.CutSuffix(strings.TrimPrefix(text, "["), "]"); cut {
			want, _ = netip.ParseAddr(inner)
		}
		if want = want.Unmap().WithZone(""); got != want {
			t.Fatalf("%q: got %v, want %v", text, got, want)
		}
	})
}

// Whatever the list says, the client is the peer or an address in it.
func FuzzForwarded(f *testing.F) {
	f.Add(`for="[::1]:1", for=192.0.2.1`, true, 0)
	f.Add("1.1.1.1, x,,", false, 2)
	f.Fuzz(func(t *testing.T, value string, forwarded bool, hops int) {
		c := request.DefaultClients()
		if c.Hops = hops; forwarded {
			c.From = request.FromForwarded
		}
		var names request.Names
		names.Add(c.Header)
		r := new(request.Request)
		r.Reset(&names)
		r.Peer = netip.MustParseAddr("127.0.0.1")
		r.AddHeader([]byte(c.Header), []byte(value))
		if found := r.FindClient(&c, netip.Addr{}); found == request.FoundPeer &&
			r.Client != r.Peer || !r.Client.IsValid() {
			t.Fatalf("%q: %v, %d", value, r.Client, found)
		}
	})
}

func TestSetASN(t *testing.T) {
	r := new(request.Request)
	for text, want := range map[string]uint32{
		"3320": 3320, "AS3320": 3320, "as1": 1,
		"4294967295": 4294967295,
	} {
		if !r.SetASN([]byte(text)) || r.ASN != want {
			t.Errorf("%s: got %d", text, r.ASN)
		}
	}
	for _, text := range []string{"", "AS", "x", "-1", "4294967296", "99999999999999999999"} {
		if r.SetASN([]byte(text)) {
			t.Errorf("%q is taken as %d", text, r.ASN)
		}
	}
}
