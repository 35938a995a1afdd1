package web

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// mitigations are those of s at now, as /v1/mitigations shows them.
func (s scene) mitigations(now time.Time) []object {
	list := []object{
		sceneFlag{
			"per-ip", "198.51.100.23", "allow", "manual:kim", "load test until noon", 0, 212,
			100, 29*24*time.Hour - time.Minute,
		}.at(now),
	}
	list = append(list, s.kindMitigations(now)...)
	if !s.attack {
		return list
	}
	first, second, sheds, times, tenant := worst, `admin\x00\x1b[2J\xe2\x80\xae`, 9, 1.0, 0.8364
	if s.name == "hero" { // keys as they mostly are, and figures that add up
		first, second, sheds, times, tenant = "203.0.113.91", "203.0.113.12", 5,
			11, 1-10_000./12_400
	}
	list = append(list,
		sceneFlag{"login", first, "block", "self", "", 1, 4100, 5, 9 * time.Minute}.at(now),
		sceneFlag{"login", "203.0.113.7", "block", "ring", "", 1, 2950, 5, 8 * time.Minute}.at(now),
		sceneFlag{"login", second, "block", "gossip:fra", "", 1, 4120, 5, 7 * time.Minute}.at(now),
		sceneFlag{
			"per-ip", "2001:db8:77:1::5a", "block", "manual:kim",
			"ticket 4711: scraping the price list", 1, 2150, 100,
			58*time.Minute + 12*time.Second,
		}.at(now),
		sceneFlag{
			"api-key", "tenant-7f3a9b", "shed", "gossip:lhr", "", tenant, 12_400, 10_000,
			12 * time.Second,
		}.at(now))
	for n := range sheds {
		over := times * 100 * math.Pow(1.9, float64(9-n)/1.2)
		list = append(list, sceneFlag{
			"per-ip", fmt.Sprintf("203.0.113.%d", 40+n*3), "shed", "self",
			"", 1 - 100/over, over, 100, time.Duration(4+n) * time.Second,
		}.at(now))
	}
	list = append(list, shadowed(sceneFlag{
		"search", "curl/8.5.0 198.51.100.0/24", "shed", "self",
		"", 0.34, 45, 30, 8 * time.Second,
	}.at(now)))
	for n := range s.flags {
		list = append(list, sceneFlag{
			"per-ip", fmt.Sprintf("192.0.2.%d", n), "shed", "self", "",
			0.1 + 0.002*float64(n), 120 + float64(n), 100,
			time.Duration(20+n) * time.Second,
		}.at(now))
	}
	return list
}

// sceneFlag is one of them.
type sceneFlag struct {
	rule, key, action, source, reason string
	ratio, offered, limit             float64
	lasts                             time.Duration
}

// at shows f as of now. It was set a while ago.
func (f sceneFlag) at(now time.Time) object {
	over := 10.0
	for _, r := range (scene{}).ruleList() {
		if r.name == f.rule {
			over = r.window
		}
	}
	return object{
		"denied_rate": f.offered * f.ratio / over,
		"rule":        f.rule, "key": f.key, "action": f.action, "ratio": f.ratio,
		"mode": "enforce", "view": "pop", "source": f.source, "reason": f.reason,
		"since": now.Add(-3 * time.Minute), "expires": now.Add(f.lasts),
		"offered": math.Round(f.offered), "limit": f.limit,
	}
}

func shadowed(f object) object {
	f["mode"] = "shadow"
	return f
}

// top are the heaviest keys.
func (s scene) top(now time.Time) []object {
	list := []object{}
	for _, f := range s.mitigations(now) {
		offered, limit := f["offered"].(float64), f["limit"].(float64)
		admitted := map[string]float64{"block": 0, "allow": offered}[f["action"].(string)]
		if f["action"] == "shed" {
			admitted = limit
		}
		list = append(list, object{
			"rule": f["rule"], "key": f["key"], "offered": offered,
			"admitted": admitted, "limit": limit, "share": offered / limit, "state": f["action"],
		})
	}
	for n := range 6 {
		offered := 92 - 11*float64(n)
		if s.empty {
			break
		}
		list = append(list, object{
			"rule": "per-ip", "key": fmt.Sprintf("198.51.100.%d", 120+n),
			"offered": offered, "admitted": offered, "limit": 100,
			"share": offered / 100, "state": "ok",
		})
	}
	if s.kinds {
		return append(s.kindTop(now), list[:4]...)
	}
	slices.SortStableFunc(list, func(a, b object) int {
		return -cmp.Compare(a["offered"].(float64), b["offered"].(float64))
	})
	return list[:min(20, len(list))]
}

// explain is what /v1/explain answers.
func (s scene) explain(rule, key string, now time.Time) object {
	v := object{
		"rule": rule, "key": key, "now": now, "verdict": "allow", "view": "pop", "mode": "enforce",
		"scope": "pop", "failure_mode": "local",
		"limit": 100, "window": 10, "remaining": 97, "reset": 4, "estimate": 3, "error_bound": 2.2,
		"confidence": 0.982, "noise_floor": 0,
		"promote_at": 50, "suspect": false, "admitted": 0, "offered": 3,
		"sub_windows": subWindows(now, 0, 0, 1, 0, 2, 0),
		"lifted_by":   "nothing to lift: 97 of 100 left",
		"sentences": []string{"A request of this key would be allowed: 97 of 100 are left in " +
			"its 10 s.", "It is counted by estimate only, which never denies a request."},
	}
	for _, f := range s.mitigations(now) {
		if f["rule"] != rule || f["key"] != key {
			continue
		}
		v["flag"], v["limit"], v["offered"], v["estimate"] = f, f["limit"],
			f["offered"], f["offered"]
		v["suspect"], v["suspect_since"], v["admitted"] = true, now.Add(-4*time.Minute), f["limit"]
		v["sub_windows"] = subWindows(now, 420, 410, 433, 428, 401, 122)
		if f["action"] != "allow" {
			v["verdict"], v["why"], v["remaining"] = "deny", f["action"], 0
			v["sentences"] = []string{
				"A request of this key would be denied: it offered more than its limit, counted " +
					"exactly.",
				"It passes again when the mitigation ends, or is lifted by hand: `headgate unblock " + rule + " …`.",
			}
		}
	}
	if rule == "api-key" {
		v["scope"], v["view"], v["limit"], v["window"] = "global", "global", 10_000, 1
		v["global"] = object{
			"age_seconds": 0.08, "offered_rate": 55_698, "limit_rate": 9990, "shed": true,
			"ratio": 0.6899, "share_rate": 3846, "pop_rate": 12_400,
			"owner": "lhr-1", "standby": "fra-1", "reporter": "lhr-1",
			"pops": []object{
				{
					"pop": "fra", "offered_rate": 41_000, "share_rate": 3846, "ratio": 0.9062,
					"age_seconds": 0.2,
				},
				{
					"pop": "lhr", "offered_rate": 12_400, "share_rate": 3846, "ratio": 0.6899,
					"age_seconds": 0.1,
				},
				{
					"pop": "nyc", "offered_rate": 2298, "share_rate": 3330, "ratio": 0,
					"age_seconds": 0.3,
				},
			},
		}
	}
	s.explainKind(v, rule, now)
	return v
}

func subWindows(now time.Time, counts ...int) (all []object) {
	for n, count := range counts {
		all = append(all, object{
			"start":    now.Add(time.Duration(n-len(counts)) * 2 * time.Second),
			"estimate": count,
		})
	}
	return all
}
