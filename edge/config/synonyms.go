package config

import "strings"

// synonym answers a name other rate limiters use: a sentence on the words to write here instead.
type synonym struct {
	Text string // follows `unknown field "…": `
	// fields the name stands for; the field then counts as given, so a slip is a single fault
	Means []string
}

// Sentences of several names.
var (
	useLimit = synonym{
		"write limit: the cost that one key may use in any window",
		[]string{"limit"},
	}
	useWindow = synonym{"write window: a duration such as 10s, 1m or 24h", []string{"window"}}
	useBlock  = synonym{"write action: block, with block_for: the time for which a key over its " +
		"limit stays blocked", []string{"block_for"}}
	useShadow = synonym{
		"write mode: shadow, which counts and reports but denies nothing",
		[]string{"mode"},
	}
	useMode  = synonym{"write mode: enforce, shadow or off", []string{"mode"}}
	useScope = synonym{"write scope: node, pop (all nodes that share ring.servers) or global " +
		"(all PoPs, by gossip)", []string{"scope"}}
	useFail = synonym{"write failure_mode: local, allow or deny", []string{"failure_mode"}}
	useName = synonym{"write name", []string{"name"}}

	useBurst = synonym{
		"write burst: the size of a token bucket, which refills at limit per window",
		[]string{"burst"},
	}
	noRate = synonym{"write a rate as limit and window: 100 requests per 10 seconds are limit: " +
		"100 and window: 10s", []string{"limit", "window"}}
	useDelay = synonym{"write delay: the longest time for which a request waits for the tokens " +
		"of a bucket", []string{"delay"}}
	noDelay = synonym{Text: "without delay no request waits: leave it out"}
	noAllow = synonym{Text: "write a policy, under policies, with match and skip: all; for one " +
		"key run headgate allow RULE KEY"}
	noDeny = synonym{Text: "write a policy, under policies, with match and deny: 403; for one " +
		"key run headgate block RULE KEY"}
	noMatch = synonym{Text: "a rule is asked for by its name and does not select requests; " +
		"write a policy, under policies, with match and limit"}
	noKey = synonym{Text: "a rule has no key of its own: whoever asks sends it, or a policy, " +
		"under policies, has key and limit"}
	noStatus = synonym{Text: "a policy has it, as on_deny: {status: 503}; a check over HTTP says " +
		"status="}
	useKind = synonym{"write kind: window, which slides, or bucket; a limit with burst is a " +
		"bucket", []string{"kind"}}
	isPolicy = synonym{Text: "it is a field of policies: write the limit there, with match"}
	noTTL    = synonym{Text: "a count ends with its window, a block after block_for: leave it out"}

	useRules = synonym{
		"list the limits under rules, each with name, limit and window",
		[]string{"rules"},
	}
	useListen = synonym{Text: "write the addresses under listen: udp, http and admin"}
	useRing   = synonym{Text: "list the memcached servers that the nodes of a PoP share under " +
		"ring.servers"}
	useJoin = synonym{Text: "list some nodes of the other PoPs under gossip.join, and set " +
		"gossip.bind"}
	useToken = synonym{
		"write the token to a file and name it in admin_token_file",
		[]string{"admin_token_file"},
	}
	usePoP = synonym{"write pop", []string{"pop"}}
	noLog  = synonym{Text: "logging is set on the command line: headgate serve --log-level " +
		"LEVEL --log-format FORMAT"}
	noMetrics = synonym{Text: "metrics are always served, at /metrics of listen.admin: leave it " +
		"out"}
	noTrust = synonym{Text: "write clients.trusted: the networks of proxies that send the " +
		"client's address in a header; where the proxy sends the key, set its trusted proxies " +
		"there"}
)

