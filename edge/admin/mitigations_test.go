package admin_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// TestAdminPaging checks that pages of every size show each of 1,000 flags once and in order, while
// others come and go.
func TestAdminPaging(t *testing.T) {
	t.Parallel()
	edgetest.Alone(t)
	a := newNodeOf(gatetest.New(t, 64<<20, gatetest.Shed, gatetest.Block, gatetest.Off),
		admin.Options{Local: true})
	const all = 1000
	for n := range all {
		a.put(t, []string{"shed", "block"}[n%2], fmt.Sprintf("stay-%04d", n))
	}
	for _, size := range []int{1000, 333, 100, 7} {
		rows, pages, total, cursor := []api.MitigationView{}, 0, all, ""
		for {
			page := askFor[api.MitigationsView](t, a,
				fmt.Sprintf("/v1/mitigations?n=%d&cursor=%s", size, cursor))
			rows = append(rows, page.Mitigations...)
			pages++
			if cursor = page.NextCursor; cursor == "" {
				break
			}
			if page.Total != total || len(page.Mitigations) != size {
				t.Fatalf("size %d: %d rows, total %d", size, len(page.Mitigations), page.Total)
			}
			last := rows[len(rows)-1]
			if pages%2 == 0 { // gone by the time the next page is asked for
				a.ask("DELETE", "/v1/mitigations?"+url.Values{
					"rule": {last.Rule},
					"key":  {last.Key},
				}.Encode(), "")
				total--
			}
			total++
			a.put(t, "block", "came-in-front-"+last.Key)
		}
		stayed := 0
		for i, r := range rows {
			if i > 0 && rows[i-1].Rule+rows[i-1].Key >= r.Rule+r.Key {
				t.Fatalf("size %d: %v after %v", size, r, rows[i-1])
			}
			if strings.HasPrefix(r.Key, "stay-") {
				stayed++
			}
		}
		if stayed != all || pages != (all+size-1)/size {
			t.Errorf("size %d: %d of %d flags on %d pages", size, stayed, all, pages)
		}
		a.restore(t, all)
	}
	for rule, want := range map[string]int{"shed": all / 2, "block": all / 2, "off": 0} {
		if page := askFor[api.MitigationsView](t, a, "/v1/mitigations?n=1000&rule="+
			rule); page.Total != want || len(page.Mitigations) != want {
			t.Errorf("%s: %d rows, total %d, want %d", rule,
				len(page.Mitigations), page.Total, want)
		}
	}
}

// restore undoes the changes of paging.
func (a *node) restore(t *testing.T, all int) {
	t.Helper()
	for _, f := range flagsOf(a.gate) {
		if strings.HasPrefix(string(f.Key), "came-") {
			a.gate.Lift(a.gate.Now(), f.Rule, f.Key, "test")
		}
	}
	for n := range all {
		a.put(t, []string{"shed", "block"}[n%2], fmt.Sprintf("stay-%04d", n))
	}
}

// TestAdminByHand checks the effect of flags set by hand on requests, and that the last one counts.
func TestAdminByHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newNode(t, admin.Options{Local: true})
		status := func() gate.Decision {
			return gatetest.Decide(a.gate, a.gate.Now(),
				gate.Check, "block", "k", 1)
		}
		set := func(action, ttl string) {
			t.Helper()
			body := fmt.Sprintf(`{"rule":"block","key":"k","action":%q,"ttl":%q}`, action, ttl)
			if w := a.ask("POST", "/v1/mitigations", body); w.Code != http.StatusCreated {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
		}
		left := func() time.Duration {
			m := askFor[api.MitigationsView](t, a, "/v1/mitigations").Mitigations
			if len(m) != 1 {
				t.Fatalf("%d flags", len(m))
			}
			return time.Until(m[0].Expires)
		}
		set("block", "24h")
		if got := status(); got.Why != mitigation.ByBlock || got.Retry != 24*time.Hour {
			t.Errorf("blocked: %+v", got)
		}
		set("block", "30m")
		if got := left(); got != 30*time.Minute {
			t.Errorf("a shorter block lasts %v", got)
		}
		set("allow", "")
		if got := left(); got != gate.DefaultTTL {
			t.Errorf("without ttl: %v", got)
		}
		for range 10 { // more than the limit
			if got := status(); got.Deny {
				t.Fatalf("allowed: %+v", got)
			}
		}
		if w := a.ask("DELETE", "/v1/mitigations?rule=block&key=k",
			""); w.Code != http.StatusNoContent || w.Body.Len() != 0 {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
		if got := status(); got.Why != mitigation.ByLimit {
			t.Errorf("after an allowance what was admitted still counts: %+v", got)
		}
	})
}

// TestAdminUnblock checks that lifting a flag lets the client pass at once, by whichever rule it
// was set.
func TestAdminUnblock(t *testing.T) {
	edgetest.Alone(t)
	t.Parallel()
	for _, rule := range []string{"shed", "block"} {
		a := newNode(t, admin.Options{Local: true})
		a.refuse(rule, gatetest.HostileKey)
		if got := gatetest.Decide(a.gate, a.gate.Now(), gate.Check, rule, gatetest.HostileKey,
			1); !got.Deny {
			t.Fatalf("%s: %+v before", rule, got)
		}
		query := url.Values{"rule": {rule}, "shown": {api.EscapeKey([]byte(gatetest.HostileKey))}}
		if w := a.ask("DELETE", "/v1/mitigations?"+query.Encode(),
			""); w.Code != http.StatusNoContent {
			t.Fatalf("%s: status %d: %s", rule, w.Code, w.Body)
		}
		if got := gatetest.Decide(a.gate, a.gate.Now(), gate.Check, rule, gatetest.HostileKey,
			1); got.Deny || got.Remaining != 2 {
			t.Errorf("%s: %+v after", rule, got)
		}
		if page := askFor[api.MitigationsView](t, a, "/v1/mitigations"); page.Total != 0 {
			t.Errorf("%s: %d flags after", rule, page.Total)
		}
	}
}

