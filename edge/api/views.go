package api

import "time"

// The JSON shapes of the admin listener. Their common units are in the package documentation.

// MitigationView is a mitigation in force.
type MitigationView struct {
	Rule   string  `json:"rule"`
	Key    string  `json:"key"`
	Action string  `json:"action"` // shed, block, allow
	Ratio  float64 `json:"ratio"`  // share of offered cost being denied
	// of the rule; in shadow mode nothing is denied, and ratio is the share denied if enforced
	Mode    string    `json:"mode"`
	View    string    `json:"view"`
	Source  string    `json:"source"`         // self, ring, gossip:<pop>, manual:<who>
	Node    string    `json:"node,omitempty"` // the other node at which an operator set it
	Reason  string    `json:"reason,omitempty"`
	Since   time.Time `json:"since"`
	Expires time.Time `json:"expires"`
	Offered Amount    `json:"offered"` // cost asked for in the trailing window
	Limit   Amount    `json:"limit"`
	// blocks of the key by the rule's ladder, the present included
	Strikes int `json:"strikes,omitempty"`
	// of a softened block: about how many clients a block would deny
	Blast int `json:"blast,omitempty"`
	// DeniedRate is the cost a second denied over the trailing window: offered * ratio / window. In
	// shadow mode the cost denied if enforced.
	DeniedRate float64 `json:"denied_rate"`
}

// MitigationsView is a page of mitigations.
type MitigationsView struct {
	Mitigations []MitigationView `json:"mitigations"`
	Total       int              `json:"total"`
	NextCursor  string           `json:"next_cursor,omitempty"`
}

// MitigationRequest sets a mitigation by hand.
type MitigationRequest struct {
	Rule string `json:"rule"`
	Key  string `json:"key,omitempty"`
	// the key from EscapeKey, in place of Key: JSON cannot carry every byte
	Shown  string `json:"shown,omitempty"`
	Action string `json:"action"` // block or allow
	// a duration from MinTTL to MaxTTL, such as 10m; empty: DefaultTTL
	TTL    string `json:"ttl"`
	Reason string `json:"reason"`
	By     string `json:"by,omitempty"` // who, for the record
}

// TopView is a heavy key.
type TopView struct {
	Rule string `json:"rule"`
	Key  string `json:"key"`
	Kind string `json:"kind"`          // of the rule: window, bucket or concurrency
	Cut  bool   `json:"cut,omitempty"` // Key is the beginning of a longer one
	// in the trailing window; of kind concurrency, the places taken
	Offered Amount `json:"offered"`
	// in the trailing window; of a bucket, the tokens taken and not back yet; of kind concurrency,
	// the places taken
	Admitted Amount  `json:"admitted"`
	Limit    Amount  `json:"limit"`          // of a bucket, its burst
	Unit     string  `json:"unit,omitempty"` // of these
	Share    float64 `json:"share"`          // offered / limit
	// fate of the next request by this rule alone: ok, full (nothing is left), shed, block, allow
	State string `json:"state"`
	// another rule denying the key, so less is admitted here
	DeniedBy string `json:"denied_by,omitempty"`
	// of a bucket: when full again; none: full
	FullAt *time.Time `json:"full_at,omitempty"`
	Oldest *time.Time `json:"oldest,omitempty"` // of kind concurrency: start of the oldest lease
}

// TopsView is the answer of /v1/top, heaviest first.
type TopsView struct {
	Top []TopView `json:"top"`
}

// SubWindowView is the count of a key in a sub-window of the sketch.
type SubWindowView struct {
	Start    time.Time `json:"start"`
	Estimate Amount    `json:"estimate"` // sketch, an upper bound
}

