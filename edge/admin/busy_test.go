package admin_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/door/budget"
)

// TestBusy: a large body waits a second for memory that the doors have, and is refused; a small one
// needs none.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bytes := budget.New(64 << 10)
		a := newNode(t, admin.Options{Local: true, Budget: bytes})
		large := `{"rule":"login","key":"k","action":"` + string(make([]byte, 5<<10)) + `"}`
		if w := a.ask("POST", "/v1/mitigations", large); w.Code != http.StatusBadRequest ||
			bytes.Used() != 0 {
			t.Errorf("%d, %d bytes lent after the end: %s", w.Code, bytes.Used(), w.Body)
		}
		bytes.Take(1)
		checkProblem(t, a.ask("POST", "/v1/mitigations", large),
			http.StatusServiceUnavailable, "body")
		if w := a.ask("POST", "/v1/mitigations", `{}`); w.Code != http.StatusBadRequest {
			t.Errorf("a small body: %d", w.Code)
		}
	})
}
