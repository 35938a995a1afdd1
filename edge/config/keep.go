package config

// Keep returns next as a daemon started with running can take it over: settings fixed at start are
// running's. waiting names the differing settings, which wait for a restart, in the order of the
// documentation. A reload applies now, and logs and shows waiting: an operator who changed a port
// is to learn of the old port.
func Keep(running, next Config) (now Config, waiting []string) {
	var was []*field
	leavesOf(running.fields(), "", func(_ string, f *field) { was = append(was, f) })
	leavesOf(next.fields(), "", func(path string, f *field) {
		if f.fixed && keep(was[0], f) {
			waiting = append(waiting, path)
		}
		was = was[1:]
	})
	return next, waiting
}
