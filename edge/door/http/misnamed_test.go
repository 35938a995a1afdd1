package http

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestMisnamed checks that a rule that there is not is remembered by name and counted by door,
// however it was asked for.
func TestMisnamed(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, 4<<20, mitigation.Rule{Name: "login", Limit: 5, Window: time.Minute})
	d := serveDoor(t, New(g, nil, g.Lane(0)), listen(t))
	ask := map[string]func(){
		"per-up": func() { d.get(t, "/v1/check?rule=per-up&key=a") },
		"logon": func() {
			d.send(t,
				rawCheck(`{"checks":[{"rule":"login","key":"a"},{"rule":"logon","key":"a"}]}`))
		},
		strings.Repeat("n", 64): func() {
			d.get(t, "/v1/count?key=a&rule="+strings.Repeat("n", 100))
		},
	}
	for want, ask := range ask {
		ask()
		if name, n := g.Misnamed(); name != want || n != 1 {
			t.Errorf("%q %d times, want %q", name, n, want)
		}
	}
	if name, n := g.Misnamed(); name != "" || n != 0 {
		t.Errorf("%q %d times, and nobody asked", name, n)
	}
	d.get(t, "/v1/check?rule=login&key=")
	d.get(t, "/v1/check?rule=login&key=a&x="+strings.Repeat("x", 5000))
	s := d.Stats()
	if got := fmt.Sprint(s.UnknownRule, s.Malformed, s.TooLong, s.Refused); got != "3 1 1 5" {
		t.Errorf("unknown rule, malformed, too long, refused: %s", got)
	}
}
