package config

import (
	"time"

	"github.com/headgate-dev/headgate/edge/config/schema"
)

// Surge is about naming the common properties of the requests of a surge.
type Surge struct {
	Sample  int           // requests kept a second, 20..2000; 0: none
	Learn   time.Duration // of traffic before the first finding, 10s..24h
	MinRate int           // requests a second a finding adds at least, 1..1000000
}

// SurgeBytes is the part of Config.Memory for surges, where Sample is above 0 at the start.
const SurgeBytes = 4 << 20

// surgeMemory is the least Config.Memory of which SurgeBytes may be a part.
const surgeMemory = 4 * SurgeBytes

func (s *Surge) fields() []field {
	sample := numbers[int](0, 2000)
	sample.shape = schema.AnyOf(schema.Whole(0, 0), schema.Whole(20, 2000))
	parse := sample.parse
	sample.parse = func(v value) (int, bool) {
		n, ok := parse(v)
		if ok && n > 0 && n < 20 {
			v.fault("must be 0, for none, or from 20 to 2000")
			ok = false
		}
		return n, ok
	}
	return []field{
		described("sample", &s.Sample, sample.as("whole number, 20 to 2000, or 0"), "200",
			"The whole requests kept a second, for a minute and in 4MiB of `memory`: the "+
				"common properties of a surge are found among these. 0: none, as by default where "+
				"`memory` is below 16MiB. From 0 it changes at the start only."),
		described("learn", &s.Learn, durations(10*time.Second, 24*time.Hour), "1h",
			"How long traffic is learnt before the first finding."),
		described("min_rate", &s.MinRate, numbers[int](1, 1_000_000), "5",
			"How many requests a second a finding adds to usual traffic at least."),
	}
}

// checkSurge holds surge.sample together with the memory.
func (d *decoder) checkSurge(c *Config) {
	if c.Memory >= surgeMemory || d.bad["memory"] {
		return
	}
	if at, given := d.given["surge.sample"]; given && c.Surge.Sample > 0 {
		at.fault("takes 4MiB of memory: it needs a memory of 16MiB, or 0")
	}
	c.Surge.Sample = 0
}
