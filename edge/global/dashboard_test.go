package global_test

import (
	"testing"

	"github.com/headgate-dev/headgate/edge/global"
)

// TestDashboardOf checks which addresses of members' pages are shown, and that nothing else becomes
// a link.
func TestDashboardOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ admin, gossips, want string }{
		{"", "192.0.2.1:4293", ""},
		{":4292", "192.0.2.1:4293", "http://192.0.2.1:4292/"},
		{"0.0.0.0:4292", "192.0.2.1:4293", "http://192.0.2.1:4292/"},
		{"[::]:4292", "[2001:db8::1]:4293", "http://[2001:db8::1]:4292/"},
		{"198.51.100.7:80", "192.0.2.1:4293", "http://198.51.100.7:80/"},
		{"edge-1.example:4292", "192.0.2.1:4293", "http://edge-1.example:4292/"},
		{"edge-1.example", "192.0.2.1:4293", ""},
		{"edge-1:http", "192.0.2.1:4293", ""},
		{"edge-1:0", "192.0.2.1:4293", ""},
		{"edge-1:65536", "192.0.2.1:4293", ""},
		{"edge-1/x:80", "192.0.2.1:4293", ""},
		{"a@evil.example:80", "192.0.2.1:4293", ""},
		{"x y:80", "192.0.2.1:4293", ""},
		{"javascript:1", "192.0.2.1:4293", "http://javascript:1/"},
		{":4292", "", ""},
		{"[fe80::1%eth0]:4292", "192.0.2.1:4293", ""},
		{":+80", "192.0.2.1:4293", ""},
	} {
		if got := global.DashboardOf(tt.admin, tt.gossips); got != tt.want {
			t.Errorf("%q of %q: %q, want %q", tt.admin, tt.gossips, got, tt.want)
		}
	}
}
