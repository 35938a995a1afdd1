//go:build !race

package together

import (
	"fmt"
	"strings"
)

// unharmed fails the test if a client that kept to its limit was refused.
func (l *worldLab) unharmed(f *flow) {
	l.Helper()
	if got := f.total(); got.refused > 0 || got.unanswered > 0 {
		l.Errorf("%s, within its limit: %v; %v", f.name, got, f.why)
		l.logRings()
	}
}

// logRings logs the errors between the nodes and their rings: on a busy machine they explain a good
// deal.
func (l *worldLab) logRings() {
	l.Helper()
	for _, n := range l.nodes {
		text := ""
		for name, count := range n.Metrics("headgate_ring_operations_total") {
			if _, result, _ := strings.Cut(name, `result="`); count > 0 &&
				!strings.HasPrefix(result, "ok") {
				text += fmt.Sprintf(" %s %.0f", strings.Split(result, `"`)[0], count)
			}
		}
		l.Logf("  %s: operations of its ring that failed:%s", n.ID, text)
	}
}