// ExplainView is everything deciding a key now.
type ExplainView struct {
	Rule    string    `json:"rule"`
	Key     string    `json:"key"`
	Now     time.Time `json:"now"`
	Verdict string    `json:"verdict"` // the answer to a check of cost 1
	// the reason of the denial, also of a denial prevented by shadow mode
	Why string `json:"why,omitempty"`
	// allowed only because the rule is in shadow
	Shadow bool   `json:"shadow,omitempty"`
	View   string `json:"view"`
	// the node knows less than the scope requires, so failure_mode applies
	ViewLost    bool   `json:"view_lost,omitempty"`
	Mode        string `json:"mode"`
	Scope       string `json:"scope"`
	FailureMode string `json:"failure_mode"`
	Limit       Amount `json:"limit"`          // of the key
	Unit        string `json:"unit,omitempty"` // of limit and counts
	LimitSource string `json:"limit_source"`   // rule, tier:NAME, table:SET, override:WHO, unknown
	// of an override, when it ends
	LimitUntil *time.Time `json:"limit_until,omitempty"`
	Window     float64    `json:"window"`
	Remaining  Amount     `json:"remaining"`
	Reset      uint32     `json:"reset"`
	Retry      uint32     `json:"retry,omitempty"`
	// sketch, cost in the last window, never under until saturated
	Estimate Amount `json:"estimate"`
	// with probability confidence the estimate is at most this much over
	ErrorBound float64 `json:"error_bound"`
	Confidence float64 `json:"confidence"` // 1 - e^-rows
	// median estimate of a key never seen
	NoiseFloor float64 `json:"noise_floor"`
	// estimate from which a key becomes a suspect
	PromoteAt    float64         `json:"promote_at"`
	Suspect      bool            `json:"suspect"` // holds an exact slot
	SuspectSince *time.Time      `json:"suspect_since,omitempty"`
	Admitted     Amount          `json:"admitted"` // exact, trailing window (suspects)
	Offered      Amount          `json:"offered"`  // trailing window
	SubWindows   []SubWindowView `json:"sub_windows"`
	// suspects of a rule the PoP shares
	Ring   *KeyRingView    `json:"ring,omitempty"`
	Global *KeyGlobalView  `json:"global,omitempty"` // of a rule all PoPs share
	Flag   *MitigationView `json:"flag,omitempty"`
	// of the rule: window, bucket or concurrency
	Kind   string         `json:"kind"`
	Places *KeyPlacesView `json:"places,omitempty"` // of kind concurrency
	// asking this rule, in the order of the file
	Policies []string `json:"policies,omitempty"`
	// the conditions under which this key passes, for people to read
	LiftedBy string      `json:"lifted_by"`
	Bucket   *BucketView `json:"bucket,omitempty"` // of a rule of kind bucket
	// of a rule whose blocks grow longer
	Strikes *KeyStrikesView `json:"strikes,omitempty"`
	// of a rule keeping parts of the limit for some tiers
	Reserve  []KeyReserveView `json:"reserve,omitempty"`
	Siblings *SiblingsView    `json:"siblings,omitempty"` // of the rule of a network
	// of a rule with a ladder: the networks the key is in
	Ladder []LevelView   `json:"ladder,omitempty"`
	Blast  *KeyBlastView `json:"blast,omitempty"` // of a rule with max_blast
	// of a rule whose drop ratio is drawn by a part of the request
	ShedBy *ShedByView `json:"shed_by,omitempty"`
	// part the rule names by which the retry of a denial may be longer, 0..1; that of this view is
	RetrySpread float64 `json:"retry_spread,omitempty"`
	// cost of requests waiting for their responses
	Pending Amount `json:"pending,omitempty"`
	// the reason, author, end and ways of change, for people to read
	Sentences []string `json:"sentences"`
}

// BucketView is the state of the bucket of a key.
type BucketView struct {
	Burst  Amount     `json:"burst"`             // tokens of a full one
	Left   Amount     `json:"left"`              // whole tokens in it
	Fill   float64    `json:"fill"`              // 0..1, parts of a token included
	FullAt *time.Time `json:"full_at,omitempty"` // when full again; none: full
	// tokens taken beyond an empty bucket: by waiting requests, or by costs known afterwards
	Debt  Amount  `json:"debt,omitempty"`
	Token float64 `json:"token"` // seconds until one token is back
	// seconds a request may have to wait; 0: none waits
	Delay float64 `json:"delay,omitempty"`
	// seconds the next request would have to wait for a token
	Wait float64 `json:"wait,omitempty"`
}

// KeyStrikesView is the state of a key under a rule whose blocks grow longer.
type KeyStrikesView struct {
	Blocks int     `json:"blocks"` // in a row, a present one included
	Next   float64 `json:"next"`   // seconds the next block lasts
	// when the key begins at the first step again, unless blocked before; none: so now
	Forgotten *time.Time `json:"forgotten_at,omitempty"`
}

// KeyReserveView is the room of the requests of a tier, where parts of the limit are kept for some.
type KeyReserveView struct {
	Tier string `json:"tier"` // empty: a tier without a part of its own
	Most Amount `json:"most"` // of the limit these requests may use
	Left Amount `json:"left"` // of that
}

