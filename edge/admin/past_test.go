package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestPast: the steps, the denials and the limit of a key, over a reload that changes the limit, by
// minutes and then by quarters, and what cannot be answered.
func TestPast(t *testing.T) {
	edgetest.Alone(t)
	keeps := func(t *testing.T) *gate.Gate {
		return gatetest.New(t, 16<<20, gatetest.Shed, gatetest.Block)
	}
	inBubbleOf(t, keeps, admin.Options{}, func(t *testing.T, a *node, _ *pipes) {
		turns := 0
		pass := func(d time.Duration) {
			for range d / time.Second {
				time.Sleep(time.Second)
				turns++
				// the wall clock differs a little, as it does
				a.gate.Turn(turns, a.gate.Now(), time.Now().Add(-time.Millisecond))
			}
			synctest.Wait()
		}
		ask := func(rule, key string, times int) {
			for range times {
				gatetest.Decide(a.gate, a.gate.Now(), gate.Check, rule, key, 1)
			}
		}
		past := func(query string) api.PastView {
			return askFor[api.PastView](t, a, "/v1/past?"+query)
		}
		text := func(s api.PastStep) string {
			s.From = s.From.UTC()
			line, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			return string(line)
		}
		began := time.Now()
		pass(100 * time.Second) // into the second minute
		ask("shed", "a", 8)
		ask("shed", "b", 2)
		ask("block", "a", 4)
		v := past("rule=shed&key=a")
		if len(v.Steps) != 2 || !v.Since.Equal(began) || v.View != "node" {
			t.Fatalf("%+v", v)
		}
		if got, want := text(v.Steps[1]), `{"from":"2000-01-01T00:01:00Z","seconds":60,`+
			`"open":true,"incomplete":false,"total":14,"limit":{"limit":3,"window":"10s"},`+
			`"offered":{"at_least":8,"at_most":8},"denied":{"at_least":5,"at_most":5},`+
			`"error":{"cost":0,"chance":0.02}}`; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
		if d := v.Denials; len(d) != 1 || d[0].Times != 5 || d[0].Why != "limit" ||
			!d[0].At.Equal(began.Add(100*time.Second)) {
			t.Errorf("%+v", d)
		}

		pass(100 * time.Second)
		a.gate.SetRules([]mitigation.Rule{
			{Name: "shed", Limit: 9, Window: 10 * time.Second}, gatetest.Block,
		})
		ask("shed", "a", 20)
		pass(100 * time.Second)
		at := func(d time.Duration) string { return began.Add(d).UTC().Format(time.RFC3339) }
		v = past("rule=shed&key=a&at=" + at(80*time.Second))
		if len(v.Steps) != 1 || v.Steps[0].Open || *v.Steps[0].Offered.AtMost != 8 ||
			v.Steps[0].Limit.Limit != 3 || len(v.Denials) != 1 {
			t.Errorf("%+v", v)
		}
		// the step of a change has the limit at its begin, and no upper bound
		v = past("rule=shed&key=a&from=" + at(200*time.Second) + "&to=" + at(250*time.Second))
		if len(v.Steps) != 2 || v.Steps[0].Limit.Limit != 3 || v.Steps[1].Limit.Limit != 9 ||
			v.Steps[0].Offered.AtMost != nil || !v.Steps[0].Incomplete ||
			v.Steps[0].Denied.AtLeast != 11 || v.Steps[0].Offered.AtLeast != 20 {
			t.Errorf("%+v", v)
		}
		if got := scrape(t, a); !slices.Contains(got, "headgate_history_incomplete_total 2") {
			t.Error("a minute and a quarter have no upper bound, and are not counted")
		}
		pass(2 * time.Hour)
		v = past("rule=shed&key=a&from=" + at(0))
		if n := len(v.Steps); v.Steps[0].Seconds != 900 || v.Steps[n-1].Seconds != 60 ||
			v.Steps[0].Denied.AtLeast != 16 || *v.Steps[0].Denied.AtMost != 16 ||
			v.Steps[n-1].Offered.AtLeast != 0 || !v.Steps[n-1].Open {
			t.Errorf("%+v", v)
		}
		for n, s := range v.Steps[1:] {
			if was := v.Steps[n]; !was.From.Add(time.Duration(was.Seconds) * time.Second).
				Equal(s.From) {
				t.Errorf("a step at %v follows one at %v", s.From, was.From)
			}
		}

		for query, want := range map[string]string{
			"rule=nope&key=a":                       "404 rule",
			"rule=shed":                             "400 key",
			"key=a":                                 "400 rule",
			"rule=shed&key=a&at=14:03":              "400 at",
			"rule=shed&key=a&at=" + at(3*time.Hour): "400 at",
			"rule=shed&key=a&from=" + at(time.Hour) + "&to=" + at(0):   "400 from",
			"rule=shed&key=a&from=" + at(0) + "&to=" + at(3*time.Hour): "400 to",
			"rule=shed&key=a&to=" + at(0):                              "400 from",
			"rule=shed&key=a&at=" + at(0) + "&from=" + at(0):           "400 at",
			"rule=shed&key=a&at=" + at(-time.Minute):                   "404 at",
			"rule=shed&key=a&from=" + at(-time.Hour):                   "404 from",
		} {
			w := a.ask("GET", "/v1/past?"+query, "")
			var p api.Problem
			_ = json.Unmarshal(w.Body.Bytes(), &p)
			if got := fmt.Sprint(w.Code, " ", p.Parameter); got != want {
				t.Errorf("%s: %s, want %s: %s", query, got, want, w.Body)
			}
		}
		if w := a.ask("GET", "/v1/past?rule=shed&key=a&at="+at(-time.Hour), ""); !strings.Contains(
			w.Body.String(), at(0)) {
			t.Errorf("the oldest time is not named: %s", w.Body)
		}
	})
}

// TestPastOff: without memory for it nothing is known of the past.
func TestPastOff(t *testing.T) {
	a := newNodeOf(gatetest.New(t, 1<<20, gatetest.Shed), admin.Options{Local: true})
	if w := a.ask("GET", "/v1/past?rule=shed&key=a", ""); w.Code != http.StatusNotFound ||
		!strings.Contains(w.Body.String(), "history.memory is 0") {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
}
