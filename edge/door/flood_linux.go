package door

import "time"

// A flood is floodLeast connections in floodWindow found ended: 160 a second. Probes that only
// connect are a few a second.
const (
	floodLeast  = 16
	floodWindow = 100 * time.Millisecond
)

// flood tells a flood of connections that end at once from a few. It begins with the floodLeast-th
// of a window, and is over at the end of the first window with fewer. The zero flood is ready.
type flood struct {
	began time.Time // of the present window
	seen  int       // in it
	is    bool
}

// note counts another at now, which never runs backwards.
func (f *flood) note(now time.Time) {
	f.roll(now)
	if f.seen++; f.seen >= floodLeast {
		f.is = true
	}
}

// at reports whether there is a flood at now.
func (f *flood) at(now time.Time) bool {
	f.roll(now)
	return f.is
}

// roll begins a new window, if the present is over at now.
func (f *flood) roll(now time.Time) {
	past := now.Sub(f.began)
	if past < floodWindow {
		return
	}
	// A window in which nothing was looked at had none.
	f.is = f.seen >= floodLeast && past < 2*floodWindow
	f.began, f.seen = now, 0
}
