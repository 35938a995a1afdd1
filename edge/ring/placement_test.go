package ring

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ketamaVector is an assignment made by another implementation.
type ketamaVector struct {
	servers []Server
	key     string
	want    int
}

// TestPickAsLibmemcached holds the placement to assignments that libmemcached made.
func TestPickAsLibmemcached(t *testing.T) {
	vectors := readKetamaVectors(t, filepath.Join("testdata", "ketama_vectors.tsv"))
	if len(vectors) != 240 {
		t.Errorf("%d vectors, want 240", len(vectors))
	}
	for _, v := range vectors {
		if got := place(t, v.servers).Pick([]byte(v.key)); got != v.want {
			t.Errorf("%v: %s is on server %d, want %d", v.servers, v.key, got, v.want)
		}
	}
}

func readKetamaVectors(t *testing.T, path string) (vectors []ketamaVector) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "#") {
			vectors = append(vectors, parseKetamaVector(t, lines.Text()))
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return vectors
}

// parseKetamaVector reads a line: set, servers as JSON [[host, port, weight], …], key, index of its
// server.
func parseKetamaVector(t *testing.T, line string) ketamaVector {
	t.Helper()
	fields := strings.Split(line, "\t")
	if len(fields) != 4 {
		t.Fatalf("%q has %d fields", line, len(fields))
	}
	var listed [][3]any
	if err := json.Unmarshal([]byte(fields[1]), &listed); err != nil {
		t.Fatal(err)
	}
	want, err := strconv.Atoi(fields[3])
	if err != nil {
		t.Fatal(err)
	}
	v := ketamaVector{key: fields[2], want: want}
	for _, s := range listed {
		v.servers = append(v.servers,
			Server{Host: s[0].(string), Port: uint16(s[1].(float64)), Weight: int(s[2].(float64))})
	}
	return v
}

// TestPickRoundsToFloat32 pins libmemcached's answers for 25 equal servers, where float64 gives
// four points a server too many and takes the last five keys to other ones.
func TestPickRoundsToFloat32(t *testing.T) {
	p := place(t, equalServers("h", 25))
	if len(p.points) != 25*156 {
		t.Errorf("%d points, want %d", len(p.points), 25*156)
	}
	for key, want := range map[string]int{
		"k0": 24, "k1": 19, "k22": 0, "k103": 24, "k132": 16,
		"k139": 11, "k192": 9,
	} {
		if got := p.Pick([]byte(key)); got != want {
			t.Errorf("%s is on server %d, want %d", key, got, want)
		}
	}
}

// TestPickAtTheEdges looks up keys that fall right on a point, being spelled as what it was made
// of, and one that falls past the last point: it goes to the first, which is server 0's; the second
// is not.
func TestPickAtTheEdges(t *testing.T) {
	p := place(t, equalServers("h", 3))
	for key, want := range map[string]int{
		"h0-0": 0, "h1-0": 1, "h1-39": 1, "h2-7": 2,
		"k22823": 0,
	} {
		if got := p.Pick([]byte(key)); got != want {
			t.Errorf("%s is on server %d, want %d", key, got, want)
		}
	}
}

