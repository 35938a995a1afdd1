package admin

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door/budget"
	"github.com/headgate-dev/headgate/edge/explain"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/metrics"
	"github.com/headgate-dev/headgate/edge/pop"
	"github.com/headgate-dev/headgate/edge/state"
	"github.com/headgate-dev/headgate/edge/web"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// Options are the parts and settings of a Door besides the gate. The zero value serves nobody,
// having neither Local nor a Token. Parts of the node are given as funcs, so this package knows no
// more than shown, and a test gives others.
type Options struct {
	// required for changes, and off loopback for everything but probes; empty: none. See SetToken
	Token string
	// Decides whether reading needs the token: on this machine a user could read the daemon's
	// configuration anyway.
	Local bool // every listener is on loopback or a unix socket
	// some are: questions there may be read without the token, whatever stands beside
	Mixed  bool
	Reload Reload    // nil: POST /v1/reload answers 501
	Switch Switch    // nil: PUT /v1/mode changes rules alone
	Config Config    // nil: GET /v1/config answers 501
	Build  api.Build // shown by /v1/version
	PoP    string    // name of the node's location, shown only
	File   string    // name of the configuration file, shown only

	Doors func() []api.DoorView // the decision listeners; nil: none
	// exchange with the other nodes of the PoP; nil: no ring
	Ring   func(now window.Instant) pop.Stats
	State  func(now window.Instant) state.Stats // the state file; nil: none
	Gossip func() *api.GossipView               // exchange with the other PoPs; nil: no gossip
	// whole requests, with the policies in force; nil: none
	Requests *ask.Room
	// unread questions and reports of the last ten minutes; nil: not shown
	Unread   func() (reports, questions UnreadView)
	Faults   []func() []api.FaultView // of parts of the node that only the node knows
	RLS      func() api.RLSView       // domains of the rate limit service; nil: none
	Surges   Surges                   // nil: none
	Standing explain.Standing         // state of a key over all PoPs; nil: no gossip
	// gets changes of flags, and connection errors; nil: slog.Default()
	Log *slog.Logger
	// gets a line for each requested change; nil: Log
	Audit *slog.Logger
	// bounds the bodies above 4 KiB, with those of the doors; nil: of this listener alone
	Budget   *budget.Budget
	Unlogged func() uint64 // log lines dropped since start; nil: not shown
	// served by /metrics; gets the metrics of this listener; nil: a new place
	Registry *prometheus.Registry
}

// Switch puts a rule, a policy or a pool, as kind says, or everything if name is empty, into a mode
// until the next reload.
type Switch func(kind, name string, mode mitigation.Mode) *api.Problem

// UnreadView is the number of unread lines, and the last one.
type UnreadView struct {
	Lines uint64
	Last  string // escaped, without secrets
}

// Reload loads the configuration and puts it in force, by force also with sets that lost most of
// their entries, or returns the reason why nothing has changed.
type Reload func(force bool) (api.ReloadView, error)

// Config returns the configuration in force.
type Config func() (api.ConfigView, error)

// Door is the admin listener. It is an http.Handler; Serve adds the bounds a listener needs. Its
// methods may be called concurrently.
type Door struct {
	gate     *gate.Gate
	options  Options
	log      *slog.Logger
	auditLog *slog.Logger
	mux      *http.ServeMux         // the routes
	site     *web.Site              // the dashboard
	listings chan struct{}          // one entry for each costly answer in progress
	places   *seats                 // of the open connections
	live     *feed                  // of the streams and the history
	ready    atomic.Bool            // as /readyz answers
	token    atomic.Pointer[string] // the required token; empty: none
}