// SiblingsView is how many narrower keys asked under a network's key in the window. The limit
// denies nothing while fewer than needed.
type SiblingsView struct {
	Asked  int `json:"asked"` // at most Needed
	Needed int `json:"needed"`
}

// KeyPlacesView lists the places of a key under a rule of kind concurrency.
type KeyPlacesView struct {
	Taken  int64      `json:"taken"`  // of Limit
	Leases int        `json:"leases"` // that hold them
	Oldest *time.Time `json:"oldest"` // start of the oldest lease; null: there is none
	Until  *time.Time `json:"until"`  // end of that lease, unless it is released or renewed
}

// KeyRingView is the state of a key between this node and the others of the PoP.
type KeyRingView struct {
	Server      string   `json:"server"`       // holds the key's counters; empty: not asked yet
	AgeSeconds  *float64 `json:"age_seconds"`  // of the ring's last total; null: none yet
	OfferedRate float64  `json:"offered_rate"` // cost a second asked for at all nodes, as of then
	// cost counted here not sent to the others yet
	Unsent Amount `json:"unsent"`
}

// RuleView is a rule, with settings and totals since start.
type RuleView struct {
	Name        string  `json:"name"`
	Limit       Amount  `json:"limit"`
	Window      float64 `json:"window"`
	Scope       string  `json:"scope"`
	View        string  `json:"view"`
	Action      string  `json:"action"`
	BlockFor    float64 `json:"block_for"`
	Mode        string  `json:"mode"`
	FailureMode string  `json:"failure_mode"`
	Fairness    string  `json:"fairness,omitempty"` // of scope global: pops or requests
	Kind        string  `json:"kind"`               // window, bucket or concurrency
	Burst       Amount  `json:"burst,omitempty"`    // of a bucket
	Numbers     int     `json:"numbers,omitempty"`  // different limits of keys with their own
	// of a bucket: seconds a request may have to wait
	Delay  float64 `json:"delay,omitempty"`
	Counts string  `json:"counts,omitempty"` // offered: denied requests count too
	// of a rule whose blocks grow longer: seconds of each in a row
	Blocks []float64 `json:"blocks,omitempty"`
	// of such a rule: seconds without a block after which the first is due again
	ForgetAfter float64 `json:"forget_after,omitempty"`
	// of kind concurrency: seconds after which places not given back are free
	Lease float64 `json:"lease,omitempty"`
	// part of a request by which a drop ratio is drawn; empty: each request
	ShedBy string `json:"shed_by,omitempty"`
	// seconds for which a draw by a part holds
	Epoch float64 `json:"epoch,omitempty"`
	// clients above which a block sheds instead
	MaxBlast int `json:"max_blast,omitempty"`
	// part the rule names by which the retry of a denial may be longer, 0..1
	RetrySpread float64 `json:"retry_spread,omitempty"`
	// of the rule of a network: narrower keys needed before a denial
	Siblings int `json:"siblings,omitempty"`
	// parts of the limit kept for tiers, in order
	Reserve      []ShareView `json:"reserve,omitempty"`
	Places       *PlacesView `json:"places,omitempty"` // of kind concurrency: taken now
	Unit         string      `json:"unit"`             // of the four sums: requests or cost
	Offered      Amount      `json:"offered"`
	Admitted     Amount      `json:"admitted"`
	Denied       Amount      `json:"denied"`
	ShadowDenied Amount      `json:"shadow_denied"`
	Counted      uint64      `json:"counted"` // counts without a decision, by reports
	// requests allowed for later, of a rule with a delay
	Delayed uint64 `json:"delayed,omitempty"`

	// since the last change of the limit; in shadow mode, the denials enforcement would have caused
	Denials DenialsView `json:"denials"`

	// fields differing from their default, in the order of the documentation; of /v1/rules only
	Settings []SettingView `json:"settings,omitzero"`
}

// SettingView is a field of a rule as headgate.yaml has it.
type SettingView struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ShareView is a part of a rule's limit kept for a tier and the tiers before.
type ShareView struct {
	Tier  string  `json:"tier"`
	Share float64 `json:"share"` // 0..1
}

// RulesView is the answer of /v1/rules.
type RulesView struct {
	Rules []RuleView `json:"rules"`
}

// TopOrders are the values of the parameter sort of /v1/top. The first is the default.
var TopOrders = [...]string{"offered", "admitted", "share", "rule", "used"}
