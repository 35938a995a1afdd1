package admin_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
)

// TestLimits: a limit by hand is set, seen, listed, and ended; a batch is set whole.
func TestLimits(t *testing.T) {
	t.Parallel()
	a := newNode(t, admin.Options{Local: true})
	w := a.ask("POST", "/v1/limits", `{"rule":"shed","key":"a\\b","limit":"40","ttl":"7d",`+
		`"reason":"ticket 1","by":"ann"}`)
	var set api.LimitView
	if err := json.Unmarshal(w.Body.Bytes(), &set); err != nil || w.Code != 201 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	left := time.Until(set.Expires)
	if set.Limit != 40 || set.Before != 3 || set.By != "ann" || set.Reason != "ticket 1" ||
		!set.Alone || left < 167*time.Hour || left > 168*time.Hour {
		t.Errorf("%+v", set)
	}
	var is api.ExplainView
	w = a.ask("GET", `/v1/explain?rule=shed&key=a%5Cb`, "")
	if err := json.Unmarshal(w.Body.Bytes(), &is); err != nil || is.Limit != 40 ||
		is.LimitSource != "override:ann" || is.LimitUntil == nil || is.Remaining != 40 {
		t.Errorf("%+v", is)
	}
	var rows []string
	for i := range 5 {
		rows = append(rows, fmt.Sprintf(
			`{"rule":"shed","key":"k%d","limit":%d,"until":"2026-12-01"}`, i, 10+i))
	}
	batch := strings.ReplaceAll(`{"limits":[`+strings.Join(rows, ", ")+`]}`, "2026-12-01",
		time.Now().Add(48*time.Hour).Format(time.DateOnly))
	w = a.ask("POST", "/v1/limits", batch)
	if w.Code != 200 || w.Body.String() != `{"set":5}`+"\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	var keys []string
	for cursor, pages := "", 0; pages < 4; pages++ {
		var page api.LimitsView
		w := a.ask("GET", "/v1/limits?rule=shed&n=4&cursor="+cursor, "")
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil {
			t.Fatal(err)
		}
		for _, l := range page.Limits {
			keys = append(keys, l.Key)
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	if got := strings.Join(keys, " "); got != `a\x5cb k0 k1 k2 k3 k4` {
		t.Errorf("listed: %s", got)
	}
	for _, want := range []int{204, 404} {
		if w := a.ask("DELETE", "/v1/limits?rule=shed&shown=a%5Cx5cb", ""); w.Code != want {
			t.Errorf("%d %s, want %d", w.Code, w.Body, want)
		}
	}
}
