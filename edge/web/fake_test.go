package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// fake is an admin listener that answers as the daemon does, of a scene.
type fake struct {
	*httptest.Server
	token string
	build string
	every time.Duration // of live events

	mu     sync.Mutex
	is     scene
	began  time.Time
	set    []object // by hand
	limits []object // likewise

	findings []object // of surges

	lifted  map[string]bool // by rule and key
	cut     chan struct{}   // closed: streams end
	refuses bool            // new streams
}

// policy is what the admin listener sends with every answer.
const policy = "default-src 'self'; frame-ancestors 'none'"

// startFake serves the page and a scene until the test ends.
func startFake(t testing.TB, name string) *fake {
	t.Helper()
	f := &fake{
		is: scenes[name], build: "0", every: 100 * time.Millisecond,
		began: time.Now().Add(-time.Hour), lifted: map[string]bool{}, cut: make(chan struct{}),
	}
	site, mux := New(testEndpoints), http.NewServeMux()
	mux.HandleFunc("GET /{$}", site.Page)
	mux.HandleFunc("GET /assets/", func(w http.ResponseWriter, r *http.Request) {
		if !site.Asset(w, r) {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	mux.HandleFunc("GET /v1/events", f.guard(f.events))
	mux.HandleFunc("GET /v1/history", f.guard(func(w http.ResponseWriter, r *http.Request) {
		answer(w, 200, f.scene().history(time.Now(), r.FormValue("range")))
	}))
	mux.HandleFunc("GET /v1/mitigations", f.guard(f.list))
	mux.HandleFunc("POST /v1/mitigations", f.guard(f.post))
	mux.HandleFunc("DELETE /v1/mitigations", f.guard(f.remove))
	mux.HandleFunc("/v1/limits", f.guard(f.limit))
	mux.HandleFunc("GET /v1/surge", f.guard(f.surge))
	mux.HandleFunc("/v1/surge/apply", f.guard(f.surge))
	mux.HandleFunc("GET /v1/top", f.guard(f.top))
	mux.HandleFunc("GET /v1/explain", f.guard(f.explain))
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		f.cutStreams(true)
		f.Close()
	})
	return f
}

// guard asks for the token, where there is one.
func (f *fake) guard(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if f.token != "" && r.Header.Get("Authorization") != "Bearer "+f.token {
			answer(w, http.StatusUnauthorized,
				object{
					"status": 401, "detail": "Authorization must be Bearer and the admin token",
					"parameter": "Authorization",
				})
			return
		}
		h(w, r)
	}
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (f *fake) scene() scene {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.is
}

// cutStreams ends all streams; refuse keeps new ones out.
func (f *fake) cutStreams(refuse bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.cut)
	f.cut, f.refuses = make(chan struct{}), refuse
}

func (f *fake) events(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	cut, refuses := f.cut, f.refuses
	f.mu.Unlock()
	if refuses {
		answer(w, http.StatusServiceUnavailable,
			object{"status": 503, "detail": "request finds 64 streams open already"})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(event string, v any) {
		data, _ := json.Marshal(v)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, data)
		w.(http.Flusher).Flush()
	}
	send("hello", object{"node": "lhr-1", "pop": "lhr", "version": f.version()})
	ticks := time.NewTicker(f.every)
	defer ticks.Stop()
	for {
		send("live", f.live(time.Now()))
		select {
		case <-ticks.C:
		case <-cut:
			return
		case <-r.Context().Done():
			return
		}
	}
}

func (f *fake) version() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return "v0.4." + f.build
}

// live is the event of every second.
func (f *fake) live(now time.Time) object {
	s, seconds := f.scene(), now.Sub(f.began).Seconds()
	flags := f.flags(now)
	counts := map[string]int{"total": len(flags)}
	for _, g := range flags {
		counts[g["action"].(string)]++
	}
	return object{
		"now": now, "started": f.began, "doors": s.doors(seconds),
		"degraded": append([]string{}, s.degraded...), "rules": s.ruleViews(seconds),
		"policies": s.policyViews(now),
		"pools":    s.poolViews(now), "tickets": map[bool]int{true: 7}[s.kinds],
		"flags": object{
			"total": counts["total"], "shed": counts["shed"],
			"block": counts["block"], "allow": counts["allow"],
		},
		"mitigations": flags[:min(100, len(flags))], "top": s.top(now), "viewers": 2,
		"cluster": s.cluster(now, seconds),
		"sketches": []object{
			{"window": 1, "error_bound": 0.4, "noise_floor": 0, "fill": 0.021, "saturated": false},
			{"window": 10, "error_bound": 2.2, "noise_floor": 1, "fill": 0.184, "saturated": false},
			{
				"window": 60, "error_bound": 11.5, "noise_floor": 4, "fill": 0.672,
				"saturated": s.attack && len(s.degraded) > 1,
			},
		},
	}
}

func idOf(f object) string { return fmt.Sprint(f["rule"], "\n", f["key"]) }

// flags are the scene's, without those that were lifted, and those set by hand; those that deny
// most come first.
func (f *fake) flags(now time.Time) []object {
	all := f.scene().mitigations(now)
	f.mu.Lock()
	defer f.mu.Unlock()
	all = slices.DeleteFunc(all, func(g object) bool { return f.lifted[idOf(g)] })
	all = append(slices.Clone(f.set), all...)
	slices.SortStableFunc(all, func(a, b object) int {
		return -cmp.Compare(a["denied_rate"].(float64),
			b["denied_rate"].(float64))
	})
	return all
}

