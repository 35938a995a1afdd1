package gossip

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/gossip/lossy"
)

func TestOpenRefuses(t *testing.T) {
	good := Config{
		Name: "n", Bind: "10.0.0.1:1", Key: key(1),
		Transport: lossy.New(1, lossy.Fault{}).End("10.0.0.1:1"),
	}
	for _, c := range []struct {
		what   string
		change func(*Config)
		want   string // "" is accepted
	}{
		{"good", func(*Config) {}, ""},
		{"no name", func(c *Config) { c.Name = "" }, "name: 0 bytes"},
		{
			"long name", func(c *Config) { c.Name = strings.Repeat("x", MaxName+1) },
			"name: 129 bytes",
		},
		{"name with a line", func(c *Config) { c.Name = "a\nb" }, "not printable"},
		{
			"long label", func(c *Config) { c.Label = strings.Repeat("x", MaxLabel+1) },
			"label: 65 bytes",
		},
		{
			"many seeds", func(c *Config) { c.Join = make([]string, MaxSeeds+1) },
			"join: 1001 addresses",
		},
		{
			"many networks", func(c *Config) { c.Allow = make([]netip.Prefix, maxPrefix+1) },
			"allow: 1001 networks",
		},
		{"long meta", func(c *Config) { c.Meta.PoP = strings.Repeat("x", 65) }, "pop has 65 bytes"},
		{
			"several faults", func(c *Config) { c.Name, c.Label = "", strings.Repeat("x", 65) },
			"label",
		},
		{"no port", func(c *Config) { c.Bind = "10.0.0.1" }, "want host:port"},
		{"bad port", func(c *Config) { c.Bind = "10.0.0.1:99999" }, "port must be"},
		{"a name to bind", func(c *Config) { c.Bind = "example.com:1" }, "must be an IP address"},
		{"localhost", func(c *Config) { c.Bind = "localhost:1" }, ""},
		{"short key", func(c *Config) { c.Key = key(1)[:16] }, "key 1: 16 bytes, want 32"},
		{"short second key", func(c *Config) { c.Keys = [][]byte{nil} }, "key 2: 0 bytes"},
		{"many keys", func(c *Config) { c.Keys = make([][]byte, MaxKeys) }, "keys: 9, at most 8"},
		{"no key off loopback", func(c *Config) { c.Key = nil }, "required"},
		{"no key everywhere", func(c *Config) { c.Key, c.Bind = nil, ":1" }, "required"},
		{"no key on loopback", func(c *Config) { c.Key, c.Bind = nil, "127.0.0.1:1" }, ""},
		{"no key but seeds", func(c *Config) {
			c.Key, c.Bind, c.Join = nil, "127.0.0.1:1",
				[]string{"127.0.0.1:2"}
		}, "required"},
	} {
		cfg := good
		c.change(&cfg)
		_, err := Open(cfg)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.what, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
}

func TestRandomKeyIsRandom(t *testing.T) {
	open := func() string {
		n := idle(t, func(c *Config) { c.Key, c.Bind = nil, "127.0.0.1:1" })
		return string(n.keyring.GetPrimaryKey())
	}
	if a, b := open(), open(); a == b || len(a) != KeyBytes {
		t.Errorf("two nodes without a key have the keys %x and %x", a, b)
	}
}

func TestPortInUse(t *testing.T) {
	first, err := Open(Config{Name: "a", Bind: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Config{Name: "b", Bind: first.Addr().String()}); err == nil ||
		!strings.Contains(err.Error(), "listen") {
		t.Errorf("a second node on %v: %v", first.Addr(), err)
	}
	if err := first.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	second, err := Open(Config{Name: "b", Bind: first.Addr().String()})
	if err != nil {
		t.Fatalf("after Close: %v", err)
	}
	_ = second.Close()
}

func TestAdvertised(t *testing.T) {
	for _, c := range []struct{ advertise, bound, want string }{
		{"", "10.0.0.1:5", "10.0.0.1:5"},
		{"192.0.2.1:7", "0.0.0.0:5", "192.0.2.1:7"},
		{"192.0.2.1:0", "0.0.0.0:5", "192.0.2.1:5"},
		{"name:1", "10.0.0.1:5", ""},
		{"0.0.0.0:1", "10.0.0.1:5", ""},
	} {
		got, err := advertised(c.advertise, netip.MustParseAddrPort(c.bound))
		if (err != nil) != (c.want == "") || err == nil && got.String() != c.want {
			t.Errorf("advertise %q bound to %s: %v, %v; want %q", c.advertise, c.bound, got, err,
				c.want)
		}
	}
	got, err := advertised("", netip.MustParseAddrPort("0.0.0.0:5"))
	if err == nil && (!got.Addr().IsPrivate() || got.Port() != 5) {
		t.Errorf("bound to all addresses it advertises %v", got)
	}
}
