package web

import (
	"fmt"
	"math"
	"time"
)

// object is a JSON object.
type object = map[string]any

// scene is how a node stands that the page is shown.
type scene struct {
	name     string
	attack   bool
	degraded []string
	alone    bool // neither ring nor gossip
	empty    bool // no traffic
	fresh    bool // nothing has asked since start
	ringLost bool // and nothing else
	errors   bool // operations of the ring fail now and then
	well     bool // every member is alive, though there is an attack
	flags    int  // more mitigations than those that the attack causes
	rules    int  // more rules
	policies bool // requests are shown whole
	kinds    bool // there are rules of every kind, and pools
}

var scenes = map[string]scene{
	"idle":   {name: "idle"},
	"attack": {name: "attack", attack: true},
	"degraded": {name: "degraded", attack: true, degraded: []string{"ring lost", "no other node " +
		"answers gossip", "the last reload failed, the old rules stay in force"}},
	"ringlost": {
		name: "ringlost", attack: true, well: true, ringLost: true,
		degraded: []string{"ring lost"},
	},
	"errors":   {name: "errors", well: true, errors: true},
	"alone":    {name: "alone", alone: true, empty: true, fresh: true},
	"quiet":    {name: "quiet", empty: true},
	"hero":     {name: "hero", attack: true, well: true},
	"policies": {name: "policies", attack: true, well: true, policies: true},
	"kinds":    {name: "kinds", attack: true, well: true, policies: true, kinds: true},
	"many":     {name: "many", attack: true, flags: 340, rules: 40},
}

// worst is what a stranger may choose as a key, as it is shown.
const worst = `<script>alert(1)</script>`

type sceneRule struct {
	name          string
	limit, window float64
	scope, action string
	mode          string
	calm, surge   float64 // offered a second
	passes        float64 // of surge
}

func (s scene) ruleList() []sceneRule {
	list := []sceneRule{
		{"per-ip", 100, 10, "pop", "shed", "enforce", 1240, 38_600, 1420},
		{"login", 5, 60, "pop", "block", "enforce", 6.2, 410, 9},
		{"api-key", 10_000, 1, "global", "shed", "enforce", 8300, 4100, 1900},
		{"search", 30, 10, "node", "shed", "shadow", 96, 58, 58},
	}
	for n := range s.rules {
		list = append(list, sceneRule{
			fmt.Sprintf("tenant-%02d", n+1), 500, 10, "node", "shed",
			"enforce", 40 + float64(n*7%53), 0, 0,
		})
	}
	if len(s.degraded) > 1 {
		list[0].mode, list[1].mode = "off", "off"
	}
	return list
}

// noise is a number from -1 to 1 that looks like chance and is none.
func noise(seed, t float64) float64 {
	_, part := math.Modf(math.Sin(t*12.9898+seed*78.233) * 43758.5453)
	return part
}

// surge is how much of the attack there is at a moment, from 0 to 1: it begins 400 s before now.
func (s scene) surge(age float64) float64 {
	if !s.attack || age > 400 {
		return 0
	}
	return min(1, (400-age)/30) * (0.86 + 0.14*math.Sin(age/40))
}

// rates returns what r is asked, lets pass, refuses, and would refuse, a second.
func (s scene) rates(
	r *sceneRule, seed int, at, age float64,
) (offered, admitted, denied, shadow float64) {
	if s.empty {
		return 0, 0, 0, 0
	}
	up := s.surge(age)
	calm := r.calm * (1 + 0.1*math.Sin(at/70+float64(seed)) + 0.06*noise(float64(seed), at))
	more := up * r.surge * (1 + 0.05*noise(float64(seed)+3, at))
	offered = calm + more
	refused := more * (1 - r.passes/max(r.surge, 1))
	switch r.mode {
	case "shadow":
		return offered, offered - 0.34*more, 0, 0.34 * more
	case "off":
		return offered, offered, 0, 0
	}
	return offered, offered - refused, refused, 0
}

// historySteps are the steps of the ranges, in seconds.
var historySteps = map[string]int64{"15m": 5, "1h": 20, "6h": 120}

// history is what /v1/history answers at now.
func (s scene) history(now time.Time, over string) object {
	step := historySteps[over]
	end := now.Unix() / step * step
	var points []int64
	for at := end - 175*step; at <= end; at += step {
		points = append(points, at)
	}
	var rules []object
	for n, r := range s.ruleList() {
		series := map[string][]any{}
		for step, at := range points {
			offered, admitted, denied, shadow := s.rates(&r, n, float64(at), float64(now.Unix()-at))
			for name, v := range map[string]any{
				"offered": offered, "admitted": admitted,
				"denied": denied, "shadow_denied": shadow,
			} {
				if step >= 24 && step < 28 { // the node was restarted
					v = nil
				}
				series[name] = append(series[name], v)
			}
		}
		rules = append(rules, object{
			"name": r.name, "offered": series["offered"],
			"admitted": series["admitted"], "denied": series["denied"],
			"shadow_denied": series["shadow_denied"],
		})
	}
	return object{"range": over, "every": step, "points": points, "rules": rules}
}

// ruleViews are the rules with their totals, after it has gone on like this for that many seconds.
func (s scene) ruleViews(seconds float64) []object {
	views, flags := []object{}, map[string]int{}
	for _, m := range s.mitigations(time.Now()) {
		flags[m["rule"].(string)]++
	}
	for n, r := range s.ruleList() {
		offered, admitted, denied, shadow := s.rates(&r, n, 0, 0)
		views = append(views, object{
			"name": r.name, "limit": r.limit, "window": r.window, "scope": r.scope,
			"view": s.viewOf(&r), "action": r.action,
			"block_for": map[bool]int{true: 600}[r.action == "block"], "mode": r.mode,
			"failure_mode": "local", "fairness": map[bool]string{true: "pops"}[r.scope == "global"],
			"offered": math.Round(offered * seconds), "admitted": math.Round(admitted * seconds),
			"denied":        math.Round(denied * seconds),
			"shadow_denied": math.Round(shadow * seconds), "suspects": int(r.calm/40) +
				flags[r.name], "flags": flags[r.name],
			"allowed": map[bool]int{true: 1}[r.name == "per-ip"],
		})
	}
	return append(views, s.kindRules()...)
}

