package config

import "github.com/headgate-dev/headgate/edge/config/schema"

// The past of keys has at least leastHistory bytes, at most a share of Config.Memory, and another
// unless the file says so.
const (
	leastHistory = 1 << 20
	mostHistory  = 4
	usualHistory = 16
)

func historyMemory(bytes *int64) field {
	c := sizes(0, MaxMemory/mostHistory).as("size, `1MiB` to a quarter of `memory`, or 0")
	c.shape = schema.AnyOf(schema.Size(leastHistory, MaxMemory/mostHistory), schema.Whole(0, 0))
	inUnits := c.print
	c.print = func(n int64) any {
		if n == 0 {
			return 0
		}
		return inUnits(n)
	}
	return described("memory", bytes, c, "4MiB",
		"The part of `memory` for the past of keys, for a day: `headgate history` and "+
			"`headgate explain --at`. By default a sixteenth, below 16MiB none. 0: none.").atStart()
}

// checkHistory holds history.memory together with the memory.
func (d *decoder) checkHistory(c *Config) {
	at, given := d.given["history.memory"]
	switch {
	case d.bad["memory"] || d.bad["history.memory"]:
	case !given:
		if c.History = c.Memory / usualHistory; c.History < leastHistory {
			c.History = 0
		}
	case c.History != 0 && (c.History < leastHistory || c.History > c.Memory/mostHistory):
		at.fault("must be 0, for none, or from 1MiB to a quarter of memory")
	}
}
