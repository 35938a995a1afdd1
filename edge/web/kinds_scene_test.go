package web

import "time"

// kindRules are rules of every kind but window, with their totals.
func (s scene) kindRules() []object {
	if !s.kinds {
		return nil
	}
	rule := func(name, kind string, more object) object {
		v := object{
			"name": name, "kind": kind, "limit": 10, "window": 1, "scope": "node", "view": "node",
			"action": "shed", "block_for": 0, "mode": "enforce", "failure_mode": "local",
			"offered": 1200, "admitted": 1100, "denied": 100, "shadow_denied": 0, "suspects": 3,
			"flags": 0, "allowed": 0,
		}
		for name, value := range more {
			v[name] = value
		}
		return v
	}
	return []object{
		rule("api", "bucket", object{
			"burst":   20,
			"reserve": []object{{"tier": "critical", "share": 0.2}},
		}),
		rule("queue", "bucket", object{"burst": 1, "delay": 0.5}),
		rule("exports", "concurrency",
			object{
				"limit": 3, "window": 0, "lease": 120,
				"places": object{"taken": 5, "keys": 2, "leases": 5},
			}),
		rule("login-fails", "window",
			object{
				"limit": 3, "window": 60, "action": "block", "block_for": 600,
				"blocks": []int{600, 3600, 86400}, "forget_after": 86400, "counts": "offered",
			}),
		rule("partners", "window", object{
			"limit": 1000, "window": 60, "action": "block",
			"block_for": 600, "max_blast": 100, "retry_spread": 0.1,
		}),
		rule("per-host", "window", object{"limit": 10000, "shed_by": "client", "epoch": 10}),
		rule("signin", "window", object{"limit": 5, "window": 60}),
	}
}

// poolViews are the pools at now.
func (s scene) poolViews(now time.Time) []object {
	if !s.kinds {
		return []object{}
	}
	return []object{
		{
			"name": "workers", "level": 1.3, "utilisation": 0.93, "sources": 3,
			"heard": now.Add(-800 * time.Millisecond), "reports": 4120, "dropped": 0,
			"shed_above": 0.85, "restore_below": 0.7,
			"tiers": []object{
				{"tier": "test", "ratio": 1},
				{"tier": worst, "ratio": 0.3},
				{"tier": "normal", "ratio": 0},
			},
		},
		{
			"name": "db", "level": 0, "utilisation": 0.41, "sources": 1,
			"heard": now.Add(-2 * time.Second), "reports": 31, "dropped": 0, "shed_above": 0.85,
			"restore_below": 0.7,
			"tiers": []object{
				{"tier": "batch", "ratio": 0},
				{"tier": "normal", "ratio": 0},
			},
		},
		{
			"name": "queue", "level": 0, "utilisation": 0, "sources": 0, "heard": nil, "reports": 0,
			"dropped": 0, "shed_above": 0.85, "restore_below": 0.7,
			"tiers": []object{{"tier": "normal", "ratio": 0}},
		},
	}
}

// kindTop are keys under the rules of kindRules.
func (s scene) kindTop(now time.Time) []object {
	if !s.kinds {
		return nil
	}
	return []object{
		{
			"rule": "api", "kind": "bucket", "key": "tenant-12", "offered": 3100.0,
			"admitted": 20.0,
			"limit":    20, "share": 155.0, "state": "shed",
			"full_at": now.Add(1900 * time.Millisecond),
		},
		{
			"rule": "exports", "kind": "concurrency", "key": worst, "offered": 3.0, "admitted": 3.0,
			"limit": 3, "share": 1.0, "state": "full", "oldest": now.Add(-95 * time.Second),
		},
		{
			"rule": "partners", "kind": "window", "key": "app-key-1", "offered": 2100.0,
			"admitted": 1000.0, "limit": 1000, "share": 2.1, "state": "shed",
		},
		{
			"rule": "signin", "kind": "window", "key": "203.0.113.7", "offered": 4.0,
			"admitted": 4.0,
			"limit":    5, "share": 0.8, "state": "ok",
		},
		{
			"rule": "exports", "kind": "concurrency", "key": "key-that-is-longer-than-33-bytes-",
			"cut": true, "offered": 2.0, "admitted": 2.0, "limit": 3, "share": 2. / 3,
			"state": "ok", "oldest": now.Add(-5 * time.Second),
		},
	}
}

