package gossip

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/guard"
)

// The settings that keep strangers out and packets small do not depend on the profile.
func TestSettings(t *testing.T) {
	for _, p := range []Profile{LAN, WAN, Local} {
		n := idle(t, func(c *Config) {
			c.Profile, c.Label = p, "us"
			c.Allow = []netip.Prefix{
				netip.MustParsePrefix("10.1.2.3/8"),
				netip.MustParsePrefix("2001:db8::/32"),
			}
		})
		s := n.settings()
		if !s.GossipVerifyIncoming || !s.GossipVerifyOutgoing || s.SkipInboundLabelCheck ||
			s.Keyring == nil || s.Label != "us" {
			t.Errorf("profile %d: plaintext or another label could pass", p)
		}
		if s.EnableCompression || s.UDPBufferSize != udpBuffer ||
			s.TCPTimeout != guard.StreamTimeout {
			t.Errorf("profile %d: compression %v, buffer %d, timeout %v", p, s.EnableCompression,
				s.UDPBufferSize, s.TCPTimeout)
		}
		if s.PushPullInterval > pushPullWAN || s.PushPullInterval == 0 || s.RetransmitMult < 4 {
			t.Errorf("profile %d does not converge: %v, %d", p,
				s.PushPullInterval, s.RetransmitMult)
		}
		if len(s.CIDRsAllowed) != 2 || s.CIDRsAllowed[0].String() != "10.0.0.0/8" ||
			s.CIDRsAllowed[1].String() != "2001:db8::/32" {
			t.Errorf("networks %v", s.CIDRsAllowed)
		}
		_ = s.Transport.Shutdown()
	}
}

// The longest packet under the longest label fits an Ethernet frame, also over IPv6, and so does
// every packet that memberlist fills.
func TestDatagramsFitAFrame(t *testing.T) {
	const room = 1500 - 40 - 8
	simulate(t, 0, 29, func(t *testing.T, c *cluster) {
		for i := range 2 {
			c.add(t, i, func(cfg *Config) { cfg.Label = strings.Repeat("x", MaxLabel) })
		}
		c.within(t, 10*time.Second, "the two know each other", c.whole)
		c.nodes[0].Send("n1", make([]byte, MaxPacket))
		for i := range 100 {
			c.nodes[0].Spread(fmt.Sprint(i), make([]byte, 50))
		}
		c.nodes[0].Spread("longest", make([]byte, MaxRecord))
		pass(10 * time.Second)
		in := c.nodes[1].Stats()
		if in.Packets.InBytes != MaxPacket || in.RecordsIn < 101 {
			t.Errorf("%d bytes of packets and %d records arrived", in.Packets.InBytes, in.RecordsIn)
		}
		if got := c.net.Stats().Longest; got > room || got < MaxPacket {
			t.Errorf("the longest datagram has %d bytes, a frame room for %d", got, room)
		} else {
			t.Logf("the longest datagram has %d bytes", got)
		}
	})
}