// New returns a door to g. Not ready until SetReady(true). New panics when o.Registry holds the
// metrics of another door already.
func New(g *gate.Gate, o Options) *Door {
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Audit == nil {
		o.Audit = o.Log
	}
	if o.Budget == nil {
		o.Budget = budget.New(budget.Most)
	}
	a := &Door{
		gate:     g,
		options:  o,
		log:      o.Log,
		auditLog: o.Audit,
		mux:      http.NewServeMux(),
		listings: make(chan struct{}, maxAdminListings),
		places:   newSeats(maxAdminConns),
		live:     newFeed(g, o),
	}
	a.SetToken(o.Token)
	// Only this door knows these figures, so they are registered here and not with the others.
	metrics.RegisterLive(o.Registry, a.live.stats, o.Unlogged)
	o.Registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "headgate_admin_dropped_connections_total", Help: "Connections to the admin " +
			"listener closed because every place was taken.",
	}, func() float64 { return float64(a.places.Stats().Dropped) }))
	a.route()
	return a
}

// SetReady decides whether /readyz answers 200 or 503. A node is ready while its decision listeners
// are open before it is asked to stop.
func (a *Door) SetReady(ready bool) { a.ready.Store(ready) }

// SetToken replaces the token requests must show; "" removes it. At any time.
func (a *Door) SetToken(token string) { a.token.Store(&token) }

// handler answers a request, or returns a problem before the first byte. So each handler is
// straight code, and no answer is begun before all checks.
type handler func(http.ResponseWriter, *http.Request) *api.Problem

// endpoint is a row of the table from which the routes and the list in the foot of the page are
// made.
type endpoint struct {
	method, path, query, purpose string
	handle                       handler
}

// routes returns the table of endpoints.
func (a *Door) routes() []endpoint {
	return []endpoint{
		{"GET", "/v1/mitigations", "?rule=&n=&cursor=", "the mitigations in force: key, action, " +
			"source, end", a.listMitigations},
		{"POST", "/v1/mitigations", "", "block or allow a key by hand", a.setMitigation},
		{
			"DELETE", "/v1/mitigations", "?rule=&key=&by=&reason=",
			"remove the mitigation of a key", a.liftMitigation,
		},
		{"GET", "/v1/limits", "?rule=&n=&cursor=", "the limits of keys set by hand", a.listLimits},
		{"POST", "/v1/limits", "", "set the limit of a key by hand", a.setLimits},
		{
			"DELETE", "/v1/limits", "?rule=&key=&by=&reason=",
			"end a limit set by hand", a.unsetLimit,
		},
		{"GET", "/v1/top", "?rule=&n=&sort=", "the keys with the most traffic", a.top},
		{"GET", "/v1/explain", "?rule=&key=&by=", "everything that decides one key now", a.explain},
		{"GET", "/v1/past", "?rule=&key=&at=&from=&to=", "the past of a key, by minutes", a.past},
		{"GET", "/v1/rules", "", "the rules and their totals", a.rules},
		{"GET", "/v1/policies", "", "the policies and what they did", a.policies},
		{"GET", "/v1/pools", "", "how busy pools are, and the tiers shed by that", a.pools},
		{"GET", "/v1/leases", "?rule=&key=&n=", "the leases of a key, or the keys that hold most " +
			"places", a.leases},
		{"POST", "/v1/test-request", "", "what the policies make of a request; nothing is " +
			"counted", a.testRequest},
		{"POST", "/v1/who", "", "the keys of a client under all rules, and what denies them; " +
			"nothing is changed", a.who},
		{"GET", "/v1/rls", "", "the domains of the rate limit service", a.rls},
		{"GET", "/v1/surge", "?now=", "what the requests of a surge have in common", a.surge},
		{"POST", "/v1/surge/apply", "", "put the policy of a finding in force", a.applySurge},
		{
			"DELETE", "/v1/surge/apply", "?id=&by=", "take the policy of a finding away",
			a.undoSurge,
		},
		{"GET", "/v1/suggest", "?rule=", "estimated denials of other limits of a rule", a.suggest},
		{"GET", "/v1/cluster", "", "the nodes that share counts: clock, servers of the ring, the " +
			"other PoPs", a.cluster},
		{"GET", "/v1/events", "?live=", "a stream of mitigations set, changed and cleared; with " +
			"live=1 also the state of the node every second", a.events},
		{"GET", "/v1/history", "?rule=&range=", "cost a second of each rule over the last 15m, " +
			"1h or 6h", a.listHistory},
		{"PUT", "/v1/mode", "", "set the mode of one rule or of all", a.setMode},
		{"GET", "/v1/config", "", "the configuration in force", a.config},
		{"POST", "/v1/reload", "?force=", "read the configuration file again", a.reload},
		{"GET", "/v1/health", "", "whether the node is ready, and its faults", a.health},
		{"GET", "/v1/version", "", "version, node and start time", a.version},
		{"GET", "/v1/openapi.json", "", "this interface, as OpenAPI 3.1", a.openAPI},
		{"GET", "/metrics", "", "metrics for Prometheus", a.metrics()},
		{"GET", "/healthz", "", "200 while the process is alive", a.healthy},
		{"GET", "/readyz", "", "200 while the node is ready to decide", a.readiness},
	}
}

