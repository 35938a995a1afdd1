package config

import (
	"testing"
)

func TestAddress(t *testing.T) {
	for _, c := range []struct {
		text, canonical string
		loopback        bool
		stream, packet  string
	}{
		{"127.0.0.1:4290", "127.0.0.1:4290", true, "tcp 127.0.0.1:4290", "udp 127.0.0.1:4290"},
		{"127.9.9.9:1", "127.9.9.9:1", true, "tcp 127.9.9.9:1", "udp 127.9.9.9:1"},
		{"[::1]:4290", "[::1]:4290", true, "tcp [::1]:4290", "udp [::1]:4290"},
		{"[0:0::0:1]:04290", "[::1]:4290", true, "tcp [::1]:4290", "udp [::1]:4290"},
		{
			"[::ffff:127.0.0.1]:1", "[::ffff:127.0.0.1]:1", true, "tcp [::ffff:127.0.0.1]:1",
			"udp [::ffff:127.0.0.1]:1",
		},
		{"LocalHost:4290", "localhost:4290", true, "tcp localhost:4290", "udp localhost:4290"},
		{"unix:/run/a.sock", "unix:/run/a.sock", true, "unix /run/a.sock", "unixgram /run/a.sock"},
		{":4290", ":4290", false, "tcp :4290", "udp :4290"},
		{"0.0.0.0:0", "0.0.0.0:0", false, "tcp 0.0.0.0:0", "udp 0.0.0.0:0"},
		{"[::]:1", "[::]:1", false, "tcp [::]:1", "udp [::]:1"},
		{
			"[fe80::1%eth0]:1", "[fe80::1%eth0]:1", false, "tcp [fe80::1%eth0]:1",
			"udp [fe80::1%eth0]:1",
		},
		{
			"127.0.0.1.example:1", "127.0.0.1.example:1", false, "tcp 127.0.0.1.example:1",
			"udp 127.0.0.1.example:1",
		},
		{"10.0.0.1:1", "10.0.0.1:1", false, "tcp 10.0.0.1:1", "udp 10.0.0.1:1"},
	} {
		a, err := ParseAddress(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if a.String() != c.canonical || a.Loopback() != c.loopback || a.IsZero() {
			t.Errorf("%s: got %s, loopback %v, zero %v", c.text, a, a.Loopback(), a.IsZero())
		}
		if got := joined(a.Stream()); got != c.stream {
			t.Errorf("%s: stream %s, want %s", c.text, got, c.stream)
		}
		if got := joined(a.Packet()); got != c.packet {
			t.Errorf("%s: packet %s, want %s", c.text, got, c.packet)
		}
	}
}

func joined(network, address string) string { return network + " " + address }

func TestZeroAddress(t *testing.T) {
	var none Address
	if !none.IsZero() || none.String() != "" || none.IsUnix() || none.Loopback() {
		t.Errorf("the zero address is %q, zero %v, unix %v, loopback %v", none, none.IsZero(),
			none.IsUnix(), none.Loopback())
	}
}

// TestNotAnAddress holds forms that some resolver or library would take, each in its own way.
func TestNotAnAddress(t *testing.T) {
	for _, text := range []string{
		"", ":", ":0", "::", "a:", "127.1:80", "0177.0.0.1:80", "1:80", "127.0.0.1.:80",
		"[127.0.0.1:80", "[]:x", "a:-1", "a:+1", "a: 1",
		"a:1 ", "a b:1", "a\x00:1", "unix:", "unix:@abstract", "unix:/a/../b", "unix:/a/",
		"UNIX:/a:1", "tcp:127.0.0.1:1",
	} {
		if a, err := ParseAddress(text); err == nil {
			t.Errorf("%q was read as %+v", text, a)
		}
	}
}

func FuzzAddress(f *testing.F) {
	for _, seed := range []string{
		"127.0.0.1:1", "[::1%a]:1", "unix:/a", ":1", "host.example:1",
		"1.2.3:4",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAddress(text)
		if err != nil {
			return
		}
		again, err := ParseAddress(a.String())
		if err != nil || again != a {
			t.Errorf("%q is %+v, which reads as %+v, %v", text, a, again, err)
		}
	})
}
