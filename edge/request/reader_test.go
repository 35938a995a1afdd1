package request_test

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/request"
)

// filled is what a Reader is given, by field.
type filled struct {
	method, target, host, name, value, from, country, asn []byte
}

var forwardedFor, client = []byte("X-Forwarded-For"), []byte("203.0.113.7")

// newNames returns names of headers that policies look at.
func newNames() *request.Names {
	names := &request.Names{Target: true}
	for _, name := range []string{"x-forwarded-for", "x-api-key", "cookie"} {
		names.Add(name)
	}
	return names
}

// read has a Reader fill r from in.
func read(r *request.Request, names *request.Names, c *request.Clients, in *filled) request.Unfit {
	var f request.Reader
	r.Reset(names)
	f.Begin(r, c, netip.MustParseAddr("127.0.0.1"))
	f.Method(in.method)
	f.Host(in.host)
	f.Target(in.target)
	f.Header(in.name, in.value)
	f.Header(forwardedFor, in.from)
	f.Header(forwardedFor, client)
	f.Known(request.Country, in.country)
	f.Known(request.ASN, in.asn)
	return f.End()
}

// check reports what is wrong with r as a reading of in.
func check(t *testing.T, r *request.Request, in *filled, unfit request.Unfit) {
	t.Helper()
	r.Param("a", 0)
	r.Cookie("a", 0)
	long := len(in.target) > request.MaxTarget
	parts := bytes.Count(in.target, []byte("&")) + bytes.Count(in.value, []byte(";"))
	switch {
	case unfit != 0 && !long, r.Unfit != unfit && parts < request.MaxParams, long && unfit == 0:
		t.Fatalf("unfit %d, then %d: %q", unfit, r.Unfit, in)
	case len(r.Method) == 0, r.Client != netip.MustParseAddr("203.0.113.7"):
		t.Fatalf("method %q, client %v: %q", r.Method, r.Client, in)
	case len(r.Path) == 0, r.Path[0] != '/' && string(r.Path) != "*":
		t.Fatalf("path %q: %q", r.Path, in)
	case len(r.Host) > 255, bytes.ContainsAny(r.Host, "ABCXYZ@"):
		t.Fatalf("host %q: %q", r.Host, in)
	}
}

// Every byte in every place has a reading, and makes no request unfit.
func TestEveryByte(t *testing.T) {
	r, names, c := new(request.Request), newNames(), request.DefaultClients()
	for i := range 256 {
		for _, text := range [][]byte{
			{byte(i)},
			{'a', byte(i)},
			{'a', byte(i), 'b'},
			{byte(i), 'b'},
		} {
			for place := range 8 {
				in := plain()
				*[]*[]byte{
					&in.method, &in.target, &in.host, &in.name, &in.value, &in.from, &in.country,
					&in.asn,
				}[place] = text
				check(t, r, &in, read(r, names, &c, &in))
			}
		}
	}
}

// plain is a request as most are.
func plain() filled {
	return filled{
		[]byte("GET"), []byte("/a?b"), []byte("example.com"), []byte("Cookie"), []byte("a=b"),
		[]byte("192.0.2.1"), []byte("DE"), []byte("AS3320"),
	}
}

// No input changes the kind of the reading, or the bytes that are read.
func FuzzReader(f *testing.F) {
	p := plain()
	f.Add(p.method, p.target, p.host, p.name, p.value, p.from, p.country, p.asn)
	f.Add([]byte(""), []byte("http://a@B:80?x#y"), []byte("[abc"), []byte("cookie"), []byte("\t a;;=; b=\"c\" \t"),
		[]byte("\x01, 127.0.0.1"), []byte(" "), []byte("many"))
	f.Add([]byte("\x00"), []byte("%2e%2e%2f%25"), []byte("a.:"), []byte("X-Api-Key"),
		[]byte("\xff"),
		[]byte("for=x, ,"), []byte(""), []byte("AS99999999999"))
	r, names, c := new(request.Request), newNames(), request.DefaultClients()
	f.Fuzz(func(t *testing.T, method, target, host, name, value, from, country, asn []byte) {
		in := filled{method, target, host, name, value, from, country, asn}
		before := slices.Concat(method, target, host, name, value, from, country, asn)
		check(t, r, &in, read(r, names, &c, &in))
		if !bytes.Equal(before, slices.Concat(method, target, host, name, value, from, country,
			asn)) {
			t.Fatalf("the bytes became %q", in)
		}
	})
}

// Filling in a request allocates nothing, odd ones too.
func TestReaderAllocates(t *testing.T) {
	r, names, c := new(request.Request), newNames(), request.DefaultClients()
	odd := filled{
		nil, []byte("HTTP://u@A.example:80//a/../%2fb?a=%41"), []byte("B.:1"), []byte("COOKIE"),
		[]byte("\ta=\x01;b"), []byte("\x01"), []byte(" DE "), []byte("x"),
	}
	for _, in := range []filled{plain(), odd} {
		read(r, names, &c, &in)
		if n := testing.AllocsPerRun(100, func() { read(r, names, &c, &in) }); n != 0 {
			t.Errorf("%q: %v allocations", in.target, n)
		}
	}
}

