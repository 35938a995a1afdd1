package gossip

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/guard"
)

// patience bounds every wait of a test over real sockets.
const patience = 20 * time.Second

func key(b byte) []byte { return bytes.Repeat([]byte{b}, KeyBytes) }

// peer is a Node on loopback and the arguments of its callbacks.
type peer struct {
	*Node
	stop func()

	mu      sync.Mutex
	packets []string
	records []string
	states  []string
}

func (p *peer) got(list *[]string, want string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range *list {
		if s == want {
			return true
		}
	}
	return false
}

func (p *peer) add(list *[]string, b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*list = append(*list, string(b))
}

// newPeer opens and runs a node that keeps its callbacks' arguments; a record is news once.
// change, which may be nil, adjusts the Config.
func newPeer(t *testing.T, name string, change func(*Config)) *peer {
	t.Helper()
	p := &peer{}
	cfg := Config{
		Name: name, Bind: "127.0.0.1:0", Key: key(1), Label: "test", Profile: Local,
		Meta: Meta{PoP: "lhr"},
	}
	cfg.Receive = func(b []byte) { p.add(&p.packets, b) }
	cfg.Merge = func(b []byte) { p.add(&p.states, b) }
	cfg.ReceiveRecord = func(b []byte) bool {
		known := p.got(&p.records, string(b))
		p.add(&p.records, b)
		return !known
	}
	if change != nil {
		change(&cfg)
	}
	n, err := Open(cfg)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	p.Node = n
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	p.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("%s: Run: %v", name, err)
		}
	})
	t.Cleanup(p.stop)
	// packets are read before
	eventually(t, name+" is a member", func() bool { return len(n.Members()) > 0 })
	return p
}

// join makes a Config join a peer.
func join(other *peer) func(*Config) {
	return func(c *Config) { c.Join = []string{other.Addr().String()} }
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !is(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

func (p *peer) sees(name string, state State) func() bool {
	return func() bool {
		for _, m := range p.Members() {
			if m.Name == name {
				return m.State == state
			}
		}
		return false
	}
}

func TestTwoNodesOverLoopback(t *testing.T) {
	a := newPeer(t, "a", func(c *Config) {
		c.State = func(join bool) []byte { return fmt.Append(nil, "state of a, joining: ", join) }
	})
	b := newPeer(t, "b", join(a))
	eventually(t, "a sees b", a.sees("b", Alive))
	eventually(t, "b sees a", b.sees("a", Alive))

	b.Send("a", []byte("packet"))
	eventually(t, "a packet of Send", func() bool { return a.got(&a.packets, "packet") })
	full := strings.Repeat("x", MaxPacket)
	a.Send("b", []byte(full))
	eventually(t, "the longest packet of Send", func() bool { return b.got(&b.packets, full) })
	a.Spread("name", []byte("record"))
	eventually(t, "a record of Spread", func() bool { return b.got(&b.records, "record") })
	long := strings.Repeat("y", MaxRecord)
	b.Spread("long", []byte(long))
	eventually(t, "the longest record of Spread", func() bool { return a.got(&a.records, long) })
	eventually(t, "a state", func() bool { return b.got(&b.states, "state of a, joining: true") })

	if err := b.SetMeta(Meta{PoP: "lhr", Rules: "new"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "new metadata", func() bool { return a.Members()[1].Rules == "new" })
	b.stop()
	eventually(t, "b has left", a.sees("b", Left))
}

func TestWhoLacksTheKeyIsNoMember(t *testing.T) {
	a := newPeer(t, "a", nil)
	wrong := newPeer(t, "wrong", func(c *Config) {
		c.Join,
			c.Key = []string{a.Addr().String()}, key(2)
	})
	other := newPeer(t, "other", func(c *Config) {
		c.Join,
			c.Label = []string{a.Addr().String()}, "another"
	})
	eventually(t, "joins that failed", func() bool {
		return wrong.Stats().JoinErrors > 0 && other.Stats().JoinErrors > 0 &&
			a.Stats().Dropped["stream"] >= 2
	})
	conn, err := net.Dial("udp", a.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	plain := append([]byte{guard.LabelMark, 4}, "test"...)
	// a user message in plaintext
	_, _ = conn.Write(append(plain, 8, version, kindPacket, 'p'))
	// and without label
	_, _ = conn.Write([]byte{8, version, kindPacket, 'p'})
	_, _ = conn.Write(bytes.Repeat([]byte{guard.LabelMark}, guard.MaxDatagram+1)) // and too long
	eventually(t, "three packets refused", func() bool {
		d := a.Stats().Dropped
		return d["key"] >= 1 && d["label"] >= 1 && d["oversize"] >= 1
	})
	if got := len(a.Members()); got != 1 {
		t.Errorf("a has %d members, want only itself: %v", got, a.Members())
	}
	if a.got(&a.packets, "p") {
		t.Error("a plaintext packet got through")
	}
}
