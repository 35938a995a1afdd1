package policy

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/policy/sets"
	"github.com/headgate-dev/headgate/edge/request"
)

func TestKeys(t *testing.T) {
	sets := []Set{
		{Name: "tenants", Kind: Values, Entries: []sets.Entry{{Value: "known"}}},
		{Name: "office", Kind: CIDR, Nets: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}},
	}
	cases := []struct {
		name    string
		parts   []string
		url     string
		client  string
		headers []string
		want    string
	}{
		{"IPv4", []string{"client"}, "h/", "203.0.113.7", nil, "203.0.113.7"},
		{"IPv6", []string{"client"}, "h/", "2001:db8:1:2:3::4", nil, "2001:db8:1:2::/64"},
		{"other bits", []string{"client/24,128"}, "h/", "203.0.113.7", nil, "203.0.113.0/24"},
		{"all bits of IPv6", []string{"client/24,128"}, "h/", "2001:db8::1", nil, "2001:db8::1"},
		{
			"parts",
			[]string{"client", "path:2"},
			"h/a/b/c", "203.0.113.7", nil,
			"203.0.113.7\x1f/a/b",
		},
		{"fewer segments", []string{"path:2"}, "h/a", "203.0.113.7", nil, "/a"},
		{"one part is its text", []string{"path"}, "h/a%252fb", "203.0.113.7", nil, "/a%2fb"},
		{
			"a part of a list is escaped",
			[]string{"path", "host"},
			"h/a%252fb", "203.0.113.7",
			nil, "/a%252fb\x1fh",
		},
		{"a spelling of a path", []string{"path"}, "h/a%2fb%2f", "203.0.113.7", nil, "/a/b"},
		{
			"a spelling of segments",
			[]string{"path:2"},
			"h/%2Fa%2fb/c%2Fd",
			"203.0.113.7", nil, "/a/b",
		},
		{"a last slash", []string{"path:3"}, "h/caf%C3%A9/", "203.0.113.7", nil, "/café"},
		{
			"the first that is present",
			[]string{"raw(header.x-api-key)@tenants | client"},
			"h/",
			"203.0.113.7",
			[]string{"x-api-key: known"},
			"known",
		},
		{
			"made up",
			[]string{"raw(header.x-api-key)@tenants | client"},
			"h/", "203.0.113.7",
			[]string{"x-api-key: other"},
			"203.0.113.7",
		},
		{
			"an address of a set",
			[]string{"client@office | method"},
			"h/",
			"203.0.113.7", nil, "GET",
		},
		{"absent", []string{"header.x-a"}, "h/", "203.0.113.7", nil, "\x00"},
		{"empty", []string{"header.x-a"}, "h/", "203.0.113.7", []string{"x-a: "}, "\x00"},
		{
			"absent in a list",
			[]string{"header.x-a", "query.q"},
			"h/?q=1",
			"203.0.113.7", nil, "\x00\x1f1",
		},
		{"for everybody", []string{"all"}, "h/", "203.0.113.7", nil, "all"},
		{"the policy", []string{"policy", "method"}, "h/", "203.0.113.7", nil, "p\x1fGET"},
	}
	out := new(Result)
	for _, c := range cases {
		p := limit("p", nil)
		p.Key = keyOf(t, c.parts...)
		e := engine(t, sets, p)
		e.Evaluate(ask(t, e, "GET", c.url, c.client, c.headers...), out)
		if got := string(out.Questions[0].Key); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if p.Key.String() != strings.Trim("["+strings.Join(c.parts, ", ")+"]", "[]") &&
			len(c.parts) == 1 {
			t.Errorf("%s: written as %s", c.name, p.Key.String())
		}
		p.MissingSkip = true
		e = engine(t, sets, p)
		e.Evaluate(ask(t, e, "GET", c.url, c.client, c.headers...), out)
		if absent := strings.Contains(c.want, "\x00"); absent != (out.N == 0) {
			t.Errorf("%s: missing: skip gives %d questions", c.name, out.N)
		}
	}
}