func TestNewPlacementErrors(t *testing.T) {
	a, b := Server{Host: "a", Port: 1, Weight: 1}, Server{Host: "b", Port: 1, Weight: 1}
	with := func(change func(*Server)) []Server {
		s := b
		change(&s)
		return []Server{a, s}
	}
	for want, servers := range map[string][]Server{
		"ring: no servers": nil,
		"ring: 1001 servers, more than 1000": equalServers("h",
			MaxServers+1),
		`ring: server "b:1": weight 0 is not in 1..1000000`: with(
			func(s *Server) { s.Weight = 0 }),
		`ring: server "b:1": weight -1 is not in 1..1000000`: with(
			func(s *Server) { s.Weight = -1 }),
		`ring: server "b:1": weight 1000001 is not in 1..1000000`: with(
			func(s *Server) { s.Weight = MaxWeight + 1 }),
		`ring: server "a:1" is listed twice`: with(
			func(s *Server) { s.Host = "a" }),
		`ring: server ":1" lacks a host or a port`: with(
			func(s *Server) { s.Host = "" }),
		`ring: server "b:0" lacks a host or a port`: with(
			func(s *Server) { s.Port = 0 }),
		`ring: server "/s" has a path and also a host or a port`: with(
			func(s *Server) { s.Path, s.Port = "/s", 0 }),
		`ring: server "/t" has a path and also a host or a port`: with(
			func(s *Server) { s.Path, s.Host = "/t", "" }),
		`ring: server "a:1": weight 1 of 81 in all is too small a sha`: with(
			func(s *Server) { s.Weight = 80 }),
	} {
		if p, err := NewPlacement(servers); p != nil || err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestNewPlacementBounds takes lists at their bounds: the smallest share that still has keys, and
// the greatest list.
func TestNewPlacementBounds(t *testing.T) {
	small := place(t, []Server{{Host: "a", Port: 1, Weight: 1}, {Host: "b", Port: 1, Weight: 79}})
	if got, want := len(small.points), 4+4*79; got != want {
		t.Errorf("%d points, want %d", got, want)
	}
	most := equalServers("h", MaxServers)
	for i := range most {
		most[i].Weight = MaxWeight
	}
	if got, want := len(place(t, most).points), MaxServers*160; got != want {
		t.Errorf("%d points, want %d", got, want)
	}
}

// TestPlacementKeepsItsOwnList checks that neither the list given nor the one returned is the
// placement's own.
func TestPlacementKeepsItsOwnList(t *testing.T) {
	given := equalServers("h", 3)
	p := place(t, given)
	given[0].Host = "changed"
	p.Servers()[1].Host = "changed"
	if diff := cmp.Diff(equalServers("h", 3), p.Servers()); diff != "" {
		t.Error(diff)
	}
}

func TestServerNetwork(t *testing.T) {
	for want, s := range map[string]Server{
		"tcp 192.0.2.1:11211":     {Host: "192.0.2.1", Port: 11211},
		"tcp [2001:db8::1]:11212": {Host: "2001:db8::1", Port: 11212},
		"unix /run/mc.sock":       {Path: "/run/mc.sock"},
	} {
		if network, address := s.Network(); network+" "+address != want {
			t.Errorf("%s %s, want %s", network, address, want)
		}
	}
}

// TestFingerprint pins fingerprints, since nodes of different versions must agree, and tells near
// lists apart.
func TestFingerprint(t *testing.T) {
	ab := []Server{{Host: "a", Port: 11211, Weight: 1}, {Host: "b", Port: 11211, Weight: 2}}
	if got, want := place(t, ab).Fingerprint(), "504068ea3b34e374"; got != want {
		t.Errorf("fingerprint %s, want %s", got, want)
	}
	seen := map[string][]Server{}
	for _, servers := range [][]Server{
		ab,
		{ab[0]},
		{{Host: "a", Port: 11211, Weight: 2}, {Host: "b", Port: 11211, Weight: 1}},
		{{Host: "a", Port: 11211, Weight: 1}, {Host: "b", Port: 11211, Weight: 3}},
		{{Host: "a", Port: 11211, Weight: 1}, {Host: "b", Port: 11212, Weight: 2}},
		{{Host: "a", Port: 11211, Weight: 1}, {Path: "/b", Weight: 2}},
		{{Host: "a\x01\x01b", Port: 11211, Weight: 2}}, // ab's names and weights run together
	} {
		f := place(t, servers).Fingerprint()
		if other := seen[f]; other != nil {
			t.Errorf("%v and %v have fingerprint %s", servers, other, f)
		}
		seen[f] = servers
	}
	for n := range 100 { // some of which begin with 0
		if f := place(t, equalServers(fmt.Sprint(n), 1)).Fingerprint(); len(f) != 16 {
			t.Errorf("fingerprint %s of %d digits", f, len(f))
		}
	}
	if one, other := place(t, ab).Fingerprint(), place(t, ab).Fingerprint(); one != other {
		t.Error("equal lists have different fingerprints")
	}
}

// TestOrderOfServers: in whatever order a node lists its servers, it shows the same fingerprint and
// places every key on the same server, also where points of two servers fall together.
func TestOrderOfServers(t *testing.T) {
	servers := equalServers("h", MaxServers)
	servers[3].Weight = 2
	one := place(t, servers)
	mirrored := slices.Clone(servers)
	slices.Reverse(mirrored)
	other := place(t, mirrored)
	if one.Fingerprint() != other.Fingerprint() {
		t.Errorf("fingerprints %s and %s of the same servers", one.Fingerprint(),
			other.Fingerprint())
	}
	if servers[0] != one.Servers()[0] || mirrored[0] != other.Servers()[0] {
		t.Error("the servers are not in the order they were given in")
	}
	inOrder, inOther := one.Servers(), other.Servers()
	apart, together := 0, 0
	for n, p := range one.points {
		q := other.points[n]
		if p>>32 != q>>32 || inOrder[uint32(p)] != inOther[uint32(q)] {
			apart++
		}
		if n > 0 && p>>32 == one.points[n-1]>>32 && uint32(p) != uint32(one.points[n-1]) {
			together++
		}
	}
	if apart > 0 || together == 0 {
		t.Errorf("%d points lead to different servers; %d fell together", apart, together)
	}
}

func TestPickDoesNotAllocate(t *testing.T) {
	p, key := place(t, equalServers("h", 7)), []byte("hg:0123456789abcdef0123456789abcdef")
	if n := testing.AllocsPerRun(100, func() { p.Pick(key) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestPickIsConcurrent has the race detector look on.
func TestPickIsConcurrent(t *testing.T) {
	p := place(t, equalServers("h", 7))
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for i := range 500 {
				p.Pick(strconv.AppendInt(nil, int64(i), 10))
			}
		})
	}
	wait.Wait()
}

// equalServers returns n servers of weight 1, named prefix0, prefix1, …
func equalServers(prefix string, n int) []Server {
	servers := make([]Server, n)
	for i := range servers {
		servers[i] = Server{Host: fmt.Sprint(prefix, i), Port: 11211, Weight: 1}
	}
	return servers
}

func place(t testing.TB, servers []Server) *Placement {
	t.Helper()
	p, err := NewPlacement(servers)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
