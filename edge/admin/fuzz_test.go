package admin_test

import (
	"net/http"
	"testing"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/mitigation"
)

// FuzzAdminBody checks that no body breaks the door, and that the door sets the fields as the body
// has them.
func FuzzAdminBody(f *testing.F) {
	f.Add(`{"rule":"shed","key":"a","action":"block","ttl":"10m","reason":"why","by":"kim"}`)
	f.Add(`{"rule":"block","shown":"\\xff","action":"allow"}`)
	f.Add(`{"rule":"shed","key":"\ud83d\ude00","action":"block"}`)
	f.Add(`{"rule":"shed","key":"\ud83d","action":"block"}`)
	f.Add(`[]`)
	f.Add(`{"rule":{}}`)
	a := newNode(f, admin.Options{Local: true})
	f.Fuzz(func(t *testing.T, body string) {
		w := a.ask("POST", "/v1/mitigations", body)
		flags := flagsOf(a.gate)
		for _, set := range flags {
			a.gate.Lift(a.gate.Now(), set.Rule, set.Key, "test")
		}
		switch {
		case w.Code != http.StatusCreated && len(flags) > 0:
			t.Fatalf("status %d and %d flags", w.Code, len(flags))
		case w.Code >= 500:
			t.Fatalf("status %d: %s", w.Code, w.Body)
		case w.Code == http.StatusCreated &&
			(len(flags) != 1 || len(flags[0].Key) > mitigation.MaxKey):
			t.Fatalf("%+v", flags)
		}
	})
}

// FuzzAdminQuery checks that no query string breaks the door or changes anything by reading.
func FuzzAdminQuery(f *testing.F) {
	for _, query := range []string{
		"rule=shed&key=a", "n=3&cursor=c2hlZABh", "rule=block&shown=%5Cxff", "a;b", "%",
		"=&=", "key=%00&rule=off",
	} {
		f.Add(query)
	}
	a := newNode(f, admin.Options{Local: true})
	f.Fuzz(func(t *testing.T, query string) {
		for _, path := range []string{"/v1/mitigations", "/v1/top", "/v1/explain"} {
			r := newRequest("GET", path, "")
			r.URL.RawQuery = query
			for _, method := range []string{"GET", "DELETE"} {
				r.Method = method
				if w := a.serve(r); w.Code >= 500 {
					t.Fatalf("%s %s?%s: status %d: %s", method, path, query, w.Code, w.Body)
				}
			}
		}
	})
}
