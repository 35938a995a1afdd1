package client

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/wire"
)

// TestLine: what is left out of a line is named in it.
func TestLine(t *testing.T) {
	kilo := strings.Repeat("k", 1000)
	cookies := strings.TrimSuffix(strings.Repeat("c="+kilo+"; ", 6), "; ")
	for _, tt := range []struct {
		name   string
		path   string
		header http.Header
		want   string // behind "ask"
	}{
		{
			"plain", "/a b?c",
			http.Header{"X-Api-Key": {"k"}, "Accept": {"a", "b"}},
			" path=/a%20b?c header.x-api-key=k header.accept=a header.accept=b",
		},
		{"anything is a path", "", nil, " path="},
		{"a path of 4,096", strings.Repeat("p", 4096), nil, " path=" + strings.Repeat("p", 4096)},
		{"and of 4,097", strings.Repeat("p", 4097), nil, " path=" + strings.Repeat("p", 4096) +
			" cut=path"},
		{
			"a header of 4,096", "/",
			http.Header{"A": {strings.Repeat("a", 4096)}},
			" path=/ header.a=" + strings.Repeat("a", 4096),
		},
		{
			"and of 4,097", "/",
			http.Header{"A": {strings.Repeat("a", 4097), "b"}, "B": {"b"}},
			" path=/ header.a=b header.b=b cut=header.a",
		},
		{"more than a datagram", "/", http.Header{
			"A": {strings.Repeat("\x01", 2700)},
			"B": {strings.Repeat("b", 4000)},
		}, " path=/ header.b=" + strings.Repeat("b", 4000) +
			" cut=header.a"},
		{"cookies", "/", http.Header{"Cookie": {"a=b; c=d"}}, " path=/ header.cookie=a=b;%20c=d"},
		{
			"cookies in two lines", "/",
			http.Header{"Cookie": {"a=b", "c=d"}},
			" path=/ header.cookie=a=b header.cookie=c=d",
		},
		{"many cookies", "/", http.Header{"Cookie": {cookies}}, " path=/ header.cookie=c=" + kilo +
			strings.Repeat(";%20c="+kilo, 3) + " header.cookie=%20c=" + kilo + ";%20c=" + kilo},
		{
			"a long cookie", "/",
			http.Header{"Cookie": {"a=" + strings.Repeat("b", 4095) + "; c=d"}},
			" path=/ cut=header.cookie",
		},
		{
			"no header", "/",
			http.Header{"A B": {"c"}, "": {"c"}, "A=B": {"c"}, "D%": {"c"}},
			" path=/ header.d%=c",
		},
	} {
		if got := string(Request{Path: tt.path, Headers: tt.header}.line()); got != "ask"+tt.want {
			t.Errorf("%s: %d bytes, want %d: %.200q, want %.200q", tt.name, len(got),
				3+len(tt.want), got, "ask"+tt.want)
		}
	}
}

// TestLineAllocations: a request as a browser sends it costs no more memory than it did.
func TestLineAllocations(t *testing.T) {
	r := Request{
		Method: "GET", Host: "www.example.com", Path: "/v2/orders?page=2",
		Client: netip.MustParseAddr("203.0.113.7"), Scheme: "https",
		Headers: http.Header{"User-Agent": {strings.Repeat("agent ", 12)}, "Cookie": {"session=" + strings.Repeat("a", 300) + "; theme=dark"}, "Referer": {"https://www.example.com/"}, "X-Api-Key": {"k"}},
	}
	if n := testing.AllocsPerRun(100, func() { _ = r.line() }); n > 20 {
		t.Errorf("%v allocations, were 20", n)
	}
}

// TestLineHost: of a host that is too long for a line the daemon reads the same.
func TestLineHost(t *testing.T) {
	long := strings.Repeat("h", 5000)
	for host, want := range map[string]string{
		"": "", "[abc": "[abc", "a:99999": "a:99999",
		long: "", long + "@EXAMPLE.com:80": "example.com", "a:" + long: "a",
	} {
		if want != "" {
			want = " host=" + want
		}
		if got := string(Request{Host: host, Path: "/"}.line()); got != "ask"+want+" path=/" {
			t.Errorf("%.20q: %.100q", host, got)
		}
	}
}

// TestLineFits: any request fits into a datagram.
func TestLineFits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		b := bytes.Repeat([]byte{byte(rng.IntN(256))}, rng.IntN(1<<rng.IntN(14)))
		return string(b)
	}
	for range 2000 {
		r := Request{
			Method: text(), Host: text(), Path: text(), Country: text(), TLS: text(),
			Scheme: text(), Tier: text(), ASN: rng.Uint32(),
			Client: netip.AddrFrom16([16]byte{1, 2, 15: 255}), CanWait: true, CanDeceive: true,
			Headers: http.Header{},
		}
		for range rng.IntN(100) {
			name := strings.Repeat(string(rune('a'+rng.IntN(26))), 1+rng.IntN(300))
			r.Headers[name] = append(r.Headers[name], text())
		}
		p := newDatagram(1)
		line := r.line()
		if !p.AppendLine(line) {
			t.Fatalf("%d bytes", len(line))
		}
		var w wire.Whole
		if code := wire.ParseWhole(&w, p.Bytes()); code != wire.NoError {
			t.Fatalf("%v: %.300q", code, line)
		}
	}
}
