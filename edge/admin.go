package edge

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate-dev/headgate/edge/web"
)

// AdminOptions is what an Admin needs besides the node. The zero value serves nobody: neither Local nor
// a Token.
type AdminOptions struct {
	Token    string               // for changes, and off loopback for all but probes; empty: none is set
	Local    bool                 // every listener is loopback or a unix socket
	Reload   func() error         // reads the configuration again; nil: POST /v1/reload answers 501
	Build    Build                // what this binary is
	PoP      string               // where this node is, for people to read
	Doors    Doors                // whose counters the metrics show
	Log      *slog.Logger         // what becomes of flags; nil: slog.Default()
	Audit    *slog.Logger         // one line a change that was asked for; nil: Log
	Unlogged func() uint64        // lines that the log has left out since start; nil: nobody counts
	Registry *prometheus.Registry // gets the node's metrics, and is served; nil: a new one
}

// Build says what a binary was built from.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the source; -dirty: with changes
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// Doors are the decision listeners of a node.
type Doors struct {
	UDP  []*UDP
	HTTP []*HTTP
}

// Admin is the door for people: it shows what the node counts and flags, and takes their word.
//
//	request ─► headers ─► guard: Host, Origin, token ─► route ─► parameters or JSON ─► Edge ─► JSON
//	                        └─────────────────────────────┴──────────────┴─► problem, nothing was changed
//
// It is an http.Handler; Serve adds the bounds a listener needs. Its methods are safe for concurrent use.
type Admin struct {
	edge     *Edge
	options  AdminOptions
	log      *slog.Logger
	auditLog *slog.Logger
	mux      *http.ServeMux
	site     *web.Site
	listings chan struct{} // full of the costly answers under way
	live     *watching
	ready    atomic.Bool
}

// NewAdmin returns a door to e. It is not ready until SetReady says so. It panics when o.Registry holds
// metrics of a node already.
func NewAdmin(e *Edge, o AdminOptions) *Admin {
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Audit == nil {
		o.Audit = o.Log
	}
	a := &Admin{
		edge: e, options: o, log: o.Log, auditLog: o.Audit,
		mux: http.NewServeMux(), listings: make(chan struct{}, maxAdminListings),
		live: newWatching(e, o),
	}
	registerMetrics(o.Registry, e, o)
	o.Registry.MustRegister(newLiveCollector(a.live, o.Unlogged))
	a.route()
	return a
}

// SetReady says whether /readyz answers 200 or 503. A node is ready from when its doors are open until
// it is told to stop.
func (a *Admin) SetReady(ready bool) { a.ready.Store(ready) }

// adminHandler answers one request, or returns what is wrong with it and has written nothing.
type adminHandler func(http.ResponseWriter, *http.Request) *problem

// adminRoute is one row of the table that routes and the list in the page's foot are made from.
type adminRoute struct {
	method, path, query, what string
	handle                    adminHandler
}

func (a *Admin) routes() []adminRoute {
	return []adminRoute{
		{"GET", "/v1/mitigations", "?rule=&n=&cursor=", "the flags: who is limited, by whose word, until when", a.listMitigations},
		{"POST", "/v1/mitigations", "", "block or allow a key by hand", a.setMitigation},
		{"DELETE", "/v1/mitigations", "?rule=&key=&by=&reason=", "lift a flag", a.liftMitigation},
		{"GET", "/v1/top", "?rule=&n=&sort=", "the heaviest keys", a.top},
		{"GET", "/v1/explain", "?rule=&key=", "everything that decides one key now", a.explain},
		{"GET", "/v1/rules", "", "the rules and their totals", a.rules},
		{"GET", "/v1/suggest", "?rule=", "what other limits of a rule would refuse", a.suggest},
		{"GET", "/v1/cluster", "", "who counts together: nodes, clock, servers of the ring, the other PoPs", a.cluster},
		{"GET", "/v1/events", "?live=", "a stream: flags set, changed, cleared; with live=1 how the node stands, each second", a.events},
		{"GET", "/v1/history", "?rule=", "what each rule was asked for over the last 15 minutes", a.listHistory},
		{"PUT", "/v1/mode", "", "set the mode of one rule, or of all", a.setMode},
		{"POST", "/v1/reload", "", "read the configuration again", a.reload},
		{"GET", "/v1/version", "", "what is running", a.version},
		{"GET", "/metrics", "", "for Prometheus", a.metrics()},
		{"GET", "/healthz", "", "alive?", a.healthy},
		{"GET", "/readyz", "", "ready to decide?", a.readiness},
	}
}

// route fills the mux: every row, what is wrong with another method, and what is wrong with any other path.
func (a *Admin) route() {
	table := a.routes()
	a.site = web.New(endpoints(table))
	methods := map[string][]string{}
	for _, r := range append(table,
		adminRoute{method: "GET", path: "/{$}", handle: a.page},
		adminRoute{method: "GET", path: "/assets/{file...}", handle: a.asset},
	) {
		a.handle(r.method+" "+r.path, r.handle)
		methods[r.path] = append(methods[r.path], r.method)
		if r.method == http.MethodGet {
			methods[r.path] = append(methods[r.path], http.MethodHead)
		}
	}
	for path, allowed := range methods {
		slices.Sort(allowed)
		a.handle(path, wrongMethod(strings.Join(allowed, ", ")))
	}
	a.handle("/", func(http.ResponseWriter, *http.Request) *problem {
		return &problem{status: http.StatusNotFound, parameter: "path", detail: "is none that GET / lists"}
	})
}

func (a *Admin) handle(pattern string, h adminHandler) {
	a.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if p := h(w, r); p != nil {
			p.answer(w)
		}
	})
}

func wrongMethod(allowed string) adminHandler {
	return func(w http.ResponseWriter, _ *http.Request) *problem {
		w.Header().Set("Allow", allowed)
		return &problem{status: http.StatusMethodNotAllowed, parameter: "method", detail: "must be one of " + allowed}
	}
}

// ServeHTTP answers one request.
func (a *Admin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	r.Body = http.MaxBytesReader(w, r.Body, maxAdminBody)
	if p := a.guard(w, r); p != nil {
		p.answer(w)
		return
	}
	a.mux.ServeHTTP(w, r)
}

// listing runs f when fewer than maxAdminListings others run, so that readers who hurry cannot take the
// processor from the decisions.
func (a *Admin) listing(r *http.Request, f func()) *problem {
	select {
	case a.listings <- struct{}{}:
		defer func() { <-a.listings }()
		f()
		return nil
	case <-r.Context().Done():
		return &problem{status: http.StatusServiceUnavailable, parameter: "request", detail: "found too many others under way"}
	}
}
