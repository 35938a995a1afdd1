package gossip

import (
	"time"

	"github.com/hashicorp/memberlist"
)

// Profile is a set of intervals. All nodes of a cluster should use the same profile.
type Profile uint8

// The profiles. LAN is the default for worldwide clusters too: a probe waits 500 ms for the answer,
// twice the longest round trip on earth, and then asks through other members and over TCP. WAN
// takes 30-90 s rather than 4-12 s to notice a death, and twice as long to spread a record: For
// slower links, or links often losing everything for seconds. Local is for nodes on a single
// machine.
const (
	LAN   Profile = iota // gossip 200 ms to 3 nodes, probe 1 s, push/pull 5 s
	WAN                  // gossip 500 ms to 4 nodes, probe 5 s, push/pull 15 s
	Local                // gossip 100 ms to 3 nodes, probe 1 s, push/pull 2 s
)

// Push/pull makes a lossy cluster converge; broadcasts alone leave some nodes out. memberlist's
// default of 30 s (LAN) leaves the slowest of 8 nodes behind for up to a minute at 20 % loss. At 5
// s the exchange of a state of 20 KiB costs 8 KiB/s. Above 32 nodes memberlist stretches the
// interval, to 30 s at 1000 nodes.
const (
	pushPullLAN   = 5 * time.Second
	pushPullWAN   = 15 * time.Second
	pushPullLocal = 2 * time.Second
)

// reclaimAfter is the time a member must be dead before the name may return from another address.
const reclaimAfter = 10 * time.Second

// udpBuffer is memberlist's target size of a datagram. A little more may go out: see
// guard.MaxDatagram.
const udpBuffer = 1400

// intervals returns memberlist's settings for the profile, with the push/pull intervals above.
func (p Profile) intervals() *memberlist.Config {
	var c *memberlist.Config
	switch p {
	case WAN:
		c = memberlist.DefaultWANConfig()
		c.PushPullInterval = pushPullWAN
	case Local:
		c = memberlist.DefaultLocalConfig()
		c.RetransmitMult = 4 // Local's 2 leaves nodes out when packets are lost
		c.PushPullInterval = pushPullLocal
	default:
		c = memberlist.DefaultLANConfig()
		c.PushPullInterval = pushPullLAN
	}
	return c
}
