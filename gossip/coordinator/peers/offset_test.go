package peers_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
)

// sight is that of a member's clock: by a packet, or, with a round trip, by the answer to a ping.
type sight struct {
	at   time.Duration // since the start
	lead time.Duration // when it arrived
	ping time.Duration
}

// TestClocksOfMembers: of all sights the nearest counts, a late packet is no wrong clock, and a
// step is followed.
func TestClocksOfMembers(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	for name, c := range map[string]struct {
		seen []sight
		want time.Duration
	}{
		"the same clock, far away":    {[]sight{{0, -150 * ms, 0}, {s, -140 * ms, 0}}, 0},
		"a packet from the future":    {[]sight{{0, 300 * ms, 0}}, 300 * ms},
		"far behind":                  {[]sight{{0, -7 * s, 0}}, -7 * s},
		"late, or behind":             {[]sight{{0, -900 * ms, 0}, {s, -950 * ms, 0}}, 0},
		"late once":                   {[]sight{{0, -900 * ms, 0}, {s, -50 * ms, 0}}, 0},
		"behind three times":          {[]sight{{0, -s, 0}, {s, -s, 0}, {s, -s, 0}}, -s},
		"a ping is enough":            {[]sight{{0, -920 * ms, 40 * ms}}, -900 * ms},
		"a slow ping tells less":      {[]sight{{0, -920 * ms, 1900 * ms}}, 0},
		"the quickest answer":         {[]sight{{0, -s, s}, {s, -510 * ms, 20 * ms}}, -500 * ms},
		"a step ahead counts at once": {[]sight{{0, 0, 20 * ms}, {s, 5 * s, 0}}, 5010 * ms},
		"a step back within 20 seconds": {[]sight{
			{0, s, 0}, {11 * s, -s, 8 * ms}, {22 * s, -s, 0},
		}, -996 * ms},
		"before that it may be late": {[]sight{{0, s, 0}, {11 * s, -s, 0}, {20 * s, -s, 0}}, s},
		"beyond a minute":            {[]sight{{0, 61 * s, 9 * ms}}, 0},
	} {
		p := table()
		for n, is := range c.seen {
			now := start.Add(is.at)
			if is.ping > 0 {
				p.Pinged(now, "b", is.lead, is.ping)
				continue
			}
			p.SetClock(now, now.Time())
			p.Timely(now, packet.Header{
				Sender: "b", Sequence: uint64(n), Issued: p.Millis(now.Add(is.lead)),
			})
		}
		if got := p.Lead("b"); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestTheMedianIsTheClusters: members number by the median of their clocks, of an even number the
// clock behind. Strangers do not count.
func TestTheMedianIsTheClusters(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		leads []time.Duration
		want  time.Duration
	}{
		{nil, 0},
		{[]time.Duration{5 * s}, 0},
		{[]time.Duration{-5 * s}, 5 * s},
		{[]time.Duration{-5 * s, 5 * s}, 0},
		{[]time.Duration{5 * s, 5 * s}, -5 * s},
		{[]time.Duration{5 * s, 5 * s, 0}, 0},
		{[]time.Duration{-5 * s, -6 * s, 7 * s}, 5 * s},
	} {
		p := table()
		for n, lead := range c.leads {
			p.Pinged(start, string(rune('a'+n)), lead, 1)
		}
		p.Pinged(start, "stranger", -59*s, 1)
		p.Compare(func(name string) bool { return name != "stranger" })
		if got := p.Offset(); got != c.want {
			t.Errorf("%v: %v, want %v", c.leads, got, c.want)
		}
	}
}