// ruleSynonyms are names other tools use for, or beside, the fields of a rule, in lower case with _
// for -. The names are those of nginx, Envoy, HAProxy, Traefik, Kong, Cloudflare and of Go's and
// Node's libraries: what people type who come from there.
var ruleSynonyms = map[string]synonym{
	"max_burst":           useBurst,
	"bucket":              useBurst,
	"capacity":            useBurst,
	"bucket_size":         useBurst,
	"tokens":              useBurst,
	"rate":                noRate,
	"rps":                 noRate,
	"qps":                 noRate,
	"average":             noRate,
	"requests_per_second": noRate,
	"requests_per_minute": noRate,
	"period":              useWindow,
	"interval":            useWindow,
	"per":                 useWindow,
	"duration":            useWindow,
	"unit":                useWindow,
	"seconds":             useWindow,
	"timeframe":           useWindow,
	"requests":            useLimit,
	"max":                 useLimit,
	"count":               useLimit,
	"quota":               useLimit,
	"threshold":           useLimit,
	"max_requests":        useLimit,
	"requests_per_unit":   useLimit,
	"events":              useLimit,
	"ban":                 useBlock,
	"ban_time":            useBlock,
	"bantime":             useBlock,
	"ban_for":             useBlock,
	"block":               useBlock,
	"block_time":          useBlock,
	"block_duration":      useBlock,
	"lockout":             useBlock,
	"penalty":             useBlock,
	"mitigation_timeout":  useBlock,
	"dry_run":             useShadow,
	"dryrun":              useShadow,
	"shadow":              useShadow,
	"shadow_mode":         useShadow,
	"log_only":            useShadow,
	"monitor":             useShadow,
	"simulate":            useShadow,
	"enabled":             useMode,
	"disabled":            useMode,
	"enforce":             useMode,
	"active":              useMode,
	"cluster":             useScope,
	"distributed":         useScope,
	"global":              useScope,
	"shared":              useScope,
	"sync":                useScope,
	"allow":               noAllow,
	"allowlist":           noAllow,
	"allow_list":          noAllow,
	"whitelist":           noAllow,
	"exempt":              noAllow,
	"exclude":             noAllow,
	"skip":                noAllow,
	"deny":                noDeny,
	"denylist":            noDeny,
	"deny_list":           noDeny,
	"blacklist":           noDeny,
	"blocklist":           noDeny,
	"path":                noMatch,
	"paths":               noMatch,
	"match":               noMatch,
	"route":               noMatch,
	"url":                 noMatch,
	"uri":                 noMatch,
	"host":                noMatch,
	"method":              noMatch,
	"location":            noMatch,
	"endpoint":            noMatch,
	"key":                 noKey,
	"keys":                noKey,
	"by":                  noKey,
	"key_by":              noKey,
	"group_by":            noKey,
	"track":               noKey,
	"selector":            noKey,
	"zone":                noKey,
	"client":              noKey,
	"descriptors":         noKey,
	"count_when":          isPolicy,
	"on_deny":             isPolicy,
	"tiers":               isPolicy,
	"tier":                isPolicy,
	"pool":                isPolicy,
	"cost":                isPolicy,
	"group":               isPolicy,
	"missing":             isPolicy,
	"ladder":              isPolicy,
	"siblings":            isPolicy,
	"rules":               isPolicy,
	"ttl":                 noTTL,
	"expire":              noTTL,
	"expires":             noTTL,
	"expiration":          noTTL,
	"nodelay":             noDelay,
	"queue":               useDelay,
	"wait":                useDelay,
	"max_delay":           useDelay,
	"status":              noStatus,
	"status_code":         noStatus,
	"response_code":       noStatus,
	"code":                noStatus,
	"algorithm":           useKind,
	"strategy":            useKind,
	"type":                useKind,
	"fail_open":           useFail,
	"fail_closed":         useFail,
	"failure":             useFail,
	"on_error":            useFail,
	"fallback":            useFail,
	"id":                  useName,
	"rule":                useName,
	"title":               useName,
}

