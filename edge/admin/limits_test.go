package admin_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

// TestLimits: a limit by hand is set, seen, listed, and ended; a batch is set whole.
func TestLimits(t *testing.T) {
	edgetest.Alone(t)
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

// TestLimitEvents follows limits by hand: set, changed, taken back, and ended on the instant.
func TestLimitEvents(t *testing.T) {
	inBubble(t, admin.Options{PoP: "lhr"}, func(t *testing.T, a *node, p *pipes) {
		f := follow(t, p.dial, "")
		_ = eventOf[api.HelloView](f, api.EventHello)
		time.Sleep(2 * time.Second) // a turn without any
		synctest.Wait()
		set := func(key, limit, ttl string) {
			t.Helper()
			if w := a.serve(newRequest("POST", "/v1/limits", `{"rule":"shed","key":"`+key+
				`","limit":`+limit+`,"ttl":"`+ttl+`","by":"ann"}`)); w.Code != 201 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
		}
		is := func(name, want string) {
			t.Helper()
			v := eventOf[api.LimitView](f, name)
			if got := fmt.Sprintf("%s %s %v, was %v, by %s", v.Rule, v.Key, v.Limit, v.Before,
				v.By); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
		set("a", "40", "1h")
		is(api.EventLimitSet, "shed a 40, was 0, by ann")
		set("a", "50", "1h")
		is(api.EventLimitSet, "shed a 50, was 40, by ann")
		if w := a.serve(newRequest("DELETE", "/v1/limits?rule=shed&key=a", "")); w.Code != 204 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		is(api.EventLimitUnset, "shed a 50, was 0, by ann")
		set("b", "7", "10s")
		is(api.EventLimitSet, "shed b 7, was 0, by ann")
		at := time.Now()
		is(api.EventLimitEnded, "shed b 7, was 0, by ann")
		if took := time.Since(at); took < 8*time.Second || took > 12*time.Second {
			t.Errorf("ended after %v", took)
		}
	})
}

// TestModeEvents: a switch of a rule is an event within a second, and what stays is none.
func TestModeEvents(t *testing.T) {
	inBubble(t, admin.Options{}, func(t *testing.T, a *node, p *pipes) {
		f := follow(t, p.dial, "")
		_ = eventOf[api.HelloView](f, api.EventHello)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for _, mode := range []string{"shadow", "off", "enforce"} {
			at := time.Now()
			if w := a.serve(newRequest("PUT", "/v1/mode", `{"rule":"shed","mode":"`+mode+
				`"}`)); w.Code != 204 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			v := eventOf[api.ModeView](f, api.EventMode)
			if took := time.Since(at); v != (api.ModeView{Rule: "shed", Mode: mode}) ||
				took > time.Second {
				t.Errorf("%+v after %v", v, took)
			}
		}
	})
}

// TestListsHaveTheLimitByHand: the lists of mitigations and of top keys judge a key by its own
// number from the change on, without a request since.
func TestListsHaveTheLimitByHand(t *testing.T) {
	edgetest.Alone(t)
	t.Parallel()
	a := newNode(t, admin.Options{Local: true})
	gatetest.Refuse(a.gate, "shed", "c")
	w := a.ask("POST", "/v1/limits", `{"rule":"shed","key":"c","limit":40,"ttl":"1h"}`)
	if w.Code != 201 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for _, c := range [][2]string{
		{"/v1/mitigations", `"limit":40,`}, {"/v1/top", `"limit":40,`}, {"/v1/top", `"share":0.1,`},
	} {
		if w := a.ask("GET", c[0], ""); !strings.Contains(w.Body.String(), c[1]) {
			t.Errorf("%s: %s, want %s", c[0], w.Body, c[1])
		}
	}
}
