package admin

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

// TestAdminListingsWait checks that more listings than are allowed at once wait, and give up with their
// client.
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
		if p := decode[problemBody](t, w); w.Code != http.StatusServiceUnavailable || p.Status != w.Code || p.Parameter != "request" {
			t.Errorf("%s: status %d: %+v", target, w.Code, p)
		}
	}
	<-a.listings
	if w := a.ask("GET", "/v1/top", ""); w.Code != http.StatusOK {
		t.Errorf("status %d", w.Code)
	}
}

// TestShortlist checks the shortlist against sorting everything.
func TestShortlist(t *testing.T) {
	t.Parallel()
	for range 1000 {
		all := make([]int, rand.IntN(50))
		short := shortlist[int]{n: 1 + rand.IntN(20), compare: cmp.Compare[int]}
		for i := range all {
			all[i] = rand.IntN(30)
			short.offer(all[i])
		}
		slices.Sort(all)
		if got, want := fmt.Sprint(short.sorted()), fmt.Sprint(all[:min(short.n, len(all))]); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
}