// TestAdminOddKeys checks that any bytes can be set, asked for and lifted, and that no answer and
// no line of the log shows them as they are.
func TestAdminOddKeys(t *testing.T) {
	edgetest.Alone(t)
	t.Parallel()
	var log bytes.Buffer
	a := newNode(t, admin.Options{Local: true, Log: slog.New(slog.NewJSONHandler(&log, nil))})
	for _, key := range []string{
		"a b", "a+b%26&c=d", "\x00", "\n", "\xff\xfe", "\u202etxt.exe", `\`, `\x41`, `"`, "--rule",
		gatetest.HostileKey, strings.Repeat("\xff", 256),
	} {
		shown := api.EscapeKey([]byte(key))
		body := strings.ReplaceAll(shown, `\`, `\\`)
		body = fmt.Sprintf(`{"rule":"shed","shown":"%s","action":"block","reason":"ärger"}`,
			strings.ReplaceAll(body, `"`, `\"`))
		w := a.ask("POST", "/v1/mitigations", body)
		if w.Code != http.StatusCreated {
			t.Errorf("%q: status %d: %s", key, w.Code, w.Body)
			continue
		}
		query := "rule=shed&key=" + url.QueryEscape(key)
		if v := askFor[api.ExplainView](t, a, "/v1/explain?"+query); v.Key != shown ||
			v.Flag == nil || v.Flag.Key != shown {
			t.Errorf("%q: explained as %q, flag %v", key, v.Key, v.Flag)
		}
		page := a.ask("GET", "/v1/mitigations", "").Body.String() + a.ask("GET",
			"/v1/top", "").Body.String()
		if strings.ContainsFunc(page, func(r rune) bool {
			return r != '\n' &&
				(r < ' ' || r == 0x7f || r == '<')
		}) {
			t.Errorf("%q: shown as it is in %q", key, page)
		}
		if w := a.ask("DELETE", "/v1/mitigations?"+query, ""); w.Code != http.StatusNoContent {
			t.Errorf("%q: lifting: status %d", key, w.Code)
		}
	}
	if lines := strings.Count(log.String(), "\n"); lines != 24 {
		t.Errorf("%d lines for 24 changes", lines)
	}
	if strings.ContainsAny(log.String(), "\x00\x1b") || !utf8.ValidString(log.String()) ||
		strings.Count(log.String(), `\\x1b[2J`) != 2 {
		t.Errorf("the log: %s", log.String())
	}
}

// TestAdminTableFull checks that more flags by hand than there is room for are refused, not
// forgotten: of flags that each end sooner than the one before, the first stay.
func TestAdminTableFull(t *testing.T) {
	edgetest.Alone(t)
	t.Parallel()
	a := newNodeOf(gatetest.New(t, 16*window.MinMemory/15, gatetest.Shed),
		admin.Options{Local: true})
	room := int(a.gate.FlagStats().Capacity)
	set := 0
	for n := range 16 * room {
		w := a.ask("POST", "/v1/mitigations",
			fmt.Sprintf(`{"rule":"shed","key":"%d","action":"allow","ttl":"%dm"}`, n, 43_000-n))
		if w.Code == http.StatusCreated {
			set++
			continue
		}
		checkProblem(t, w, http.StatusServiceUnavailable, "key")
	}
	if page := askFor[api.MitigationsView](t, a, "/v1/mitigations"); page.Total != set ||
		set != room {
		t.Errorf("%d set, %d there, room for %d", set, page.Total, room)
	}
}

// TestAdminTop checks the order and the bounds of the heaviest keys.
func TestAdminTop(t *testing.T) {
	edgetest.Alone(t)
	t.Parallel()
	a := newNode(t, admin.Options{Local: true})
	for _, n := range edgetest.Dice(t).Perm(30) {
		for range n + 1 {
			gatetest.Decide(a.gate, a.gate.Now(), gate.Check, []string{"shed", "block"}[n%2],
				fmt.Sprintf("k%02d", n), 1)
		}
	}
	for target, want := range map[string]string{
		"/v1/top?n=3":           "k29=30 k28=29 k27=28 ",
		"/v1/top?n=2&rule=shed": "k28=29 k26=27 ",
		"/v1/top?rule=off":      "",
	} {
		got := ""
		for _, row := range askFor[api.TopsView](t, a, target).Top {
			got += fmt.Sprintf("%s=%v ", row.Key, row.Offered)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
	if n := len(askFor[api.TopsView](t, a, "/v1/top").Top); n != 10 {
		t.Errorf("%d rows, want 10 unless asked for more", n)
	}
	states := map[string]int{}
	for _, row := range askFor[api.TopsView](t, a, "/v1/top?n=1000").Top {
		states[row.State]++
	}
	if states["ok"] != 2 || states["shed"] != 14 || states["block"] != 14 {
		t.Errorf("%v", states)
	}
}
