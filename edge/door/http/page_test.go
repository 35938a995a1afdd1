package http

import (
	"net/http"
	"testing"
)

// TestOfAPage: what a page of another site has a browser send counts, takes and frees nothing.
// Where a proxy may hand on its visitor's headers the header means nothing.
func TestOfAPage(t *testing.T) {
	t.Parallel()
	h, _ := doorOf(t, `
rules: [{name: login, limit: 9, window: 1m}]
policies: [{name: any, match: {}, limit: 9, window: 1m}]
`)
	d := serveDoor(t, h, listen(t))
	for _, tt := range []struct {
		target, site string
		status       int
	}{
		{"/v1/count?rule=login&key=k", "cross-site", http.StatusForbidden},
		{"/v1/count?rule=login&key=k", "Same-Site", http.StatusForbidden},
		{"/v1/count?rule=login&key=k", "same-origin", http.StatusNoContent},
		{"/v1/count?rule=login&key=k", "none", http.StatusNoContent},
		{"/v1/settle?rule=login&key=k&delta=-1", "cross-site", http.StatusForbidden},
		{"/v1/load?pool=p&share=1", "cross-site", http.StatusForbidden},
		{"/v1/acquire?rule=login&key=k", "cross-site", http.StatusForbidden},
		{"/v1/release?rule=login&key=k", "cross-site", http.StatusForbidden},
		{"/v1/renew?rule=login&key=k", "cross-site", http.StatusForbidden},
		{"/v1/report?path=/&status=401", "cross-site", http.StatusForbidden},
		{"/v1/ask", "cross-site", http.StatusForbidden},
		{"/v1/check?rule=login&key=k", "cross-site", http.StatusOK},
		{"/v1/peek?rule=login&key=k", "same-site", http.StatusOK},
		{"/v1/auth/forward", "cross-site", http.StatusOK},
	} {
		r := d.send(t, "GET "+tt.target+" HTTP/1.1\r\nHost: h\r\nX-Forwarded-Uri: "+
			"/\r\nSec-Fetch-Site: "+tt.site+"\r\n\r\n")
		if r.StatusCode != tt.status {
			t.Errorf("%s, %s: %s %s", tt.target, tt.site, r.Status, r.Text)
		}
	}
}
