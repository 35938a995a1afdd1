package gossip

import (
	"time"

	"github.com/hashicorp/memberlist"
)

// Profile is a set of intervals. All nodes of a cluster should use the same.
type Profile uint8

// The profiles. LAN is the default for clusters over the world too: its probes wait 500 ms for an answer, twice the
// longest round trip between two places on earth, and fall back to other members and to TCP; WAN would take 30-90 s
// instead of 4-12 s to see a death and twice as long to spread a record. WAN is for links that are slower than that or
// often lose everything for seconds; Local for nodes that share a machine.
const (
	LAN   Profile = iota // gossip 200 ms to 3 nodes, probe 1 s, push/pull 5 s
	WAN                  // gossip 500 ms to 4 nodes, probe 5 s, push/pull 15 s
	Local                // gossip 100 ms to 3 nodes, probe 1 s, push/pull 2 s
)

// Push/pull is what makes a cluster agree that loses packets: broadcasts alone leave some nodes out. memberlist asks
// for it every 30 s (LAN) by default, which with 20 % loss leaves the slowest of 8 nodes behind for up to a minute; at
// 5 s the exchange of a state of 20 KiB costs 8 KiB/s. Above 32 nodes memberlist itself stretches the interval, to
// 30 s at 1000 nodes.
const (
	pushPullLAN   = 5 * time.Second
	pushPullWAN   = 15 * time.Second
	pushPullLocal = 2 * time.Second
)

// streamTimeout bounds a dial and each exchange over a stream.
const streamTimeout = 5 * time.Second

// reclaimAfter is how long a member must be dead before its name may come back from another address.
const reclaimAfter = 10 * time.Second

// udpBuffer is how much memberlist packs into a datagram. A little more may go out: see maxDatagram.
const udpBuffer = 1400

// intervals returns memberlist's settings for the profile, with pushes and pulls as above.
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
