package admin_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/headgate-dev/headgate/edge/admin"
)

const guardToken = "open sesame"

var (
	lan         = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 4292}
	tokenHeader = []string{"Authorization", "Bearer " + guardToken}
)

func withToken(more ...string) []string { return slices.Concat(tokenHeader, more) }

var guardCases = []struct {
	name    string
	local   bool
	token   string
	came    net.Addr
	headers []string
	read    int // 0: 200
	change  int // 0: 204
	names   string
}{
	{name: "loopback", local: true},
	{name: "loopback, token set", local: true, token: guardToken, change: 401},
	{name: "loopback, token shown", local: true, token: guardToken, headers: tokenHeader},
	{
		name: "another case", local: true, token: guardToken,
		headers: []string{"Authorization", "bearer " + guardToken},
	},
	{
		name: "wrong token", local: true, token: guardToken,
		headers: []string{"Authorization", "Bearer open"}, change: 401,
	},
	{
		name: "longer token", local: true, token: guardToken,
		headers: []string{"Authorization", "Bearer " + guardToken + "!"}, change: 401,
	},
	{
		name: "no scheme", local: true, token: guardToken,
		headers: []string{"Authorization", guardToken}, change: 401,
	},
	{
		name: "basic", local: true, token: guardToken,
		headers: []string{"Authorization", "Basic " + guardToken}, change: 401,
	},
	{
		name: "empty token", local: true, token: guardToken,
		headers: []string{"Authorization", "Bearer "}, change: 401,
	},
	{
		name: "no token is no token", headers: []string{"Authorization", "Bearer "}, came: lan,
		read: 401, change: 401,
	},

	{name: "off loopback", token: guardToken, came: lan, read: 401, change: 401},
	{
		name: "off loopback, own address", token: guardToken, came: lan,
		headers: []string{"Host", "192.0.2.7:4292"}, read: 401, change: 401,
	},
	{
		name: "off loopback, token shown", token: guardToken, came: lan,
		headers: withToken("Host", "edge-1.example.net:4292"),
	},

	{name: "localhost", local: true, headers: []string{"Host", "LocalHost:4292"}},
	{name: "another loopback", local: true, headers: []string{"Host", "127.9.9.9"}},
	{name: "::1", local: true, headers: []string{"Host", "[::1]:4292"}},
	{name: "::1 without port", local: true, headers: []string{"Host", "[::1]"}},
	{name: "mapped", local: true, headers: []string{"Host", "[::ffff:127.0.0.1]:4292"}},
	{name: "no host", local: true, headers: []string{"Host", ""}},
	{
		name: "rebound", local: true, headers: []string{"Host", "attacker.example:4292"}, read: 403,
		change: 403, names: "Host",
	},
	{
		name: "rebound, looks local", local: true,
		headers: []string{"Host", "127.0.0.1.attacker.example"}, read: 403,
		change: 403, names: "Host",
	},
	{
		name: "rebound, localhost below", local: true,
		headers: []string{"Host", "localhost.attacker.example"}, read: 403,
		change: 403, names: "Host",
	},
	{
		name: "another address", local: true, came: lan, headers: []string{"Host", "192.0.2.8"},
		read: 403, change: 403, names: "Host",
	},
	{name: "own address", local: true, came: lan, headers: []string{"Host", "192.0.2.7"}},
	{
		name: "unix socket", local: true,
		came:    &net.UnixAddr{Name: "/run/headgate/admin.sock", Net: "unix"},
		headers: []string{"Host", "whatever"},
	},
	{
		name: "name, token shown", local: true, token: guardToken,
		headers: withToken("Host", "admin.example.net"),
	},

	{
		name:    "own page",
		local:   true,
		headers: []string{"Origin", "http://127.0.0.1:4292", "Sec-Fetch-Site", "same-origin"},
	},
	{
		name:    "own page behind TLS",
		local:   true,
		headers: []string{"Origin", "https://127.0.0.1:4292"},
	},
	{name: "the person", local: true, headers: []string{"Sec-Fetch-Site", "none"}},
	{
		name:    "foreign page",
		local:   true,
		headers: []string{"Origin", "https://attacker.example"},
		change:  403,
		names:   "Origin",
	},
	{
		name:    "another port",
		local:   true,
		headers: []string{"Origin", "http://127.0.0.1:8080"},
		change:  403,
		names:   "Origin",
	},
	{name: "null", local: true, headers: []string{"Origin", "null"}, change: 403, names: "Origin"},
	{
		name: "cross-site", local: true, headers: []string{"Sec-Fetch-Site", "cross-site"},
		change: 403, names: "Sec-Fetch-Site",
	},
	{
		name:    "same-site",
		local:   true,
		headers: []string{"Sec-Fetch-Site", "same-site"},
		change:  403,
		names:   "Sec-Fetch-Site",
	},
	{
		name:    "foreign page with token",
		local:   true,
		token:   guardToken,
		headers: withToken("Origin", "https://attacker.example"),
		change:  403,
		names:   "Origin",
	},
}

