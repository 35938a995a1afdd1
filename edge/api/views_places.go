package api

import "time"

// PoolsView is the answer of /v1/pools, in the order of the configuration.
type PoolsView struct {
	Now   time.Time  `json:"now"`
	Pools []PoolView `json:"pools"`
}

// PoolView is a pool: how busy, and the tiers shed.
type PoolView struct {
	Name string `json:"name"`
	// 0 to the number of tiers: 1.3 sheds all of the first and 30 % of the second
	Level        float64    `json:"level"`
	Utilisation  float64    `json:"utilisation"` // mean of the sources, 0..1
	Sources      int        `json:"sources"`     // heard within the stale time
	Heard        *time.Time `json:"heard"`       // the last report; null: never
	Reports      uint64     `json:"reports"`     // since start
	Denied       uint64     `json:"denied"`      // requests, since start
	Dropped      uint64     `json:"dropped"`     // reports without room for their source
	ShedAbove    float64    `json:"shed_above"`
	RestoreBelow float64    `json:"restore_below"`
	Tiers        []TierView `json:"tiers"` // in the order in which they are shed
}

// TierView is a tier of a pool.
type TierView struct {
	Tier  string  `json:"tier"`
	Ratio float64 `json:"ratio"` // share of its requests denied, 0..1
}

// LeasesView is the answer of /v1/leases: the leases of a key, or without a key the keys holding
// most places under the rule.
type LeasesView struct {
	Now    time.Time    `json:"now"`
	Rule   string       `json:"rule"`
	Limit  int64        `json:"limit"`            // places of a key
	Taken  int64        `json:"taken"`            // places: of the key, or of all keys
	Keys   int          `json:"keys,omitempty"`   // that hold places, where no key is asked for
	Key    string       `json:"key,omitempty"`    // asked for
	Leases []LeaseView  `json:"leases,omitempty"` // of the key, oldest first
	Held   []HolderView `json:"held,omitempty"`   // keys, those with most places first
}

// LeaseView is a lease.
type LeaseView struct {
	Lease  string    `json:"lease"`
	Places int64     `json:"places"`
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"` // unless it is released or renewed
}

// HolderView is a key holding places.
type HolderView struct {
	Key    string    `json:"key"`           // its beginning, where Cut
	Cut    bool      `json:"cut,omitempty"` // the key is longer
	Places int64     `json:"places"`
	Oldest time.Time `json:"oldest"` // start of its oldest lease
}

// PlacesView is how much of a rule of kind concurrency is taken.
type PlacesView struct {
	Taken  uint64 `json:"taken"`  // places, by all keys
	Keys   int    `json:"keys"`   // that hold places
	Leases uint64 `json:"leases"` // that hold them
}
