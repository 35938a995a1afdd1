package edge

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/headgate-dev/headgate/edge/web"
)

// healthy answers that the process is alive, which its answering shows.
func (a *Admin) healthy(w http.ResponseWriter, _ *http.Request) *problem { return plain(w, "ok\n") }

// readiness answers whether requests should be sent here.
func (a *Admin) readiness(w http.ResponseWriter, _ *http.Request) *problem {
	if !a.ready.Load() {
		return &problem{status: http.StatusServiceUnavailable, detail: "the node is starting or stopping"}
	}
	if a.edge.Degraded() {
		return plain(w, "ready, degraded: the ring is lost\n")
	}
	return plain(w, "ready\n")
}

func plain(w http.ResponseWriter, text string) *problem {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(text)) // who does not wait for the answer misses it
	return nil
}

// metrics returns the handler of /metrics.
func (a *Admin) metrics() adminHandler {
	h := promhttp.HandlerFor(a.options.Registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxAdminScrapes})
	return func(w http.ResponseWriter, r *http.Request) *problem {
		h.ServeHTTP(w, r)
		return nil
	}
}

// page answers the dashboard.
func (a *Admin) page(w http.ResponseWriter, r *http.Request) *problem {
	a.site.Page(w, r)
	return nil
}

// asset answers what the dashboard loads.
func (a *Admin) asset(w http.ResponseWriter, r *http.Request) *problem {
	if !a.site.Asset(w, r) {
		return &problem{status: http.StatusNotFound, parameter: "path", detail: "is not part of the page as it is now: load GET / again"}
	}
	return nil
}

// endpoints returns what the page lists in its foot.
func endpoints(table []adminRoute) []web.Endpoint {
	list := make([]web.Endpoint, len(table))
	for n, r := range table {
		list[n] = web.Endpoint{Method: r.method, Path: r.path, Query: r.query, What: r.what}
	}
	return list
}