// TestAdminGuard checks who may read and who may change things, on loopback and off it, from pages
// of other sites and through names that point here.
func TestAdminGuard(t *testing.T) {
	t.Parallel()
	for _, tt := range guardCases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := newNode(t, admin.Options{Local: tt.local, Token: tt.token})
			a.SetReady(true)
			came := tt.came
			if came == nil {
				came = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4292}
			}
			checkGuard(t, a.askVia(came, "GET", "/v1/rules", "", tt.headers), tt.read,
				http.StatusOK, tt.names)
			// a kubelet has neither name nor token
			for _, probe := range []string{"/healthz", "/readyz"} {
				checkGuard(t, a.askVia(came, "GET", probe, "", tt.headers), 0, http.StatusOK, "")
			}
			// a browser shows no token for a page; the page asks for it
			for _, page := range []string{"/", "/assets/none"} {
				if w := a.askVia(came, "GET", page, "",
					tt.headers); w.Code == http.StatusUnauthorized ||
					w.Code == http.StatusForbidden {
					t.Errorf("%s: status %d", page, w.Code)
				}
			}
			for _, way := range []string{
				"/assets/../v1/rules", "/assets/%2e%2e/v1/rules",
				"//v1/rules",
			} {
				if w := a.askVia(came, "GET", way, "", tt.headers); w.Code == http.StatusOK {
					t.Errorf("%s is a way around the guard", way)
				}
			}
			for _, c := range []struct {
				method, target, body string
				done                 int
			}{
				{
					"POST", "/v1/mitigations", `{"rule":"shed","key":"a","action":"block"}`,
					http.StatusCreated,
				},
				{"DELETE", "/v1/mitigations?rule=shed&key=a", "", http.StatusNoContent},
				{"PUT", "/v1/mode", `{"mode":"off"}`, http.StatusNoContent},
				{"POST", "/v1/reload", "", http.StatusNotImplemented},
				{"POST", "/healthz", "", http.StatusMethodNotAllowed},
			} {
				checkGuard(t, a.askVia(came, c.method, c.target, c.body, tt.headers),
					tt.change, c.done, tt.names)
			}
		})
	}
}

// askVia asks over a connection that came in at an address.
func (a *node) askVia(
	came net.Addr, method, target, body string, headers []string,
) *httptest.ResponseRecorder {
	r := newRequest(method, target, body, headers...)
	return a.serve(r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, came)))
}

// checkGuard holds an answer to being refused with status, or done when status is nought.
func checkGuard(t *testing.T, w *httptest.ResponseRecorder, status, done int, names string) {
	t.Helper()
	checkHeaders(t, w)
	switch status {
	case 0:
		if w.Code != done {
			t.Errorf("status %d, want %d: %s", w.Code, done, w.Body)
		}
		return
	case http.StatusUnauthorized:
		names = "Authorization"
		if w.Header().Get("WWW-Authenticate") == "" {
			t.Error("no WWW-Authenticate")
		}
	}
	checkProblem(t, w, status, names)
}

// TestAdminContentType checks that a form of another site's page, which needs no leave to be sent,
// is no change.
func TestAdminContentType(t *testing.T) {
	t.Parallel()
	a := newNode(t, admin.Options{Local: true})
	const body = `{"rule":"shed","key":"a","action":"block"}`
	for contentType, status := range map[string]int{
		"application/json":                  201,
		"application/json; charset=utf-8":   201,
		"Application/JSON":                  201,
		"text/plain":                        415,
		"application/x-www-form-urlencoded": 415,
		"multipart/form-data; boundary=b":   415,
		"application/json-patch+json":       415,
		"":                                  415,
		"; ; ;":                             415,
	} {
		w := a.ask("POST", "/v1/mitigations", body, "Content-Type", contentType)
		if w.Code != status {
			t.Errorf("%q: status %d, want %d", contentType, w.Code, status)
		}
	}
}