// What is secret, long, or could be taken for something else is a digest under the key of the node.
func TestDigests(t *testing.T) {
	key := func(secret byte, part, value string) string {
		p := limit("p", nil)
		p.Key = keyOf(t, part)
		s := &Spec{Policies: []Policy{p}}
		e, err := Load(s, Options{Key: [32]byte{secret}, Rules: ruleNames(s)})
		if err != nil {
			t.Fatal(err)
		}
		out := new(Result)
		e.Evaluate(ask(t, e, "GET", "h/", "192.0.2.1", "x-a: "+value, "authorization: "+value,
			"cookie: c="+value), out)
		return string(out.Questions[0].Key)
	}
	isDigest := func(text string) bool { return len(text) == 33 && text[0] == '~' }
	long := strings.Repeat("a", maxPart+1)
	for _, c := range []struct {
		part, value string
		digest      bool
	}{
		{"header.x-a", "a", false},
		{"hash(header.x-a)", "a", true},
		{"header.authorization", "a", true},
		{"raw(header.authorization)", "a", false},
		{"cookie.c", "a", true},
		{"raw(cookie.c)", "a", false},
		{"header.x-a", long, true},
		{"header.x-a", long[1:], false},
		{"header.x-a", "~" + strings.Repeat("0", 32), true},
		{"header.x-a", "a\x1fb", true},
		{"header.x-a", "a\x00b", true},
	} {
		got := key(1, c.part, c.value)
		if isDigest(got) != c.digest ||
			c.digest && (got == c.value || got == key(2, c.part, c.value) ||
				got == key(1, c.part, c.value+"x")) {
			t.Errorf("%s of %.10q: got %q", c.part, c.value, got)
		}
		if got != key(1, c.part, c.value) {
			t.Errorf("%s of %.10q: not the same twice", c.part, c.value)
		}
	}
}

// Two different requests never have one key, however their values are chosen.
func FuzzKeysDiffer(f *testing.F) {
	f.Add("a", "b\x1fc", "a\x1fb", "c", false)
	f.Add("%1F", "", "\x1f", "", true)
	f.Add("", "a", "\x00", "a", false)
	f.Fuzz(func(t *testing.T, a1, b1, a2, b2 string, single bool) {
		parts := []string{"header.x-a", "header.x-b"}
		if single {
			parts, b1, b2 = parts[:1], "", ""
		}
		p := limit("p", nil)
		p.Key = keyOf(t, parts...)
		e := engine(t, nil, p)
		key := func(a, b string) string {
			out := new(Result)
			e.Evaluate(ask(t, e, "GET", "h/", "", "x-a: "+a, "x-b: "+b), out)
			if n := len(out.Questions[0].Key); n < 1 || n > 256 {
				t.Fatalf("a key of %d bytes", n)
			}
			return string(out.Questions[0].Key)
		}
		if same := a1 == a2 && b1 == b2; (key(a1, b1) == key(a2, b2)) != same {
			t.Fatalf("%q %q and %q %q: %q, %q", a1, b1, a2, b2, key(a1, b1), key(a2, b2))
		}
	})
}

func FuzzKeyPart(f *testing.F) {
	for _, seed := range []string{
		"client/24,56", "raw(header.a)@s | client", "hash(raw(host))",
		"path:3", "|", "raw(", "query.", "client@",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parts, err := ParseKeyPart(text)
		if err != nil {
			return
		}
		k := Key{Parts: [][]Part{parts}}
		again, err := ParseKeyPart(k.String())
		if err != nil || (&Key{Parts: [][]Part{again}}).String() != k.String() {
			t.Fatalf("%q is written as %q: %v", text, k.String(), err)
		}
	})
}

// The network of an address is written as net/netip writes it, whatever its bits.
func TestNetworksAreWrittenAlike(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 4))
	out, r := new(Result), new(request.Request)
	for bits := 16; bits <= 128; bits++ {
		p := limit("p", nil)
		p.Key = keyOf(t, fmt.Sprintf("client/%d,%d", 32-bits%25, bits))
		e := engine(t, nil, p)
		for range 50 {
			var octets [16]byte
			for i := range octets {
				octets[i] = byte(rng.Uint32() & rng.Uint32() & rng.Uint32()) // many noughts
			}
			a := netip.AddrFrom16(octets)
			want := netip.PrefixFrom(a, bits).Masked().String()
			if bits == 128 {
				want = a.String()
			}
			r.Reset(e.Names())
			r.Client = netip.AddrFrom4([4]byte(octets[12:]))
			network := netip.PrefixFrom(r.Client, 32-bits%25).Masked().String()
			if bits%25 == 0 {
				network = r.Client.String()
			}
			if e.Evaluate(r, out); string(out.Questions[0].Key) != network {
				t.Fatalf("%v: got %s, want %s", r.Client, out.Questions[0].Key, network)
			}
			r.Client = a
			if e.Evaluate(r, out); string(out.Questions[0].Key) != want {
				t.Fatalf("%v: got %s, want %s", a, out.Questions[0].Key, want)
			}
		}
	}
}