func (f *fake) list(w http.ResponseWriter, r *http.Request) {
	flags, from := f.flags(time.Now()), 0
	_, _ = fmt.Sscan(r.FormValue("cursor"), &from)
	page := object{"total": len(flags)}
	if to := from + 150; to < len(flags) {
		page["mitigations"], page["next_cursor"] = flags[from:to], fmt.Sprint(to)
	} else {
		page["mitigations"] = flags[from:]
	}
	answer(w, http.StatusOK, page)
}

func (f *fake) post(w http.ResponseWriter, r *http.Request) {
	var m map[string]string
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil ||
		r.Header.Get("Content-Type") != "application/json" {
		answer(w, http.StatusBadRequest, object{"status": 400, "detail": "body is not JSON"})
		return
	}
	ttl, err := time.ParseDuration(m["ttl"])
	if err != nil || strings.HasPrefix(m["ttl"], "0") {
		answer(w, http.StatusBadRequest,
			object{
				"status": 400, "parameter": "ttl",
				"detail": "ttl must be a duration from 1s to 720h, such as 10m",
			})
		return
	}
	if m["rule"] == "*" {
		changed := []object{}
		left := []object{{"rule": "signin", "reason": "its keys are made of client"}}
		if m["key"] != "nobody" {
			changed = append(changed, object{"rule": "api", "key": "~68b5"})
		}
		answer(w, http.StatusOK, object{"changed": changed, "left": left})
		return
	}
	now := time.Now()
	g := sceneFlag{
		m["rule"], m["shown"] + m["key"], m["action"], "manual:" + m["by"], m["reason"],
		1, 0, 100, ttl,
	}.at(now)
	f.mu.Lock()
	f.set = append(f.set, g)
	delete(f.lifted, idOf(g))
	f.mu.Unlock()
	answer(w, http.StatusCreated, g)
}

func (f *fake) remove(w http.ResponseWriter, r *http.Request) {
	id := r.FormValue("rule") + "\n" + r.FormValue("shown") + r.FormValue("key")
	f.mu.Lock()
	defer f.mu.Unlock()
	f.set = slices.DeleteFunc(f.set, func(g object) bool { return idOf(g) == id })
	f.lifted[id] = true
	w.WriteHeader(http.StatusNoContent)
}

// limit lists the limits by hand, sets one, or takes all back.
func (f *fake) limit(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch r.Method {
	case http.MethodGet:
		answer(w, http.StatusOK, object{"limits": append([]object{}, f.limits...)})
	case http.MethodDelete:
		f.limits = nil
		w.WriteHeader(http.StatusNoContent)
	default:
		var m map[string]string
		_ = json.NewDecoder(r.Body).Decode(&m)
		limit, _ := strconv.ParseFloat(m["limit"], 64)
		set := object{
			"rule": m["rule"], "key": m["shown"] + m["key"], "limit": limit, "unit": "usd",
			"before": 10, "by": m["by"], "reason": m["reason"], "alone": true,
			"expires": time.Now().Add(3650 * time.Second), // 1h, though the answer be late
		}
		f.limits = append(f.limits, set)
		answer(w, http.StatusCreated, set)
	}
}

func (f *fake) top(w http.ResponseWriter, r *http.Request) {
	list := slices.DeleteFunc(f.scene().top(time.Now()),
		func(k object) bool { return k["rule"] != r.FormValue("rule") })
	answer(w, http.StatusOK, object{"top": list})
}

func (f *fake) explain(w http.ResponseWriter, r *http.Request) {
	v := f.scene().explain(r.FormValue("rule"), r.FormValue("shown")+r.FormValue("key"), time.Now())
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.limits {
		if l["key"] == v["key"] {
			v["limit"], v["unit"], v["limit_until"] = l["limit"], l["unit"], l["expires"]
			v["limit_source"] = "override:kim"
		}
	}
	answer(w, http.StatusOK, v)
}

// findings are those of a surge, as /v1/surge has them: one with text that looks like markup.
func findings(kind string) []object {
	f := object{
		"id": "3fa9c1", "kind": kind, "begun": time.Now(), "seen": time.Now(), "over": false,
		"signs": []string{}, "conditions": []object{}, "applied": nil,
		"sentence": `Since 14:03:10, GET /search/** with x-odd "<b>1</b>": 88 to 94 % of the ` +
			`excess (640 a second), at most 0.4 % of usual traffic; at least 812 clients in 790 ` +
			`networks; 100 % have x-odd "<b>1</b>", at most 0.1 % of usual traffic of that kind`,
	}
	if kind == "attack" {
		f["policy"] = "- name: surge-3fa9c1\n"
	}
	return []object{f}
}

// surge answers for findings, and applies and undoes their policy.
func (f *fake) surge(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch r.Method {
	case http.MethodGet:
		answer(w, http.StatusOK, object{"findings": append([]object{}, f.findings...)})
	case http.MethodDelete:
		f.findings[0]["applied"] = nil
		w.WriteHeader(http.StatusNoContent)
	default:
		var m map[string]string
		_ = json.NewDecoder(r.Body).Decode(&m)
		is := object{
			"mode": m["mode"], "until": time.Now().Add(30 * time.Minute), "by": "kim",
			"all": false, "matched": 31240, "denied": 31240,
		}
		f.findings[0]["applied"] = is
		answer(w, http.StatusOK, object{
			"name": "surge-" + m["id"], "mode": m["mode"],
			"until": is["until"],
		})
	}
}
