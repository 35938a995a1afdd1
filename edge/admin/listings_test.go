package admin

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestAdminListingsWait checks that more listings than are allowed at once wait, and give up with
// their client.
func TestAdminListingsWait(t *testing.T) {
	t.Parallel()
	a := newDoor(t)
	for range maxAdminListings {
		a.listings <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, target := range []string{"/v1/top", "/v1/mitigations"} {
		r, w := httptest.NewRequest("GET", target, nil).WithContext(ctx), httptest.NewRecorder()
		r.Host = "localhost"
		a.ServeHTTP(w, r)
		if p := decode[problemBody](t, w); w.Code != http.StatusServiceUnavailable ||
			p.Status != w.Code || p.Parameter != "request" {
			t.Errorf("%s: status %d: %+v", target, w.Code, p)
		}
	}
	<-a.listings
	if w := a.ask("GET", "/v1/top", ""); w.Code != http.StatusOK {
		t.Errorf("status %d", w.Code)
	}
}