// route fills the mux with every row of the table, and with the problems of other methods and other
// paths. The table is the only place where a path stands: the mux, the list in the foot of the page
// and the Allow headers come from the table.
func (a *Door) route() {
	table := a.routes()
	a.site = web.New(endpoints(table))
	methods := map[string][]string{}
	for _, r := range append(table,
		// The page and its files are no part of the interface, and not in the list.
		endpoint{method: "GET", path: "/{$}", handle: a.page},
		endpoint{method: "GET", path: "/assets/{file...}", handle: a.asset},
	) {
		a.handle(r.method+" "+r.path, r.checked())
		methods[r.path] = append(methods[r.path], r.method)
		// The mux answers HEAD by a handler of GET.
		if r.method == http.MethodGet {
			methods[r.path] = append(methods[r.path], http.MethodHead)
		}
	}
	for path, allowed := range methods {
		slices.Sort(allowed)
		a.handle(path, wrongMethod(strings.Join(allowed, ", ")))
	}
	a.handle("/", func(http.ResponseWriter, *http.Request) *api.Problem {
		return api.NewProblem(http.StatusNotFound, "path",
			"does not "+
				"exist; GET / lists the paths")
	})
}

// handle registers h for pattern. A problem of h becomes the answer.
func (a *Door) handle(pattern string, h handler) {
	a.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if p := h(w, r); p != nil {
			answerProblem(w, p)
		}
	})
}

// ServeHTTP answers a request.
func (a *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	// An answer is true for a second, and keys are addresses of people.
	h.Set("Cache-Control", "no-store")
	// Nothing but the page's own files runs in the page: a key made to look like a script stays
	// text, even if a line of the dashboard forgot so.
	h.Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	most := int64(maxAdminBody)
	if r.URL.Path == "/v1/limits" {
		most = maxBatchBody
	}
	r.Body = http.MaxBytesReader(w, r.Body, most)
	shown := a.tokenShown(r)
	// A connection whose token was shown is not given up for a connection without.
	place := seatOf(r.Context())
	place.Begin(shown)
	defer place.End()
	if p := a.guard(w, r, shown); p != nil {
		answerProblem(w, p)
		return
	}
	// of a body taking nothing of the budget
	if r.ContentLength < 0 || r.ContentLength > (4<<10) {
		loan := budget.Loan{From: a.options.Budget}
		defer loan.Return()
		if !loan.Add(most) {
			answerProblem(w, api.NewProblem(http.StatusServiceUnavailable, "body",
				"must wait: too many bytes of other requests are in progress"))
			return
		}
	}
	a.mux.ServeHTTP(w, r)
}

// listing runs f, a costly answer, while fewer than maxAdminListings others run. The bound keeps
// hasty clients from taking the processor away from the decisions. A request cancelled while
// waiting gets a problem.
func (a *Door) listing(r *http.Request, f func()) *api.Problem {
	select {
	case a.listings <- struct{}{}:
		defer func() { <-a.listings }()
		f()
		return nil
	case <-r.Context().Done():
		return api.NewProblem(http.StatusServiceUnavailable, "request",
			"must wait: too many other requests are in progress")
	}
}
