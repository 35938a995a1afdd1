package admin

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/headgate-dev/headgate/edge/api"
)

// guard refuses requests without permission, above all those of pages of other sites: a browser
// sends such requests to loopback as if made by the user.
//
//   - Host must be a name that cannot be made to point here by DNS rebinding, unless the request
//     shows the token, which no page can do.
//   - Origin and Sec-Fetch-Site of a change must be those of a page of this listener.
//   - A change needs the token if one is set, and so does every request to a listener off loopback.
//
// Probes and the page itself need no permission: see open. shown reports whether r shows the token.
func (a *Door) guard(w http.ResponseWriter, r *http.Request, shown bool) *api.Problem {
	// Every method but these two counts as a change, including those without a route. who is a
	// read, and a POST to keep secrets out of URLs.
	posts := r.Method != http.MethodGet && r.Method != http.MethodHead
	change := posts && r.URL.Path != "/v1/who"
	switch {
	// The order matters: each later case may rely on the cases before.
	case !posts && open(r):
		return nil
	case !shown && !ownHost(r):
		return forbidden("Host", "is neither this listener's address nor a loopback one")
	case posts && !sameSite(r):
		return forbidden("Sec-Fetch-Site", "names a page of another site")
	case posts && !sameOrigin(r):
		return forbidden("Origin", "is not this listener")
	// On this machine reading is free, and changes too while no token is set.
	case shown || a.options.Local && (!change || *a.token.Load() == "") ||
		a.options.Mixed && !change && nearby(r):
		return nil
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="headgate"`)
	return api.NewProblem(http.StatusUnauthorized, "Authorization",
		"must be Bearer and the admin token")
}

// nearbyKey is the key of a context's value telling of a listener of this machine.
type nearbyKey struct{}

// listenerContext is the context of the requests to ln. A listener on loopback or a unix socket may
// stand beside listeners open to other machines.
func listenerContext(ln net.Listener) context.Context {
	tcp, ok := ln.Addr().(*net.TCPAddr)
	here := ok && tcp.IP.IsLoopback() || ln.Addr().Network() == "unix"
	return context.WithValue(context.Background(), nearbyKey{}, here)
}

// nearby reports whether r came to a listener on loopback or a unix socket.
func nearby(r *http.Request) bool {
	here, _ := r.Context().Value(nearbyKey{}).(bool)
	return here
}

// open reports whether anybody may have the answer to r. Orchestrators probe a node under any name
// and without a token. A browser cannot show a token at the opening of the page: the page itself
// asks for the token, so comes first. The page and its assets are the same on every node and
// contain nothing about this node.
func open(r *http.Request) bool {
	switch r.URL.Path {
	case "/healthz", "/readyz", "/":
		return true
	}
	return strings.HasPrefix(r.URL.Path, "/assets/")
}

// forbidden returns the problem of a header a page of another site, or a name possibly pointing
// elsewhere, would send: 403.
func forbidden(parameter, detail string) *api.Problem {
	return api.NewProblem(http.StatusForbidden, parameter, detail)
}

// tokenShown reports whether r shows the token. Digests are compared, so the duration reveals
// neither the token nor the length.
func (a *Door) tokenShown(r *http.Request) bool {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token := *a.token.Load()
	if token == "" || !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	got, want := sha256.Sum256([]byte(strings.TrimSpace(given))), sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// ownHost reports whether the name in the Host header certainly means this listener: a loopback
// address, localhost, or the local address of the connection. Over a unix socket any name is
// accepted, because browsers cannot reach unix sockets. An empty name is accepted too, because
// browsers always send a name.
func ownHost(r *http.Request) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	name := hostName(r.Host)
	if name == "" || strings.EqualFold(name, "localhost") ||
		local != nil && local.Network() == "unix" {
		return true
	}
	// Any other name could be made to resolve to this address: only addresses are accepted below.
	ip, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	if ip.Unmap().IsLoopback() {
		return true
	}
	tcp, ok := local.(*net.TCPAddr)
	return ok && tcp.AddrPort().Addr().Unmap().WithZone("") == ip.Unmap().WithZone("")
}

// hostName returns the host of a Host header, without port and brackets.
func hostName(hostPort string) string {
	if name, _, err := net.SplitHostPort(hostPort); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostPort, "["), "]")
}

// sameSite reports whether the browser, if any, attributes the request to this listener's own page
// or to the user.
func sameSite(r *http.Request) bool {
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" && site != "none" {
			return false
		}
	}
	return true
}

// sameOrigin reports whether the page that sent r, if any, was loaded from r's host. The scheme is
// ignored, as a proxy may terminate TLS.
func sameOrigin(r *http.Request) bool {
	for _, origin := range r.Header.Values("Origin") {
		_, host, ok := strings.Cut(origin, "://")
		if !ok || !strings.EqualFold(host, r.Host) {
			return false
		}
	}
	return true
}