// policyViews are the policies at now.
func (s scene) policyViews(now time.Time) []object {
	if !s.policies {
		return []object{}
	}
	seen := now.Add(-95 * time.Second)
	return []object{
		{
			"name": "ours", "mode": "enforce", "does": "skip all", "rules": []string{}, "line": 6,
			"matched": 1200, "denied": 0, "shadow_denied": 0, "last_seen": seen,
		},
		{
			"name": "login", "mode": "enforce", "does": "ask login", "rules": []string{"login"},
			"key": "client", "line": 9, "matched": 25340, "denied": 812, "shadow_denied": 0,
			"last_seen": seen,
		},
		{
			"name": worst, "mode": "shadow", "does": "ask search", "rules": []string{"search"},
			"key": "header.x-api-key@tenants | client", "line": 15, "matched": 40, "denied": 0,
			"shadow_denied": 7, "last_seen": nil,
		},
	}
}

func (s scene) viewOf(r *sceneRule) string {
	if len(s.degraded) > 0 || s.alone {
		return "node"
	}
	return r.scope
}

// cluster is what /v1/cluster answers.
func (s scene) cluster(now time.Time, seconds float64) object {
	if s.alone {
		return object{"node": "edge-1", "pop": "local", "view": "node", "ring": nil, "gossip": nil}
	}
	lost, alone := len(s.degraded) > 0, len(s.degraded) > 1
	var servers []object
	for n := range 3 {
		age := 0.04 + 0.02*float64(n)
		errors, last := object{"timeout": 0, "refused": 0}, ""
		if s.errors && n == 1 {
			errors, last = object{"timeout": 200 + int(seconds*20)%1_000_000, "refused": 0},
				"read tcp 192.0.2.11:11211: i/o timeout"
		}
		if lost {
			age, errors, last = 74, object{"timeout": 12, "refused": 310},
				"dial tcp 192.0.2.1"+fmt.Sprint(n)+":11211: connection refused"
		}
		servers = append(servers, object{
			"address": fmt.Sprintf("192.0.2.1%d:11211", n), "weight": 1, "up": !lost, "lost": lost,
			"protocol":   "meta",
			"operations": 4_182_337 + n*1311 + int(seconds*4000), "errors": errors, "timeouts": 0,
			"breaker_opened":   0,
			"last_success_age": age, "last_error": last,
		})
	}
	var members []object
	for n, name := range []string{"lhr-1", "lhr-2", "fra-1", "fra-2", "nyc-1", "nyc-2"} {
		state, version := "alive", "v0.4.0"
		if s.dead(n) {
			state = "dead"
		}
		members = append(members, object{
			"name": name, "pop": name[:3], "address": fmt.Sprintf("198.51.100.%d:4293", 10+n),
			"state": state,
			"since": now.Add(-time.Duration(n*n+2) * 51 * time.Minute), "version": version,
			"wire": 3, "ring": "9f31c2aa",
			"rules": "77e0", "self": n == 0, "dashboard": fmt.Sprintf("http://198.51.100.%d:4292/", 10+n),
		})
	}
	return object{
		"node": "lhr-1", "pop": "lhr", "view": map[bool]string{
			true:  "node",
			false: "global",
		}[alone],
		"ring": object{
			"fingerprint": "9f31c2aa", "flush": 0.1, "nodes": map[bool]int{true: 1, false: 2}[lost],
			"clock":   object{"state": "agreed", "skew_seconds": 0, "offset_seconds": 0},
			"servers": servers,
			"flushes": int(seconds * 10), "last_flush_seconds": 0.0021, "failed": 0,
			"implausible": 0, "dropped_cost": map[bool]int{true: 18_200}[lost], "deferred": 0,
		},
		"gossip": object{
			"connected": !alone, "lost": false, "members": members,
			"pops": s.pops(),
			"bytes": object{
				"in":  48_200_000 + int(seconds*900),
				"out": 51_700_000 + int(seconds*900),
			}, "keys": object{"owned": 12},
			"lag": object{"count": 91, "mean": 0.021}, "join_error": "",
		},
	}
}

// dead reports whether the n-th member is dead.
func (s scene) dead(n int) bool {
	return len(s.degraded) > 1 && n > 0 || n == 3 && s.attack &&
		!s.well
}

// pops counts the members by PoP.
func (s scene) pops() (all []object) {
	for _, pop := range []struct {
		name  string
		first int
	}{{"fra", 2}, {"lhr", 0}, {"nyc", 4}} {
		dead := 0
		for n := range 2 {
			if s.dead(pop.first + n) {
				dead++
			}
		}
		all = append(all, object{"pop": pop.name, "alive": 2 - dead, "dead": dead, "left": 0})
	}
	return all
}

// doors are the decision listeners.
func (s scene) doors(seconds float64) []object {
	asked := int(seconds * 4000)
	if s.fresh {
		asked = 0
	}
	return []object{
		{
			"protocol": "udp", "addresses": []string{"127.0.0.1:4290"}, "asked": asked,
			"unknown_rule": 0,
		},
		{"protocol": "http", "addresses": []string{
			"127.0.0.1:4291",
			"unix:/run/headgate/http.sock",
		}, "asked": asked / 900, "unknown_rule": 0},
	}
}
