package admin

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/headgate-dev/headgate/docs"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/web"
)

// healthy answers 200: a process answering is alive.
func (a *Door) healthy(w http.ResponseWriter, _ *http.Request) *api.Problem {
	return plain(w, "ok\n")
}

// readiness answers 200 if requests should be sent to this node, else 503. Degraded is ready: the
// node counts alone and decides, and a balancer taking the node out would make things worse.
func (a *Door) readiness(w http.ResponseWriter, _ *http.Request) *api.Problem {
	status := a.status()
	if !a.ready.Load() {
		return &api.Problem{Status: http.StatusServiceUnavailable, Detail: status}
	}
	return plain(w, status+"\n")
}

// status says in words whether the node decides.
func (a *Door) status() string {
	switch {
	case !a.ready.Load():
		return "the node is starting or stopping"
	case a.gate.Degraded():
		return "ready, degraded: " + a.gate.DegradedBy()
	}
	return "ready"
}

// health answers GET /v1/health: the answer of readiness, and the faults in the headline of the
// page.
func (a *Door) health(w http.ResponseWriter, r *http.Request) *api.Problem {
	return answerJSON(w, http.StatusOK, api.HealthView{
		Ready: a.ready.Load(), Status: a.status(), Faults: a.live.health(a.gate.Now()),
	})
}

// openAPI answers GET /v1/openapi.json.
func (*Door) openAPI(w http.ResponseWriter, _ *http.Request) *api.Problem {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(docs.OpenAPI) // a client gone misses it
	return nil
}

// rls answers GET /v1/rls.
func (a *Door) rls(w http.ResponseWriter, r *http.Request) *api.Problem {
	v := api.RLSView{Files: []string{}, Domains: []api.RLSDomainView{}}
	if a.options.RLS != nil {
		v = a.options.RLS()
	}
	return answerJSON(w, http.StatusOK, v)
}

// plain answers text with status 200.
func plain(w http.ResponseWriter, text string) *api.Problem {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(text)) // a client gone misses it
	return nil
}

// metrics returns the handler of /metrics. A third scrape at a time is answered 503: more rules
// cost more.
func (a *Door) metrics() handler {
	h := promhttp.HandlerFor(a.options.Registry,
		promhttp.HandlerOpts{MaxRequestsInFlight: maxAdminScrapes})
	return func(w http.ResponseWriter, r *http.Request) *api.Problem {
		h.ServeHTTP(w, r)
		return nil
	}
}

// page answers the dashboard.
func (a *Door) page(w http.ResponseWriter, r *http.Request) *api.Problem {
	a.site.Page(w, r)
	return nil
}

// asset answers a file of the dashboard.
func (a *Door) asset(w http.ResponseWriter, r *http.Request) *api.Problem {
	if !a.site.Asset(w, r) {
		return api.NewProblem(http.StatusNotFound, "path",
			"is not part of the current page: load GET / again")
	}
	return nil
}

// endpoints returns the list in the foot of the page.
func endpoints(table []endpoint) []web.Endpoint {
	list := make([]web.Endpoint, len(table))
	for n, r := range table {
		list[n] = web.Endpoint{Method: r.method, Path: r.path, Query: r.query, What: r.purpose}
	}
	return list
}
