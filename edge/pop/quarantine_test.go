package pop

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/window"
)

// TestQuarantine: three totals within a second that cannot be true, and no fewer, put a server into
// quarantine.
func TestQuarantine(t *testing.T) {
	for apart, most := range map[time.Duration]int{
		400 * time.Millisecond: 2, 600 * time.Millisecond: 20,
	} {
		var q quarantine
		now := window.Instant(time.Hour)
		for n := range most + 1 {
			if q.at(now) {
				t.Errorf("%v apart: after %d", apart, n)
			}
			now = now.Add(apart)
			q.implausible(now)
		}
		if want := most == 2; q.at(now.Add(9*time.Second)) != want ||
			q.at(now.Add(11*time.Second)) {
			t.Errorf("%v apart: %+v, quarantine %t", apart, &q, want)
		}
	}
}
