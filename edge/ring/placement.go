package ring

import (
	"cmp"
	//nolint:gosec // G501: ketama is made of MD5; it spreads keys here and guards nothing
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Bounds of a ring's list of servers. The greatest total still fits the 32 bits in which twemproxy
// adds weights, and each weight is exact as a float32.
const (
	MaxServers = 1000
	MaxWeight  = 1_000_000
)

const (
	pointsPerSum = 4 // an MD5 sum is cut into four
)

// Server is a memcached server of the ring: reached over TCP by Host and Port, or at a unix socket
// by Path.
//
// All nodes sharing a ring must spell a server alike. The place comes from the spelling, not from
// the resolved address, so an address here and a DNS name there would split the ring.
type Server struct {
	Host   string // an address, without brackets, or a DNS name
	Port   uint16
	Path   string // of a unix socket; Host and Port are then empty
	Weight int    // relative share of the keys, 1..MaxWeight
}

// Network returns the arguments of net.Dial to reach the server.
func (s Server) Network() (network, address string) {
	if s.Path != "" {
		return "unix", s.Path
	}
	return "tcp", net.JoinHostPort(s.Host, strconv.Itoa(int(s.Port)))
}

// ketamaName returns the name the server's points are hashes of. An IPv6 address is without
// brackets and a unix socket as in libmemcached, with port 0.
func (s Server) ketamaName() string {
	// the port naming leave out
	if s.Port == 11211 {
		return s.Host
	}
	return s.Host + s.Path + ":" + strconv.Itoa(int(s.Port))
}

func (s Server) check() error {
	switch {
	case s.Weight < 1 || s.Weight > MaxWeight:
		return fmt.Errorf("ring: server %q: weight %d is not in 1..%d", s.ketamaName(),
			s.Weight, MaxWeight)
	case s.Path != "" && (s.Host != "" || s.Port != 0):
		return fmt.Errorf("ring: server %q has a path and also a host or a port", s.Path)
	case s.Path == "" && (s.Host == "" || s.Port == 0):
		return fmt.Errorf("ring: server %q lacks a host or a port", s.ketamaName())
	}
	return nil
}

// Placement maps keys to servers. Consistent hashing after libmemcached's weighted ketama: when a
// server goes, only the server's keys move. It is immutable and safe for concurrent use.
type Placement struct {
	servers []Server
	// a point's value, then its server's index, in 32 bits each; ascending by value
	points []uint64
}

// NewPlacement places keys on servers, which number 1..MaxServers and have different names. It is
// compatible bit for bit with libmemcached's KETAMA_WEIGHTED and with twemproxy (`distribution:
// ketama`, `hash: md5`). twemproxy needs two precautions: names of at most 80 bytes, and for a unix
// socket a line ending in libmemcached's name of it ("/run/mc.sock:1 /run/mc.sock:0").
//
// It fails for a list or a server out of bounds, for a name that occurs twice, and for a weight
// below about 1/40 of the mean, to which ketama would give no key at all.
//
// Points are given out in fours, and rounding to float32 leaves equal servers of some numbers (25,
// 47, 50, 55 …) with 156 instead of 160. Between such a number and its neighbour about a key in 40
// changes places among the servers that stay.
func NewPlacement(servers []Server) (*Placement, error) {
	total, err := checkServers(servers)
	if err != nil {
		return nil, err
	}
	p := &Placement{servers: slices.Clone(servers)}
	for i, s := range servers {
		sums := ketamaSums(s.Weight, total, len(servers))
		if sums == 0 {
			return nil, fmt.Errorf("ring: server %q: weight %d of %d in all is too small a share "+
				"to hold any key",
				s.ketamaName(), s.Weight, total)
		}
		p.addPoints(i, sums)
	}
	p.sortPoints()
	return p, nil
}

// sortPoints sorts the points. Where those of two servers coincide, the names decide the order:
// with the indices, the order of the list would decide.
func (p *Placement) sortPoints() {
	rank := make([]int, len(p.servers))
	for place, i := range p.byName() {
		rank[i] = place
	}
	slices.SortFunc(p.points, func(a, b uint64) int {
		return cmp.Or(cmp.Compare(a>>32, b>>32), cmp.Compare(rank[uint32(a)], rank[uint32(b)]))
	})
}

// byName returns the servers' indices in the order of their names, which are different.
func (p *Placement) byName() []int {
	order := make([]int, len(p.servers))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return strings.Compare(p.servers[a].ketamaName(), p.servers[b].ketamaName())
	})
	return order
}

// checkServers returns the sum of all weights.
func checkServers(servers []Server) (total int64, err error) {
	if len(servers) == 0 {
		return 0, errors.New("ring: no servers")
	}
	if len(servers) > MaxServers {
		return 0, fmt.Errorf("ring: %d servers, more than %d", len(servers), MaxServers)
	}
	seen := make(map[string]bool, len(servers))
	for _, s := range servers {
		if err := s.check(); err != nil {
			return 0, err
		}
		if name := s.ketamaName(); seen[name] {
			return 0, fmt.Errorf("ring: server %q is listed twice", name)
		}
		seen[s.ketamaName()] = true
		total += int64(s.Weight)
	}
	return total, nil
}

// ketamaSums returns how many MD5 sums give points to a server that has weight of total, among n
// servers. Each step is rounded to float32, as in the originals: at 25 equal servers float64 gives
// 40, and they 39. (They also add 1e-10 to the last value, less than would change any float32 it
// could lift to the next whole number.)
func ketamaSums(weight int, total int64, n int) int {
	share := float32(float32(weight) / float32(total))
	// of a server of average weight
	points := float32(share * 160)
	sums := float32(points / pointsPerSum)
	return int(float32(sums * float32(n)))
}

// addPoints adds the points of server i, unsorted.
func (p *Placement) addPoints(i, sums int) {
	name := p.servers[i].ketamaName() + "-"
	for j := range sums {
		sum := md5.Sum([]byte(name + strconv.Itoa(j))) //nolint:gosec // G401: see the import
		for at := 0; at < md5.Size; at += md5.Size / pointsPerSum {
			p.points = append(p.points, uint64(binary.LittleEndian.Uint32(sum[at:]))<<32|uint64(i))
		}
	}
}

// Pick returns the index of the server holding key: the server with the first point at or after the
// key's own value, around the circle. Every key has a server, the empty key too. It does not
// allocate.
func (p *Placement) Pick(key []byte) int {
	sum := md5.Sum(key) //nolint:gosec // G401: see the import
	value := binary.LittleEndian.Uint32(sum[:])
	at, _ := slices.BinarySearch(p.points, uint64(value)<<32)
	if at == len(p.points) {
		at = 0
	}
	return int(uint32(p.points[at]))
}

// Servers returns a copy of the list the placement was made of, in its order.
func (p *Placement) Servers() []Server { return slices.Clone(p.servers) }

// Fingerprint returns 16 hexadecimal digits of a hash over the servers' names and weights. Like the
// placement it does not depend on the order of the list. Nodes with different fingerprints send the
// same key to different servers. It is no proof against a liar.
func (p *Placement) Fingerprint() string {
	var list []byte
	for _, i := range p.byName() {
		s := p.servers[i]
		name := s.ketamaName()
		list = binary.AppendUvarint(list, uint64(len(name)))
		list = append(list, name...)
		list = binary.AppendUvarint(list, uint64(s.Weight))
	}
	return fmt.Sprintf("%016x", xxhash.Sum64(list))
}
