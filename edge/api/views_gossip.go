package api

import "time"

// GossipStats are the figures of a node's gossip with the nodes of all PoPs. Counts are since start
// and only grow.
type GossipStats struct {
	Members    []Member        `json:"members"` // sorted by name, this node among them
	PoPs       []PoPMembers    `json:"pops"`    // sorted by name
	Mismatches Mismatches      `json:"mismatches"`
	Bytes      Flow            `json:"bytes"` // on the network, framing and encryption included
	Packets    Flow            `json:"packets"`
	Records    map[string]Flow `json:"records"` // by kind
	// records and packets refused, by reason
	Rejected map[string]uint64 `json:"rejected"`
	// packets and records too large or unreadable, by reason
	Dropped    map[string]uint64 `json:"dropped"`
	Queue      Queue             `json:"queue"`
	Lag        Lag               `json:"-"` // see LagView
	Joins      uint64            `json:"joins"`
	Rejoins    uint64            `json:"rejoins"`     // of Joins: with members that had been dead
	JoinErrors uint64            `json:"join_errors"` // attempts that failed
	// the last; empty: a join has worked since
	JoinError string `json:"join_error"`
	// sightings of another node with a taken name
	Conflicts uint64 `json:"conflicts"`
	// 0: well; higher: this node is slow to answer
	Health int         `json:"health"`
	Keys   ControlKeys `json:"keys"`
	// largest excess admission of a key owned here still to be repaid, in seconds of the limit
	MostDebt float64 `json:"most_debt"`
	// too many keys are over the limit, so rates are sent instead of counts
	Overloaded bool `json:"overloaded"`
	// reports and answers postponed because the budget of packets was used up
	Deferred uint64 `json:"deferred"`
	Full     uint64 `json:"full"` // times a table was full
	// PoPs and lone nodes of which counts of small limits are kept
	Origins int         `json:"origins"`
	Counts  CountsStats `json:"counts"`
}

// CountsStats are the figures of the exchange of counts from PoP to PoP, of keys of small limits.
type CountsStats struct {
	Records Flow   `json:"records"` // counts of a key, 12 bytes each
	Waiting int    `json:"waiting"` // keys whose counts wait for the budget
	Dropped uint64 `json:"dropped"` // batches the budget inside the PoP did not carry
	// counts of keys without a slot, displaced by newer
	Displaced uint64  `json:"displaced"`
	Pressure  float64 `json:"pressure"` // 0: every admission is sent; higher: fewer are
}

// Member is a gossiping node.
type Member struct {
	Name    string    `json:"name"`
	PoP     string    `json:"pop"`
	Address string    `json:"address"`
	State   string    `json:"state"` // alive, dead (does not answer), left (announced its stop)
	Since   time.Time `json:"since"` // in this state
	Version string    `json:"version"`
	Wire    int       `json:"wire"`  // version of its records; 0: not known
	Ring    string    `json:"ring"`  // fingerprint; empty: no ring
	Rules   string    `json:"rules"` // digest of its rules of scope global
	Self    bool      `json:"self"`
	Limits  bool      `json:"limits"` // it knows limits by hand
	// Ahead is the time in seconds the clock is ahead of this node's, negative if behind. 0 unless
	// the difference is so large the two nodes refuse each other's records.
	Ahead float64 `json:"clock_ahead_seconds,omitempty"`
	// Offset is the time in milliseconds the clock is ahead of this node's, negative if behind; 0
	// where it is not known, or the two may be the same.
	Offset int64 `json:"clock_offset_ms"`
	// Dashboard is the address of the node's page, http://host:port/. Empty if the admin listener
	// is on loopback or a unix socket.
	Dashboard string `json:"dashboard,omitempty"`
}

// PoPMembers counts the members of a PoP by state.
type PoPMembers struct {
	PoP   string `json:"pop"`
	Alive int    `json:"alive"`
	Dead  int    `json:"dead"`
	Left  int    `json:"left"`
}

// Mismatches counts the living members differing from this node in a setting all should share.
type Mismatches struct {
	Ring  int `json:"ring"`  // same PoP, other servers
	Rules int `json:"rules"` // of scope global
	Wire  int `json:"wire"`  // version of the records
	Clock int `json:"clock"` // more than a minute apart: its records are refused
}

// Flow counts both directions of a kind of traffic.
type Flow struct {
	In  uint64 `json:"in"`
	Out uint64 `json:"out"`
}

// Queue is the length of each queue.
type Queue struct {
	Spreading int `json:"spreading"` // records still to be sent to some members
	Waiting   int `json:"waiting"`   // received messages not processed yet
	Sending   int `json:"sending"`   // packets not sent yet
}