// What is too long or too many is unfit, if a policy looks at it, and nothing else is.
func TestUnfit(t *testing.T) {
	many := func(n int) func(f *request.Reader) {
		return func(f *request.Reader) {
			for range n {
				f.Header([]byte("X-Api-Key"), []byte("k"))
			}
		}
	}
	for _, tt := range []struct {
		name string
		fill func(f *request.Reader)
		want request.Unfit
	}{
		{
			"a long target", func(f *request.Reader) { f.Target(bytes.Repeat([]byte("/a"), 4096)) },
			0,
		},
		{
			"a longer one", func(f *request.Reader) { f.Target(bytes.Repeat([]byte("a"), 8193)) },
			request.UnfitTarget,
		},
		{"128 headers", many(128), 0},
		{"129 headers", many(129), request.UnfitHeaders},
		{"a thousand that nobody looks at", func(f *request.Reader) {
			for range 1000 {
				f.Header([]byte("Accept"), []byte("k"))
			}
		}, 0},
		{"a path was cut", func(f *request.Reader) { f.Cut([]byte("path")) }, request.UnfitTarget},
		{
			"a header was cut", func(f *request.Reader) { f.Cut([]byte("header.COOKIE")) },
			request.UnfitHeaders,
		},
		{"another one was", func(f *request.Reader) { f.Cut([]byte("header.referer")) }, 0},
		{"something unknown was", func(f *request.Reader) { f.Cut([]byte("body")); f.Cut(nil) }, 0},
		{
			"the first counts", func(f *request.Reader) { many(129)(f); f.Cut([]byte("path")) },
			request.UnfitHeaders,
		},
		{"parameters", func(f *request.Reader) {
			f.Target(
				[]byte("/?" + strings.Repeat("x=1&", 257)))
		}, request.UnfitHeaders},
		{"cookies", func(f *request.Reader) {
			f.Header([]byte("cookie"), []byte(strings.Repeat("x=1;", 256)))
			f.Header([]byte("cookie"), []byte("x=1"))
		}, request.UnfitHeaders},
		{"empty parameters", func(
			f *request.Reader,
		) {
			f.Target([]byte("/?x=1" + strings.Repeat("&", 4000)))
		}, 0},
	} {
		r, c := new(request.Request), request.DefaultClients()
		r.Reset(newNames())
		var f request.Reader
		f.Begin(r, &c, netip.Addr{})
		f.Target([]byte("/"))
		tt.fill(&f)
		f.End()
		r.Param("y", 0)
		r.Cookie("y", 0)
		if r.Unfit != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, r.Unfit, tt.want)
		}
	}
}

// A path that no policy looks at may be cut.
func TestCutUnseen(t *testing.T) {
	r, c := new(request.Request), request.DefaultClients()
	r.Reset(new(request.Names))
	var f request.Reader
	f.Begin(r, &c, netip.Addr{})
	if f.Cut([]byte("path")); f.End() != 0 {
		t.Error("it is unfit")
	}
}

// Fields that only a proxy knows: empty is absent, unreadable is absent and counted, and a stranger
// says nothing.
func TestKnown(t *testing.T) {
	r, c := new(request.Request), request.DefaultClients()
	for _, tt := range []struct {
		peer, country, asn string
		wantCountry        string
		wantASN            uint32
		unreadable         int
	}{
		{"127.0.0.1", " DE\t", "AS3320", "DE", 3320, 0},
		{"127.0.0.1", " ", "", "", 0, 0},
		{"127.0.0.1", "\x01", "many", "\x01", 0, 1},
		{"203.0.113.7", "DE", "many", "", 0, 0},
	} {
		r.Reset(nil)
		var f request.Reader
		f.Begin(r, &c, netip.MustParseAddr(tt.peer))
		f.Known(request.Country, []byte(tt.country))
		f.Known(request.ASN, []byte(tt.asn))
		f.End()
		if string(r.Country) != tt.wantCountry || r.ASN != tt.wantASN ||
			r.Unreadable != tt.unreadable {
			t.Errorf("%+v: %q, %d, %d", tt, r.Country, r.ASN, r.Unreadable)
		}
	}
}

// A client that could not be read is counted as its proxy, and is in no network of conditions.
func TestMatched(t *testing.T) {
	r, names, c := new(request.Request), newNames(), request.DefaultClients()
	for from, want := range map[string]string{
		"203.0.113.7": "203.0.113.7", "\x01": "0.0.0.0", "x, 127.0.0.9": "0.0.0.0", "": "127.0.0.1",
		"127.0.0.9": "127.0.0.9",
	} {
		r.Reset(names)
		var f request.Reader
		f.Begin(r, &c, netip.MustParseAddr("127.0.0.1"))
		f.Header([]byte("X-Forwarded-For"), []byte(from))
		f.End()
		if got := r.Matched().String(); got != want || r.Client.String() == "0.0.0.0" {
			t.Errorf("%q: matched as %s, client %s; want %s", from, got, r.Client, want)
		}
	}
}
