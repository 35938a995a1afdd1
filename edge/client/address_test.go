package client_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/client"
)

// proxies are the networks that these tests trust.
var proxies = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:ffff::/48"),
	netip.MustParsePrefix("::ffff:172.16.0.0/108"),
}

func request(peer string, forwarded ...string) *http.Request {
	return &http.Request{RemoteAddr: peer, Header: http.Header{"X-Forwarded-For": forwarded}}
}

func TestClientAddress(t *testing.T) {
	for _, tt := range []struct {
		peer      string
		forwarded []string
		want      string
	}{
		{"192.0.2.1:80", nil, "192.0.2.1"},
		{"192.0.2.1:80", []string{"192.0.2.9"}, "192.0.2.1"},
		{"192.0.2.1", nil, "192.0.2.1"},
		{"[::ffff:192.0.2.1]:80", nil, "192.0.2.1"},
		{"[fe80::1%eth0]:80", nil, "fe80::1"},
		{"10.0.0.1:80", nil, "10.0.0.1"},
		{"10.0.0.1:80", []string{""}, "10.0.0.1"},
		{"10.0.0.1:80", []string{"192.0.2.9"}, "192.0.2.9"},
		{"[::ffff:10.0.0.1]:80", []string{"192.0.2.9"}, "192.0.2.9"},
		{"172.16.0.1:80", []string{"192.0.2.9"}, "192.0.2.9"},
		{"[2001:db8:ffff::1]:80", []string{"192.0.2.9"}, "192.0.2.9"},
		{"10.0.0.1:80", []string{"192.0.2.8, 192.0.2.9"}, "192.0.2.9"},
		{"10.0.0.1:80", []string{"192.0.2.8", "192.0.2.9, 10.1.1.1"}, "192.0.2.9"},
		{"10.0.0.1:80", []string{"10.0.0.3,10.0.0.2"}, "10.0.0.3"},
		{"10.0.0.1:80", []string{"192.0.2.8, unknown, 10.0.0.2"}, "10.0.0.2"},
		{"10.0.0.1:80", []string{"192.0.2.8, "}, "10.0.0.1"},
		{"10.0.0.1:80", []string{" \t192.0.2.9:4711 "}, "192.0.2.9"},
		{"10.0.0.1:80", []string{"[2001:db8::1]:4711"}, "2001:db8::1"},
		{"10.0.0.1:80", []string{"[2001:db8::1]"}, "2001:db8::1"},
		{"10.0.0.1:80", []string{"2001:DB8:0::1"}, "2001:db8::1"},
		{"10.0.0.1:80", []string{"::ffff:192.0.2.9"}, "192.0.2.9"},
		{"10.0.0.1:80", []string{"fe80::1%eth0"}, "fe80::1"},
		{"@", []string{"192.0.2.9"}, "192.0.2.9"},
		{"/run/app.sock", []string{"192.0.2.9"}, "192.0.2.9"},
		{"", nil, "invalid IP"},
		{"pipe", []string{"192.0.2.9"}, "invalid IP"},
	} {
		if got := client.ClientAddress(request(tt.peer, tt.forwarded...),
			proxies).String(); got != tt.want {
			t.Errorf("%s with %q: %s, want %s", tt.peer, tt.forwarded, got, tt.want)
		}
	}
}

func TestAddressKey(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8::1": "2001:db8::/64",
		"2001:db8:0:0:ffff::": "2001:db8::/64", "2001:db8:0:1::": "2001:db8:0:1::/64",
		"fe80::1%eth0": "fe80::/64",
	} {
		if got := client.AddressKey(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := client.AddressKey(netip.Addr{}); got != client.NoKey {
		t.Errorf("no address: %s", got)
	}
}

// FuzzClientAddress plays a visitor behind a trusted proxy, which appends the visitor's own
// address to what it sent: whatever that is, the request is counted by that address. Nor can one
// who is no proxy be anyone else.
func FuzzClientAddress(f *testing.F) {
	for _, header := range []string{
		"", "192.0.2.9", "192.0.2.9, 10.0.0.1", ",", "unknown", "[2001:db8::1]:80",
		"for=192.0.2.60", "10.0.0.1\r\n", "::ffff:10.0.0.1",
		strings.Repeat("10.0.0.1,", 100), "%", "\x00\xff",
	} {
		f.Add(header, header)
	}
	const visitor = "192.0.2.1"
	f.Fuzz(func(t *testing.T, header, before string) {
		for _, r := range []*http.Request{
			request("10.0.0.1:80", before, header+", "+visitor),
			request("10.0.0.1:80", before, header, visitor),
			request("10.0.0.1:80", before, header+","+visitor+", 10.0.0.7"),
			request("@", header, visitor+":80"),
			request(visitor+":80", before, header),
		} {
			if got := client.ClientAddress(r, proxies); got.String() != visitor {
				t.Fatalf("%s with %q: %s", r.RemoteAddr, r.Header, got)
			}
		}
		address := client.ClientAddress(request("10.0.0.1:80", before, header), proxies)
		if address != address.Unmap() || address.Zone() != "" || !address.IsValid() {
			t.Fatalf("%q, %q: %v is not the one form of an address", before, header, address)
		}
		if key := client.AddressKey(address); key == "" ||
			len(key) > len("2001:db80:1234:5678::/64") {
			t.Fatalf("%q, %q: key %q", before, header, key)
		}
	})
}
