package gossip

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"
)

// A round of joins tries seeds outside the members, and dead members. memberlist forgets the dead
// after half a minute, without another contact, so without these rounds a partition would be
// permanent.
const (
	// joinEvery is the interval of rounds, plus up to joinJitter.
	joinEvery  = 10 * time.Second
	joinJitter = 5 * time.Second
	// joinFirst is the first interval of a node alone. Doubled up to joinEvery.
	joinFirst = time.Second
	// joinFan bounds the addresses of a round.
	joinFan     = 6
	resolveTime = 2 * time.Second
)

// keepJoining repeats rounds until ctx ends.
func (n *Node) keepJoining(ctx context.Context, join func(addr string) error) {
	for alone := joinFirst; ; alone = min(2*alone, joinEvery) {
		n.joinRound(ctx, join)
		wait := joinEvery + jitter(joinJitter)
		if n.roster.alive() > 1 {
			alone = joinFirst
		} else if alone < joinEvery {
			wait = alone + jitter(joinFirst)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// jitter returns a random duration in [0, most), so nodes do not act in step.
func jitter(most time.Duration) time.Duration {
	return rand.N(most) //nolint:gosec // spreads load, guards nothing
}

// pick returns at most n of the addresses, at random.
func pick(list []netip.AddrPort, n int) []netip.AddrPort {
	//nolint:gosec // as above
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:min(len(list), n)]
}

// joinRound tries a few addresses at once and waits for all; a dead address takes
// guard.StreamTimeout.
func (n *Node) joinRound(ctx context.Context, join func(addr string) error) {
	living, dead := n.roster.addresses()
	seeds := n.strangers(ctx, living)
	seeds = pick(seeds, joinFan/2)
	dead = pick(dead, joinFan-len(seeds))
	var wg sync.WaitGroup
	for i, at := range append(seeds, dead...) {
		wg.Go(func() { n.joinOne(at, i >= len(seeds), join) })
	}
	wg.Wait()
}

// joinOne tries an address; remembered: a dead member's.
func (n *Node) joinOne(at netip.AddrPort, remembered bool, join func(addr string) error) {
	if err := join(at.String()); err != nil {
		n.c.failedJoin(fmt.Errorf("join %s: %w", at, err))
		return
	}
	n.c.joined(time.Now())
	if remembered {
		n.c.rejoins.Add(1)
	}
}

// strangers returns the addresses of the seeds, without those of living members.
func (n *Node) strangers(ctx context.Context, living map[netip.AddrPort]bool) []netip.AddrPort {
	var list []netip.AddrPort
	for _, seed := range n.cfg.Join {
		found, err := n.resolve(ctx, seed)
		if err != nil {
			n.c.failedJoin(err)
			continue
		}
		list = append(list, missing(found, living)...)
	}
	return list
}

// missing returns the addresses in found, but not in living.
func missing(found []netip.AddrPort, living map[netip.AddrPort]bool) []netip.AddrPort {
	var list []netip.AddrPort
	for _, at := range found {
		if !living[at] {
			list = append(list, at)
		}
	}
	return list
}

// resolve returns the addresses of a seed: "host:port", or a host with this node's own port.
func (n *Node) resolve(ctx context.Context, seed string) ([]netip.AddrPort, error) {
	host, port, err := net.SplitHostPort(seed)
	if err != nil {
		host, port = seed, strconv.Itoa(int(n.at.Port()))
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("join %q: port %q is no port", seed, port)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.AddrPort{netip.AddrPortFrom(ip.Unmap(), uint16(number))}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("join %q: %w", seed, err)
	}
	list := make([]netip.AddrPort, 0, len(ips))
	for _, ip := range ips {
		list = append(list, netip.AddrPortFrom(ip.Unmap(), uint16(number)))
	}
	return list, nil
}
