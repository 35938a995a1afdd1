package ask

import (
	"context"
	"errors"
	"math/bits"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/pool"
	"github.com/headgate-dev/headgate/window"
)

// The errors of Load.
var (
	ErrUnknownPool = errors.New("ask: unknown pool")
	ErrFull        = errors.New("ask: too many sources report to this pool")
)

// turnEvery is the time between two turns of Run. The shares a configuration gives for a turn, up
// and down, are for a second.
const turnEvery = time.Second

// SetPools puts pools in force, for policies Set afterwards. A pool whose name stays keeps the
// level. For a single caller at a time. A reload in the midst of an overload must not let all
// requests in again.
func (r *Room) SetPools(configs []pool.Config) {
	was, now := r.pools.Load(), r.gate.Now()
	next := make([]*pool.Pool, len(configs))
	for i := range configs {
		c := configs[i]
		for _, p := range *was {
			if p.Name() == c.Name {
				next[i] = p
				p.Configure(&c)
			}
		}
		if next[i] == nil {
			next[i] = pool.New(&c, now)
		}
	}
	r.pools.Store(&next)
}

// SetPoolModes puts the pools into the modes by their names, or all into all unless Enforce. Until
// the next SetPools.
func (r *Room) SetPoolModes(all mitigation.Mode, modes map[string]mitigation.Mode) {
	for _, p := range *r.pools.Load() {
		mode := modes[p.Name()] // Enforce is the zero
		if all != mitigation.Enforce {
			mode = all
		}
		p.SetMode(mode)
	}
}

// Load notes that the share of the pool called name, in units of pool.Unit, is in use at now, as
// the source called from says. The error is ErrUnknownPool or ErrFull. The list is searched by
// name: it has a handful of pools, and reports come a few times a second.
func (r *Room) Load(now window.Instant, name, from []byte, share uint32) error {
	for _, p := range *r.pools.Load() {
		if p.Name() != string(name) {
			continue
		}
		if !p.Report(now, from, share) {
			return ErrFull
		}
		return nil
	}
	return ErrUnknownPool
}

// Pools returns the state of all pools, in the order of the configuration.
func (r *Room) Pools() []pool.View {
	list := *r.pools.Load()
	views := make([]pool.View, len(list))
	for i, p := range list {
		views[i] = p.View()
	}
	return views
}

// Run moves the levels of the pools until ctx ends.
func (r *Room) Run(ctx context.Context) {
	gate.Every(ctx, turnEvery, func(time.Time) { r.Turn(r.gate.Now()) })
}

// Turn is a step of Run, at now, for callers with a virtual clock.
func (r *Room) Turn(now window.Instant) {
	for _, p := range *r.pools.Load() {
		p.Turn(now)
	}
}

// shed is a request a pool denies.
type shed struct {
	pool  int // -1: none does
	ratio mitigation.Ratio
}

// judgePools draws whether any pool needed by the request denies: the pool with the highest ratio
// does. u is 64 random bits. A single draw for all: a request passing the pool with the higher
// ratio passes the other as well, so needing two pools is not punished twice.
func (s *Session) judgePools(u uint64) (denies shed, shadow bool) {
	is, tier := &s.result.Pools, s.tier()
	denies.pool = -1
	for rest := is.Enforced | is.Shadow; rest != 0; rest &= rest - 1 {
		n := bits.TrailingZeros64(rest)
		p := s.in.pools[n]
		ratio := p.Ratio(tier)
		if p.Mode() == mitigation.Off || ratio != mitigation.MaxRatio && !ratio.Drops(u) {
			continue
		}
		if is.Enforced>>n&1 == 0 || p.Mode() == mitigation.Shadow {
			shadow = true
			s.in.tallies[is.By(n)].Shadow.Add(1)
		} else if denies.pool < 0 || ratio > denies.ratio {
			denies = shed{n, ratio}
		}
	}
	return denies, shadow
}

// shedAnswer answers a request a pool denies.
func (s *Session) shedAnswer(a *Answer, by shed) {
	s.in.tallies[s.result.Pools.By(by.pool)].Denied[byLoad].Add(1)
	s.in.pools[by.pool].NoteDenied()
	a.Why, a.Deny, a.Status, a.Pool, a.Ratio = ByLoad, true, statusShed,
		s.in.pools[by.pool].Name(), by.ratio
}

// RetryShed is after how long a request a pool denied may come again: the next draw is independent.
const (
	RetryShed        = RetryShedSeconds * time.Second
	RetryShedSeconds = 1
)
