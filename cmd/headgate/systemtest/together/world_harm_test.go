//go:build !race

package together

// unharmed fails the test if a client that kept to its limit was refused.
func (l *worldLab) unharmed(f *flow) {
	l.Helper()
	if got := f.total(); got.Refused > 0 || got.Unanswered > 0 {
		l.Errorf("%s, within its limit: %v; %v", f.name, got, f.why)
		l.logRings()
	}
}

// logRings logs the operations between the nodes and their rings: failed ones explain much on a busy
// machine.
func (l *worldLab) logRings() {
	l.Helper()
	for _, n := range l.nodes {
		l.Logf("  %s: %v", n.ID, n.Metrics("headgate_ring_operations_total"))
	}
}