// Lag is a histogram of the time records spent waiting at nodes until this node first received
// them, without the network's own delay.
type Lag struct {
	Count   uint64
	Sum     time.Duration
	Buckets []LagBucket // ascending
}

// LagBucket counts the records waiting for at most Within seconds.
type LagBucket struct {
	Within float64
	Count  uint64
}

// ControlKeys counts keys of global rules by the role of this node.
type ControlKeys struct {
	Measured int `json:"measured"` // requested at this node
	Reported int `json:"reported"` // reported here for the whole PoP
	Owned    int `json:"owned"`    // added up here over all PoPs, as owner or standby
	Shed     int `json:"shed"`     // of Owned: above their limit
	// of Owned: their last reports still count although many PoPs fell silent at once
	Guarded int `json:"guarded"`
	// memory of all of them, and the most of it
	Bytes    int64 `json:"bytes"`
	Capacity int64 `json:"capacity_bytes"`
}

// GossipView is the state of a node's gossip with the nodes of all PoPs.
type GossipView struct {
	Connected bool `json:"connected"` // other nodes are heard and trusted, or there are no others
	Lost      bool `json:"lost"`      // none has been heard for so long that failure modes apply
	GossipStats
	Lag LagView `json:"lag"`
}

// LagView summarises Lag, in seconds.
type LagView struct {
	Count uint64   `json:"count"`
	Mean  float64  `json:"mean"`
	P50   *float64 `json:"p50"` // median; null: no records, or above the highest bucket
	P99   *float64 `json:"p99"`
}

// KeyGlobalView is the state of a key over all PoPs.
type KeyGlobalView struct {
	// of the owner's last answer; null: none yet, and offered_rate to others mean nothing
	AgeSeconds  *float64 `json:"age_seconds"`
	OfferedRate float64  `json:"offered_rate"` // cost a second asked for in all PoPs
	// cost a second allowed: the limit, less the excess still to be repaid
	LimitRate float64 `json:"limit_rate"`
	Shed      bool    `json:"shed"`  // above the limit
	Ratio     float64 `json:"ratio"` // resulting share to refuse here
	// ShareRate is the cost a second this PoP may admit, however much is offered in it. 0: the
	// limit is not divided, because it suffices, no other PoP asks, or the rule's fairness is
	// requests.
	ShareRate float64 `json:"share_rate,omitempty"`
	// Others is the cost in the other PoPs, in the counting periods the window touches. null for a
	// rule judged by recent rates.
	Others *KeyOthersView `json:"others"`
	// cost a second asked for in this PoP, as measured here
	PoPRate  float64 `json:"pop_rate"`
	Owner    string  `json:"owner"`    // the node that adds up; empty: none
	Standby  string  `json:"standby"`  // and the one that does so beside it
	Reporter string  `json:"reporter"` // the node reporting the key for this PoP
	// this node reports for itself: the ring does not answer, or there is none
	Alone bool `json:"alone"`
	// PoPs are the parts of the PoPs, sorted by name. Only the owner of the key and the standby
	// know Parts.
	PoPs []KeyPoPView `json:"pops,omitempty"`
}

// KeyPoPView is the part of a PoP in a key's requests.
type KeyPoPView struct {
	PoP string `json:"pop"`
	// the nodes counting without the others, together
	Alone       bool    `json:"alone,omitempty"`
	OfferedRate float64 `json:"offered_rate"` // cost a second
	// cost a second to be admitted there; 0: the limit is not divided
	ShareRate  float64 `json:"share_rate,omitempty"`
	Ratio      float64 `json:"ratio"`       // resulting share to refuse there
	AgeSeconds float64 `json:"age_seconds"` // of its last report
}

// KeyOthersView is the cost of a key in the other PoPs.
type KeyOthersView struct {
	Offered  Amount `json:"offered"`
	Admitted Amount `json:"admitted"`
}

// View returns l in seconds, with the median and 99th percentile.
func (l *Lag) View() LagView {
	v := LagView{Count: l.Count, P50: l.within(0.5), P99: l.within(0.99)}
	if l.Count > 0 {
		v.Mean = l.Sum.Seconds() / float64(l.Count)
	}
	return v
}

// within returns the least bound kept by such a share of the records; nil when there is none.
func (l *Lag) within(share float64) *float64 {
	for _, b := range l.Buckets {
		if l.Count > 0 && float64(b.Count) >= share*float64(l.Count) {
			return &b.Within
		}
	}
	return nil
}
