package edge

import (
	"fmt"
	"html"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"
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

// index answers a page that lists what can be asked here.
func (a *Admin) index(w http.ResponseWriter, _ *http.Request) *problem {
	var page strings.Builder
	node := html.EscapeString(a.edge.Node())
	fmt.Fprintf(&page, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>headgate %s</title>\n<h1>headgate %s</h1>\n<table>\n",
		node, node)
	for _, row := range a.table {
		path := html.EscapeString(row.path + row.query)
		if row.method == http.MethodGet && !strings.Contains(row.query, "key=") {
			path = fmt.Sprintf("<a href=\"%s\">%s</a>", row.path, path)
		}
		fmt.Fprintf(&page, "<tr><td>%s<td>%s<td>%s\n", row.method, path, html.EscapeString(row.what))
	}
	page.WriteString("</table>\n</html>\n")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(page.String())) // who does not wait for the answer misses it
	return nil
}
