package pool

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// Bounds of pools.
const (
	MaxPools   = 64
	MaxTiers   = 16   // in an order
	MaxSources = 1024 // of a pool, heard within Stale

	MinStale = time.Second
	MaxStale = 10 * time.Minute
)

// Unit is 1 of a share, a mark, a step or a level.
const Unit = 1_000_000

// step is the time between two changes of a level.
const step = time.Second

// mostSteps bounds the steps a Turn makes up for.
const mostSteps = 60

// Config is a pool as the configuration has it.
type Config struct {
	Name         string
	ShedAbove    int           // mean share above which the level rises, 0..Unit
	RestoreBelow int           // mean share below which it falls, at most ShedAbove
	Order        []string      // tiers, those to shed first come first
	Up, Down     int           // steps of the level, 1..Unit
	Stale        time.Duration // after which a report counts no more, MinStale..MaxStale
}

// Default returns the configuration of a pool saying nothing but its name.
func Default() Config {
	return Config{
		ShedAbove: 850_000, RestoreBelow: 700_000, Order: []string{"test", "batch", Normal},
		Up: 100_000, Down: 20_000, Stale: 10 * time.Second,
	}
}

// Normal is the tier of requests that have none.
const Normal = "normal"

// Pool is a pool. Its methods may be called concurrently.
type Pool struct {
	config atomic.Pointer[Config]
	level  atomic.Int64 // 0..len(Order)*Unit
	mode   atomic.Uint32
	denied atomic.Uint64

	mu      sync.Mutex // protects the rest
	sources map[string]*source
	next    window.Instant // of the next step
	heard   window.Instant // the last report; 0: never
	mean    int            // at the last step, of the sources then
	reports uint64
	crowded uint64
	seen    Seen
}

// source is a reporter.
type source struct {
	share uint32
	at    window.Instant
}

// New returns a pool that is idle at now.
func New(c *Config, now window.Instant) *Pool {
	p := &Pool{sources: map[string]*source{}, next: now.Add(step)}
	p.config.Store(c)
	p.SetMode(mitigation.Enforce)
	return p
}

// Name returns the name of p.
func (p *Pool) Name() string { return p.config.Load().Name }

// Mode returns the mode of p, which Configure sets to Enforce.
func (p *Pool) Mode() mitigation.Mode { return mitigation.Mode(p.mode.Load()) }

// SetMode puts p into a mode: in shadow the pool only would deny, and off p is idle to requests.
func (p *Pool) SetMode(m mitigation.Mode) { p.mode.Store(uint32(m)) }

// Configure changes p to c, which has the same name. The level stays, as far as c allows.
func (p *Pool) Configure(c *Config) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.config.Store(c)
	p.level.Store(min(p.level.Load(), c.most()))
}

// most returns the highest level.
func (c *Config) most() int64 { return int64(len(c.Order)) * Unit }

// Report notes that at now the share of p in use is that, as the source called from says. It
// reports false where there is no room for another source.
func (p *Pool) Report(now window.Instant, from []byte, share uint32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.sources[string(from)]
	if s == nil {
		if len(p.sources) >= MaxSources {
			p.crowded++
			return false
		}
		s = new(source)
		p.sources[string(from)] = s
	}
	s.share, s.at = min(share, Unit), now
	p.heard = now
	p.reports++
	return true
}

// Turn makes the steps due at now. It is called at least once a second.
func (p *Pool) Turn(now window.Instant) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range mostSteps {
		if p.next > now {
			return
		}
		p.step(p.next)
		p.next = p.next.Add(step)
	}
	p.next = now.Add(step)
}

// step changes the level by the reports known at now.
func (p *Pool) step(now window.Instant) {
	c := p.config.Load()
	sum, n := int64(0), int64(0)
	for name, s := range p.sources {
		if now.Sub(s.at) > c.Stale {
			delete(p.sources, name)
			continue
		}
		sum, n = sum+int64(s.share), n+1
	}
	level := p.level.Load()
	switch n {
	case 0:
		p.mean = 0
		p.seen.Silent++
		level -= int64(c.Down)
	default:
		p.mean = int(sum / n)
		p.seen.Means[p.mean*Marks/Unit]++
		if p.mean > c.ShedAbove {
			level += int64(c.Up)
		} else if p.mean < c.RestoreBelow {
			level -= int64(c.Down)
		}
	}
	p.level.Store(max(0, min(level, c.most())))
	p.seen.note(p.level.Load())
}

// Ratio returns the share of requests of tier that are to be denied, MaxRatio for all of them. No
// tier is Normal; a tier outside the order is never shed.
func (p *Pool) Ratio(tier []byte) mitigation.Ratio {
	level := p.level.Load()
	if level == 0 {
		return 0
	}
	c := p.config.Load()
	at := -1
	for i, name := range c.Order {
		if name == string(tier) || tier == nil && name == Normal {
			at = i
			break
		}
	}
	if at < 0 {
		return 0
	}
	switch part := level - int64(at)*Unit; {
	case part <= 0:
		return 0
	case part >= Unit:
		return mitigation.MaxRatio
	default:
		return mitigation.Ratio(uint64(part) << 32 / Unit) // below 1<<32
	}
}

// NoteDenied counts a request that p denied.
func (p *Pool) NoteDenied() { p.denied.Add(1) }

// Share returns the part of the requests of the i-th tier of v's order that is to be denied, 0..1.
func (v *View) Share(i int) float64 { return min(max(v.Level-float64(i), 0), 1) }

// View is the state of a pool, for people.
type View struct {
	Config
	Level   float64 // 0..len(Order)
	Mean    float64 // of the sources at the last step, 0..1
	Sources int
	Heard   window.Instant // the last report; 0: never
	Reports uint64         // since the node started
	Crowded uint64         // reports without room for their source
	Denied  uint64         // requests, since the node started
	Seen    Seen           // likewise
}

// View returns the state of p.
func (p *Pool) View() View {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := View{
		Config: *p.config.Load(), Level: float64(p.level.Load()) / Unit,
		Mean: float64(p.mean) / Unit, Sources: len(p.sources),
		Heard: p.heard, Reports: p.reports, Crowded: p.crowded,
		Denied: p.denied.Load(), Seen: p.seen,
	}
	v.Order = slices.Clone(v.Order)
	return v
}
