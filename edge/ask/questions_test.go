package ask_test

import (
	"testing"

	"github.com/headgate-dev/headgate/edge/ask"
)

// Failures anywhere on the site count against the one path that is limited by them.
const elsewhere = `
rules: []
policies:
  - {name: failures, match: {path: "/login"}, count_when: {status: 401}, limit: 2, window: 1h}
  - {name: crashes, match: {path: "/crash"}, count_when: {status: 500}, limit: 2, window: 1h}
  - {name: pages, match: {path: "/page"}, limit: 100, window: 1h}
`

// TestResponsesOfOtherRequests: a policy that acts on other requests, and counts this one by its
// response, counts nothing before the response is known, and is not in the answer.
func TestResponsesOfOtherRequests(t *testing.T) {
	h := open(t, elsewhere)
	const visitor = "203.0.113.7"
	for n := range 5 {
		if a := h.ask("GET", "/", visitor); a.Why != ask.ByNone || a.Ticket == 0 ||
			!h.report(a.Ticket, 200) {
			t.Errorf("request %d: %+v", n+1, a)
		}
	}
	for _, path := range []string{"/login", "/crash"} {
		if a := h.ask("GET", path, visitor); a.Deny || a.By.Remaining != 2 {
			t.Errorf("%s: %+v", path, a)
		}
	}
	if a := h.ask("GET", "/page", visitor); a.By.Rule.Name != "pages" ||
		a.By.Remaining != 99 || a.Ticket == 0 {
		t.Errorf("beside a policy that counts now: %+v", a)
	}
	for range 2 {
		if a := h.ask("GET", "/", visitor); !h.report(a.Ticket, 401) {
			t.Errorf("%+v", a)
		}
	}
	if a := h.ask("GET", "/login", visitor); !a.Deny {
		t.Errorf("two failures elsewhere: %+v", a)
	}
	if a := h.ask("GET", "/crash", visitor); a.Deny {
		t.Errorf("nothing crashed: %+v", a)
	}
}
