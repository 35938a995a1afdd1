package gossip

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/guard"
	"github.com/headgate-dev/headgate/gossip/lossy"
)

// lines is a slog.Handler that keeps its records.
type lines struct {
	mu   sync.Mutex
	list []slog.Record
}

func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }
func (l *lines) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *lines) WithGroup(string) slog.Handler                    { return l }

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, r)
	return nil
}

func TestLinesOfMemberlist(t *testing.T) {
	var l lines
	w := memberlistLog{slog.New(&l), &counters{}}
	for _, c := range []struct {
		in    string
		level slog.Level
		out   string
	}{
		{
			"[ERR] memberlist: Decrypt packet failed: no key\n", slog.LevelWarn,
			"gossip: Decrypt packet failed: no key",
		},
		{"[INFO] memberlist: Suspect n1\n", slog.LevelInfo, "gossip: Suspect n1"},
		{"Err: something else\n", slog.LevelWarn, "gossip: Err: something else"},
		{"[DEBUG] memberlist: not wanted\n", 0, ""},
		{strings.Repeat("x", 5000), slog.LevelWarn, "gossip: " + strings.Repeat("x", logChars)},
	} {
		before := len(l.list)
		_, _ = w.Write([]byte(c.in))
		if c.out == "" {
			if len(l.list) != before {
				t.Errorf("%q was logged", c.in)
			}
			continue
		}
		if got := l.list[len(l.list)-1]; got.Message != c.out || got.Level != c.level {
			t.Errorf("%q became %v %q, want %v %q", c.in, got.Level, got.Message, c.level, c.out)
		}
	}
}

// 20,000 packets of garbage in two seconds, half of them with the cluster's label: all are counted,
// what is logged of them is from one place, and the cluster is well.
func TestGarbageIsCounted(t *testing.T) {
	var l lines
	simulate(t, 3, 11, func(t *testing.T, c *cluster) {
		victim := c.add(t, 3, func(cfg *Config) { cfg.Log = slog.New(&l) })
		c.within(t, 10*time.Second, "everybody is there", c.whole)
		stranger := c.net.End("10.9.9.9:1")
		defer func() { _ = stranger.Shutdown() }()
		head := append([]byte{guard.LabelMark, 3}, "sim"...)
		const each = 10_000
		began := time.Now()
		for i := range each {
			b := append(head, byte(i), byte(i>>8), 3, 4, 5, 6, 7, 8)
			_, _ = stranger.WriteTo(b, victim.addr)
			_, _ = stranger.WriteTo(b[3:], victim.addr)
			if i%10 == 0 {
				pass(2 * time.Millisecond)
			}
		}
		pass(2 * time.Second)
		d := victim.Stats().Dropped
		sites := map[uintptr]bool{}
		for _, r := range l.list {
			if r.Time.After(began) {
				sites[r.PC] = true
			}
		}
		if t.Logf("%d lines; dropped %v", len(l.list), d); len(sites) > 1 {
			t.Errorf("lines from %d places, each of which the daemon bounds", len(sites))
		}
		if d["label"] != each || d["key"]+d["backlog"] != each {
			t.Errorf("counted %d without label, %d without key, %d behind; want %d and as many "+
				"together", d["label"], d["key"], d["backlog"], each)
		}
		if !c.whole() {
			t.Error("the cluster fell apart")
		}
	})
}

// Loss and delay make false deaths. There must be none under the loss and delay of a bad day.
func TestNoFalseDeaths(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector: TestPartitionHealsItself")
	}
	for name, fault := range map[string]lossy.Fault{
		"10 % loss":       {Loss: 0.1, Delay: 20 * time.Millisecond},
		"200 ms each way": {Delay: 150 * time.Millisecond, Jitter: 100 * time.Millisecond},
		"doubled, late": {
			Duplicate: 0.3, Delay: 5 * time.Millisecond,
			Jitter: 300 * time.Millisecond,
		},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, 6, 13, func(t *testing.T, c *cluster) {
				c.net.SetFault(fault)
				for range 5 * 60 {
					pass(time.Second)
					if !c.whole() {
						t.Fatal("a node that is well was taken for dead")
					}
				}
			})
		})
	}
}

func newLogger(l *lines) *slog.Logger { return slog.New(l) }
