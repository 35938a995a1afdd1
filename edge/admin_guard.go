package edge

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// guard keeps out who may not ask, and above all pages of other sites: a browser carries their requests
// to loopback as if the person in front of it had asked.
//
//   - Host must be a name that cannot be made to point here (DNS rebinding), unless the token is shown:
//     no page can show it.
//   - Origin and Sec-Fetch-Site of a change must say that it comes from a page of this listener.
//   - The token must be shown for a change, when one is set, and for everything off loopback.
//
// Probes, and whoever asks for the page, may come as they are: see open.
func (a *Admin) guard(w http.ResponseWriter, r *http.Request) *problem {
	change := r.Method != http.MethodGet && r.Method != http.MethodHead
	shown := a.tokenShown(r)
	switch {
	case !change && open(r):
		return nil
	case !shown && !ownHost(r):
		return forbidden("Host", "is neither this listener's address nor a loopback one")
	case change && !sameSite(r):
		return forbidden("Sec-Fetch-Site", "says that a page of another site sent this")
	case change && !sameOrigin(r):
		return forbidden("Origin", "is not this listener")
	case shown || a.options.Local && (!change || a.options.Token == ""):
		return nil
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="headgate"`)
	return &problem{status: http.StatusUnauthorized, parameter: "Authorization", detail: "must be Bearer and the admin token"}
}

// open reports whether the answer to r is for everybody. Orchestrators ask whether the node is alive and ready by whatever name
// they know it under, and have no token to show. A browser cannot show one for a page it opens: the page asks for it, so it
// must be there first; it and its assets are the same on every node and tell nothing of this one.
func open(r *http.Request) bool {
	switch r.URL.Path {
	case "/healthz", "/readyz", "/":
		return true
	}
	return strings.HasPrefix(r.URL.Path, "/assets/")
}

func forbidden(parameter, detail string) *problem {
	return &problem{status: http.StatusForbidden, parameter: parameter, detail: detail}
}

// tokenShown reports whether r carries the token. The time it takes tells nothing of the token, not even
// its length: digests are compared.
func (a *Admin) tokenShown(r *http.Request) bool {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if a.options.Token == "" || !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	got, want := sha256.Sum256([]byte(strings.TrimSpace(given))), sha256.Sum256([]byte(a.options.Token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// ownHost reports whether r was sent to a name that is surely meant to be here: a loopback address,
// localhost, or the very address the connection came in at. Over a unix socket any will do, as will
// none: browsers reach no unix socket and always name a host.
func ownHost(r *http.Request) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	name := hostName(r.Host)
	if name == "" || strings.EqualFold(name, "localhost") || local != nil && local.Network() == "unix" {
		return true
	}
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

// sameSite reports whether the browser, if one is there, says that the request comes from this listener's
// own page or from the person.
func sameSite(r *http.Request) bool {
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" && site != "none" {
			return false
		}
	}
	return true
}

// sameOrigin reports whether the page that sent r, if any, came from where r went. The scheme is left
// open: TLS may end before this listener.
func sameOrigin(r *http.Request) bool {
	for _, origin := range r.Header.Values("Origin") {
		_, host, ok := strings.Cut(origin, "://")
		if !ok || !strings.EqualFold(host, r.Host) {
			return false
		}
	}
	return true
}
