package edge

import (
	"cmp"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// WorldSource is what there is to know of the other PoPs, for people and metrics. Its functions may be called concurrently,
// and only read.
type WorldSource struct {
	Stats    func() WorldStats
	Standing func(now window.Instant, rule string, key []byte) WorldStanding
}

// ShowWorld makes source what /v1/cluster, /v1/explain and the metrics tell of the other PoPs. e must have been made from a
// configuration with gossip, and nobody may be asking yet.
func (e *Edge) ShowWorld(source WorldSource) { e.world.source = source }

// WorldStats is how a node stands with the others of all PoPs. Counts are since start and only grow.
type WorldStats struct {
	Members    []WorldMember        `json:"members"` // sorted by name, this node among them
	PoPs       []WorldPoP           `json:"pops"`    // sorted by name
	Mismatches WorldMismatches      `json:"mismatches"`
	Bytes      WorldFlow            `json:"bytes"` // on the network, framing and encryption included
	Packets    WorldFlow            `json:"packets"`
	Records    map[string]WorldFlow `json:"records"`  // by kind
	Rejected   map[string]uint64    `json:"rejected"` // records and packets that were not believed, by reason
	Dropped    map[string]uint64    `json:"dropped"`  // what did not fit or could not be read, by reason
	Queue      WorldQueue           `json:"queue"`
	Lag        WorldLag             `json:"-"` // see LagView
	Joins      uint64               `json:"joins"`
	Rejoins    uint64               `json:"rejoins"`     // of Joins: with members that had been dead
	JoinErrors uint64               `json:"join_errors"` // attempts that failed
	JoinError  string               `json:"join_error"`  // the last one; empty: a join has worked since
	Conflicts  uint64               `json:"conflicts"`   // sightings of another node with a name that is taken
	Health     int                  `json:"health"`      // 0: well; higher: this node is slow to answer
	Keys       WorldKeys            `json:"keys"`
	MostDebt   float64              `json:"most_debt"` // of any key owned here: admitted too much and being made up for, seconds of its limit
	Pressed    bool                 `json:"pressed"`   // too many keys are over their limits to tell their counts: rates are told
	Deferred   uint64               `json:"deferred"`  // reports, answers and notices put off for want of budget
	Full       uint64               `json:"full"`      // times that there was no room to remember something
}

// WorldMember is a node that gossips.
type WorldMember struct {
	Name    string    `json:"name"`
	PoP     string    `json:"pop"`
	Address string    `json:"address"`
	State   string    `json:"state"` // alive, dead (does not answer), left (said good-bye)
	Since   time.Time `json:"since"` // in this state
	Version string    `json:"version"`
	Wire    int       `json:"wire"`  // version of what it sends; 0: not said
	Ring    string    `json:"ring"`  // fingerprint; empty: no ring
	Rules   string    `json:"rules"` // digest of its rules of scope global
	Self    bool      `json:"self"`
}

// WorldPoP counts the members of a PoP by state.
type WorldPoP struct {
	PoP   string `json:"pop"`
	Alive int    `json:"alive"`
	Dead  int    `json:"dead"`
	Left  int    `json:"left"`
}

// WorldMismatches counts the living members that differ from this node in what they should share.
type WorldMismatches struct {
	Ring  int `json:"ring"`  // same PoP, other servers
	Rules int `json:"rules"` // of scope global
	Wire  int `json:"wire"`  // version of what is sent
}

// WorldFlow counts what came and what went.
type WorldFlow struct {
	In  uint64 `json:"in"`
	Out uint64 `json:"out"`
}

// WorldQueue counts what waits.
type WorldQueue struct {
	Spreading int `json:"spreading"` // records that not everybody has been told yet
	Waiting   int `json:"waiting"`   // messages to be taken in
	Sending   int `json:"sending"`   // packets to be sent
}

// WorldLag is a histogram of how long records were under way until this node first heard them. The network's own time is not
// in it.
type WorldLag struct {
	Count   uint64
	Sum     time.Duration
	Buckets []WorldBucket // ascending
}

// WorldBucket counts the records that were under way for at most Within seconds.
type WorldBucket struct {
	Within float64
	Count  uint64
}

// WorldKeys counts keys by this node's part in them.
type WorldKeys struct {
	Measured int `json:"measured"` // asked for here
	Reported int `json:"reported"` // reported here for the whole PoP
	Owned    int `json:"owned"`    // added up here over all PoPs, or stood by for
	Woken    int `json:"woken"`    // to be reported however little is asked for, by an owner's word
	Shed     int `json:"shed"`     // of Owned: above their limit
	Guarded  int `json:"guarded"`  // of Owned: many PoPs are silent at once, what they said last still counts
}

// WorldStanding is how a key stands over all PoPs.
type WorldStanding struct {
	View                     mitigation.View
	Viewed                   window.Instant // when View came; 0: never
	Rate                     float64        // asked for in this PoP, cost a second
	Ratio                    mitigation.Ratio
	Unheard                  int64  // asked for elsewhere in the window and known as a rate only, cost
	Owner, Standby, Reporter string // nodes; empty: nobody
	Alone                    bool   // this node counts the key without its PoP
	Woken                    bool
	Shares                   []mitigation.Share // of every PoP, where this node adds them up
}

// GossipView is how the node stands with the others of all PoPs.
type GossipView struct {
	Connected bool `json:"connected"` // others are heard, or there are none to be heard
	Lost      bool `json:"lost"`      // none for so long that the failure modes act
	WorldStats
	Lag LagView `json:"lag"`
}

// LagView says, in seconds, how long records had been under way when this node first heard them.
type LagView struct {
	Count uint64   `json:"count"`
	Mean  float64  `json:"mean"`
	P50   *float64 `json:"p50"` // half took at most this long; null: none came, or it was longer than anything that is told apart
	P99   *float64 `json:"p99"`
}

// viewGossip shows the world; nil without gossip.
func (e *Edge) viewGossip() *GossipView {
	if e.world == nil {
		return nil
	}
	v := &GossipView{Connected: e.world.connected.Load(), Lost: e.world.lost.Load()}
	if s, ok := e.worldStats(); ok {
		v.WorldStats, v.Lag = s, s.Lag.view()
	}
	return v
}

// worldStats reads how e stands with the other PoPs; false when there is nobody to tell.
func (e *Edge) worldStats() (WorldStats, bool) {
	if e.world == nil || e.world.source.Stats == nil {
		return WorldStats{}, false
	}
	return e.world.source.Stats(), true
}

func (l *WorldLag) view() LagView {
	v := LagView{Count: l.Count, P50: l.within(0.5), P99: l.within(0.99)}
	if l.Count > 0 {
		v.Mean = l.Sum.Seconds() / float64(l.Count)
	}
	return v
}

// within returns the bound that a share of the records kept to; nil when there is none.
func (l *WorldLag) within(share float64) *float64 {
	for _, b := range l.Buckets {
		if l.Count > 0 && float64(b.Count) >= share*float64(l.Count) {
			return &b.Within
		}
	}
	return nil
}

// KeyWorldView is how one key stands over all PoPs.
type KeyWorldView struct {
	AgeSeconds  *float64 `json:"age_seconds"`  // of what its owner said last; null: nothing, and offered_rate to others say nothing
	OfferedRate float64  `json:"offered_rate"` // cost a second asked for in all PoPs
	LimitRate   float64  `json:"limit_rate"`   // cost a second that may pass: the limit, less what was too much and is made up for
	Shed        bool     `json:"shed"`         // above the limit
	Ratio       float64  `json:"ratio"`        // share to refuse here that follows
	// Others is what the other PoPs did in the counting periods that the window touches; null for a rule that is judged by
	// rates of late.
	Others   *KeyOthersView `json:"others"`
	PoPRate  float64        `json:"pop_rate"` // cost a second asked for in this PoP, as measured here
	Owner    string         `json:"owner"`    // the node that adds up; empty: none
	Standby  string         `json:"standby"`  // and the one that does so beside it
	Reporter string         `json:"reporter"` // the node that reports the key for this PoP
	Alone    bool           `json:"alone"`    // this node reports for itself: its ring does not answer, or it has none
	Woken    bool           `json:"woken"`    // reported however little is asked for
	// PoPs is what each PoP is asked for and refuses, sorted by name, where this node adds them up or stands by; else none.
	PoPs []KeyPoPView `json:"pops,omitempty"`
}

// KeyPoPView is one PoP's part in a key.
type KeyPoPView struct {
	PoP         string  `json:"pop"`
	Alone       bool    `json:"alone,omitempty"` // its nodes that count without the others, together
	OfferedRate float64 `json:"offered_rate"`    // cost a second
	Ratio       float64 `json:"ratio"`           // share to refuse there that follows
	AgeSeconds  float64 `json:"age_seconds"`     // of what it said last
}

// KeyOthersView is what others did with a key.
type KeyOthersView struct {
	Offered  int64 `json:"offered"`
	Admitted int64 `json:"admitted"`
}

// viewKeyWorld shows how key stands over all PoPs; nil when it is not the world's.
func (e *Edge) viewKeyWorld(now window.Instant, r *rule, key []byte) *KeyWorldView {
	if !r.world || e.world.source.Standing == nil {
		return nil
	}
	s := e.world.source.Standing(now, r.Name, key)
	v := &KeyWorldView{
		PoPRate: s.Rate, Owner: s.Owner, Standby: s.Standby, Reporter: s.Reporter, Alone: s.Alone, Woken: s.Woken,
		PoPs: viewShares(now, s.Shares),
	}
	if s.Viewed == 0 {
		return v
	}
	age := max(0, now.Sub(s.Viewed)).Seconds()
	v.AgeSeconds, v.OfferedRate, v.LimitRate, v.Shed = &age, s.View.Sum, s.View.Limit, s.View.Shed
	if s.Ratio > 0 {
		offered := r.meter.Offered(now, r.meter.Index(key))
		v.Ratio = mitigation.ByCount(&r.Rule, s.Ratio, offered, s.Unheard, e.world.every).Float()
	}
	if s.View.Others.Period != 0 {
		v.Others = &KeyOthersView{}
		for _, told := range s.View.Others.By {
			v.Others.Offered += told.Offered
			v.Others.Admitted += told.Admitted
		}
	}
	return v
}

// viewShares shows what each PoP is asked for.
func viewShares(now window.Instant, shares []mitigation.Share) []KeyPoPView {
	var all []KeyPoPView
	for _, s := range shares {
		all = append(all, KeyPoPView{
			PoP: s.PoP, Alone: s.Alone, OfferedRate: s.Rate, Ratio: s.Ratio.Float(), AgeSeconds: max(0, now.Sub(s.Heard)).Seconds(),
		})
	}
	slices.SortStableFunc(all, func(a, b KeyPoPView) int { return cmp.Compare(a.PoP, b.PoP) }) // of a PoP in the order they came: ages change
	return all
}