// fileSynonyms are likewise names for, or beside, the fields of the file itself.
var fileSynonyms = map[string]synonym{
	"limits": useRules, "limit": useRules, "rate_limits": useRules, "ratelimits": useRules,
	"rate_limit": useRules, "descriptors": useRules, "zones": useRules,
	"limiters": useRules, "rule": useRules,
	"policy": {"list the policies under policies, each with name and match", []string{"policies"}},
	"port":   useListen, "bind": useListen, "address": useListen, "addr": useListen,
	"udp": useListen, "http": useListen, "admin": useListen, "server": useListen,
	"redis": useRing, "memcached": useRing, "memcache": useRing, "servers": useRing,
	"backend": useRing, "storage": useRing, "store": useRing,
	"cache": useRing, "cluster": useRing,
	"seeds": useJoin, "join": useJoin, "peers": useJoin, "members": useJoin,
	"token": useToken, "admin_token": useToken, "password": useToken,
	"auth": useToken, "secret": useToken,
	"datacenter": usePoP, "data_center": usePoP, "dc": usePoP, "region": usePoP,
	"site": usePoP, "location": usePoP,
	"hostname":   {"write node", []string{"node"}},
	"data_dir":   {"write state_dir", []string{"state_dir"}},
	"max_memory": {"write memory", []string{"memory"}},
	"log":        noLog, "logs": noLog, "log_level": noLog, "log_format": noLog, "logging": noLog,
	"metrics": noMetrics, "prometheus": noMetrics, "telemetry": noMetrics,
	"trusted_proxies": noTrust, "trusted": noTrust, "proxies": noTrust, "real_ip": noTrust,
}

// valueSynonyms are words other tools use for the values of a field, by the field's name, and the
// value here. A word may be a value there with less or more meaning here; the nearest is named, and
// the documentation says the rest.
var valueSynonyms = map[string]map[string]string{
	"mode": {
		"dry_run": "shadow", "dryrun": "shadow", "log": "shadow", "log_only": "shadow",
		"monitor": "shadow", "report": "shadow", "test": "shadow", "count": "shadow",
		"simulate": "shadow",
		"on":       "enforce", "true": "enforce", "enabled": "enforce", "active": "enforce",
		"block": "enforce", "deny": "enforce", "live": "enforce",
		"false": "off", "disabled": "off", "none": "off",
	},
	"action": {
		"ban": "block", "deny": "block", "drop": "block", "reject": "block", "jail": "block",
		"throttle": "shed", "limit": "shed", "rate_limit": "shed", "ratelimit": "shed",
	},
	"scope": {
		"local": "node", "host": "node", "instance": "node", "process": "node",
		"cluster": "pop", "ring": "pop", "shared": "pop", "datacenter": "pop", "dc": "pop",
		"region": "pop", "distributed": "pop",
		"world": "global", "worldwide": "global", "all": "global",
	},
	"fairness": {
		"pop": "pops", "sources": "pops", "equal": "pops", "even": "pops",
		"max-min": "pops", "ratio": "requests", "request": "requests",
	},
	"failure_mode": {
		"open": "allow", "fail_open": "allow", "closed": "deny", "close": "deny",
		"fail_closed": "deny", "node": "local",
	},
}

// plainName returns name as in the tables.
func plainName(name string) string { return strings.ReplaceAll(strings.ToLower(name), "-", "_") }

// synonymOf returns the answer to the unknown field name of the mapping at path. Within ring,
// gossip and listen there are none. The tables are looked at from the narrower to the wider, as
// "limit" at the top of the file is a rule without its list.
func synonymOf(path, name string) (synonym, bool) {
	tables := []map[string]synonym{ruleSynonyms}
	switch {
	case path == "":
		tables = []map[string]synonym{fileSynonyms, ruleSynonyms}
	case strings.HasPrefix(path, "policies[") && strings.HasSuffix(path, "]"):
		// a policy has the fields of a rule; the words about a rule alone are without Means
		s, ok := ruleSynonyms[plainName(name)]
		return s, ok && len(s.Means) > 0
	case !strings.HasPrefix(path, "rules["):
		return synonym{}, false
	}
	for _, table := range tables {
		if s, ok := table[plainName(name)]; ok {
			return s, true
		}
	}
	return synonym{}, false
}

// synonymForValue returns `: write …` for a word of other tools for a value of the field at path,
// else "".
func synonymForValue(path, word string) string {
	field := path[strings.LastIndexByte(path, '.')+1:]
	if value := valueSynonyms[field][plainName(word)]; value != "" {
		return ": write " + value
	}
	return ""
}