// explainKind adds to v the state of a key under one of kindRules.
func (s scene) explainKind(v object, rule string, now time.Time) {
	if !s.kinds {
		return
	}
	switch rule {
	case "api":
		v["kind"], v["limit"], v["window"], v["verdict"], v["why"], v["remaining"] = "bucket", 10,
			1, "deny", "limit", 0
		v["suspect"], v["suspect_since"], v["admitted"] = true, now.Add(-time.Minute), 20
		v["bucket"] = object{
			"burst": 20, "left": 0, "fill": 0.05,
			"full_at": now.Add(2400 * time.Millisecond), "debt": 4, "token": 0.1,
			"delay": 0.5, "wait": 0.4,
		}
		v["reserve"] = []object{
			{"tier": "critical", "most": 20, "left": 4},
			{"tier": "", "most": 16, "left": 0},
		}
	case "exports":
		v["kind"], v["limit"], v["window"], v["verdict"], v["why"], v["remaining"],
			v["sub_windows"] = "concurrency", 3, 0, "deny", "limit", 0, []object{}
		v["places"] = object{
			"taken": 3, "leases": 3, "oldest": now.Add(-95 * time.Second),
			"until": now.Add(25 * time.Second),
		}
		v["sentences"] = []string{
			"A request with this key would be denied now.",
			"It holds 3 of its 3 places by 3 leases; the oldest began 1m35s ago.",
		}
	case "login-fails":
		v["kind"], v["strikes"] = "window",
			object{"blocks": 2, "next": 86400, "forgotten_at": now.Add(25 * time.Hour)}
	case "partners":
		v["kind"], v["limit"], v["window"], v["blast"] = "window", 1000, 60,
			object{"clients": 140, "max": 100, "sheds": true}
		v["shed_by"] = object{"part": "client", "epoch": 10, "ends": now.Add(4 * time.Second)}
	case "signin":
		v["kind"], v["limit"], v["window"], v["verdict"], v["remaining"], v["flag"] = "window",
			5, 60, "allow", 1, nil
		v["ladder"] = []object{
			{
				"rule": "signin/24,56", "key": "203.0.113.0/24", "verdict": "deny", "why": "limit",
				"used": 20, "limit": 20, "siblings": object{"asked": 3, "needed": 3},
			},
			{
				"rule": "signin/16,48", "key": "203.0.0.0/16", "verdict": "allow", "used": 21,
				"limit": 80, "siblings": object{"asked": 1, "needed": 3},
			},
		}
		v["sentences"] = []string{
			"A request with this key would be allowed now.",
			"Whatever its own count, a request of it is denied: its network 203.0.113.0/24 is " +
				"over its limit under signin/24,56 (20 of 20 used, at least 3 narrower keys asked).",
		}
	}
}

// kindMitigations are mitigations under kindRules: blocks in a row, and one that sheds because it
// would deny many.
func (s scene) kindMitigations(now time.Time) []object {
	if !s.kinds {
		return nil
	}
	of := func(f sceneFlag, name string, n int) object {
		v := f.at(now)
		v[name] = n
		return v
	}
	return []object{
		of(sceneFlag{"login-fails", "203.0.113.7", "block", "self", "", 1, 40, 3, 50 * time.Minute},
			"strikes", 2),
		of(sceneFlag{
			"partners", "app-key-1", "shed", "self", "", 0.52, 2100, 1000,
			40 * time.Second,
		}, "blast", 140),
	}
}
