package admin

import (
	"maps"
	"net/http"
	"strconv"

	"github.com/headgate-dev/headgate/edge/api"
)

// Answers that are no view of package api.
type (
	problem   struct{}
	denial    struct{} // of a request, or a problem
	plainText string   // its type
)

// operation is what the table of routes does not say of a route.
type operation struct {
	id, tag     string
	servesAdmin bool
	required    []string // parameters
	parameters  map[string]parameter
	headers     []string
	body        object // nil: none
	bodiless    bool   // the body may be left out
	example     object
	answers     map[string]any // by status
	problems    []int
}

// parameter is a parameter of a query, a path or a header.
type parameter struct {
	text    string
	schema  object
	example any
}

func text(least, most int) object {
	return object{"type": "string", "minLength": least, "maxLength": most}
}

func whole(low, high int) object {
	return object{"type": "integer", "minimum": low, "maximum": high}
}

func word(words ...string) object { return object{"type": "string", "enum": words} }

func list(items object, most int) object {
	return object{"type": "array", "items": items, "minItems": 1, "maxItems": most}
}

// members is an object of the named properties.
func members(properties object, required ...string) object {
	is := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		is["required"] = required
	}
	return is
}

func answers(status int, is any) map[string]any { return map[string]any{strconv.Itoa(status): is} }

var ruleName = object{"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,64}$"}

// parameters are those that mean the same everywhere.
var parameters = map[string]parameter{
	"rule": {"The name of a rule.", ruleName, "per-ip"},
	"key":  {"The key, of any bytes.", text(0, 256), "192.0.2.7"},
	"shown": {
		"The key as the lists print it, in place of key, which is then empty.",
		text(1, 1024),
		"192.0.2.7",
	},
	"n":      {"The most rows of the answer.", whole(1, 1000), 10},
	"cursor": {"The cursor of the page before.", text(0, 1024), ""},
	"by":     {"Who asks, for the record.", text(0, 64), "ann"},
	"reason": {"Why, for the record.", text(0, 256), "a ticket"},
	"sort":   {"The order of the keys.", word(api.TopOrders[:]...), "offered"},
	"now":    {"1: look at the requests once more, at once.", word("0", "1"), "1"},
	"id":     {"The finding.", text(1, 64), "s-1"},
	"live":   {"1: the state of the node each second, too.", word("0", "1"), "0"},
	"range":  {"How far back.", word("15m", "1h", "6h"), "15m"},
	"force":  {"1: take sets that lost most of their entries.", word("0", "1"), "0"},
	"cost":   {"The cost, 1 to 1000000; decimals under a rule with a scale.", text(1, 20), "1"},
	"tier":   {"The tier of the request.", ruleName, "gold"},
	"status": {"The status of the response.", whole(-1, 999), 200},
	"path":   {"The path of the request, as it was sent.", text(0, 8192), "/login"},
	"method": {"The method of the request.", text(0, 64), "GET"},
	"host":   {"The host of the request.", text(0, 255), "www.example.com"},
	"client": {"The address of the client, from a trusted sender.", text(0, 64), "192.0.2.7"},
	"peer": {
		"The address of the client's proxy, from a trusted sender.",
		text(0, 64),
		"192.0.2.1",
	},
	"ticket": {
		"The ticket of the answer that this response is of.",
		object{"type": "string", "pattern": "^[0-9a-f]{16}$"},
		"0123456789abcdef",
	},
	"ms": {"How long the response took, in whole milliseconds.", whole(0, 1<<31-1), 12},
	"s": {
		"How long the response took, in seconds.",
		object{"type": "number", "minimum": 0},
		0.012,
	},
	"lease": {
		"The lease; without the parameter the key's oldest.",
		object{"type": "string", "pattern": "^[0-9a-f]{16}$"},
		"0123456789abcdef",
	},
	"delta": {
		"The correction, with its sign.",
		object{"type": "string", "pattern": "^[+-]?[0-9.]+$"},
		"-1",
	},
	"pool": {"The name of a pool.", ruleName, "workers"},
	"from": {
		"Who reports; without the parameter, the sender's address.",
		text(1, 64),
		"worker-1",
	},
	"utilisation": {
		"The share in use.", object{"type": "number", "minimum": 0, "maximum": 1}, 0.5,
	},
	"X-Original-URI":    {"The target of the request.", text(1, 8192), "/login"},
	"X-Original-Method": {"The method of the request.", text(1, 64), "GET"},
	"X-Forwarded-Uri":   {"The target of the request.", text(1, 8192), "/login"},
	"X-Forwarded-Method": {
		"The method of the request.", text(1, 64), "GET",
	},
	"X-Forwarded-Host": {"The host of the request.", text(1, 255), "www.example.com"},
}

// Problems that several operations have.
var (
	reads   = []int{400, 401, 403, 414}
	named   = []int{400, 401, 403, 404, 414}                // with a rule or a key
	lists   = []int{400, 401, 403, 404, 414, 503}           // two at a time
	changes = []int{400, 401, 403, 404, 413, 414, 415, 503} // with a body
	asked   = []int{400, 403, 404, 408, 413, 414, 415, 431, 500, 503}
	proxied = []int{400, 404, 408, 414, 431, 500, 503}
)

// decisionRoutes are the routes of listen.http.
func decisionRoutes() []endpoint {
	const plain = "?rule=&key=&cost=&tier=&status="
	return []endpoint{
		{"GET", "/v1/check", plain, "count a request and decide", nil},
		{"POST", "/v1/check", "", "count a request and decide, or a list of them", nil},
		{"GET", "/v1/peek", plain, "decide, and count nothing", nil},
		{"POST", "/v1/peek", "", "decide, and count nothing, or a list of them", nil},
		{"GET", "/v1/count", "?rule=&key=&cost=&tier=", "count, and decide nothing", nil},
		{"POST", "/v1/count", "", "count, and decide nothing, or a list of them", nil},
		{"GET", "/v1/auth/nginx", "", "decide by the policies, for auth_request of nginx", nil},
		{
			"GET",
			"/v1/auth/forward",
			"",
			"decide by the policies, for forward auth of Traefik and Caddy",
			nil,
		},
		{"GET", "/v1/auth/envoy/{path}", "", "decide by the policies, for ext_authz of Envoy", nil},
		{"POST", "/v1/ask", "", "decide about a request, or a list of them, by the policies", nil},
		{
			"GET",
			"/v1/report",
			"?status=&path=&ticket=&method=&host=&client=&peer=&ms=&s=&cost=",
			"count a response",
			nil,
		},
		{"POST", "/v1/report", "", "count a response", nil},
		{"GET", "/v1/acquire", "?rule=&key=&cost=&lease=&tier=", "take places", nil},
		{"POST", "/v1/acquire", "", "take places", nil},
		{"GET", "/v1/release", "?rule=&key=&lease=", "give places back", nil},
		{"POST", "/v1/release", "", "give places back", nil},
		{"GET", "/v1/renew", "?rule=&key=&lease=", "hold places for longer", nil},
		{"POST", "/v1/renew", "", "hold places for longer", nil},
		{"GET", "/v1/settle", "?rule=&key=&delta=", "correct the cost of what was admitted", nil},
		{"POST", "/v1/settle", "", "correct the cost of what was admitted", nil},
		{"GET", "/v1/load", "?pool=&utilisation=&from=", "say how busy a pool is", nil},
		{"POST", "/v1/load", "", "say how busy a pool is", nil},
	}
}

// operations returns the operations by method and path.
func operations() map[string]operation {
	all := adminOperations()
	for name, o := range changeOperations() {
		all[name] = o
	}
	for name, o := range all {
		o.servesAdmin = true
		all[name] = o
	}
	for name, o := range decisionOperations() {
		all[name] = o
	}
	return all
}

func adminOperations() map[string]operation {
	read := func(id string, v any, problems []int, required ...string) operation {
		return operation{
			id: id, tag: "inspect", answers: answers(200, v), problems: problems,
			required: required,
		}
	}
	health := func(o operation) operation { o.tag = "health"; return o }
	events := read(
		"followEvents",
		plainText("text/event-stream"),
		[]int{400, 401, 403, 414, 501, 503},
	)
	by := map[string]parameter{"by": {
		"A value of the part in shed_by: whether it is denied until the epoch ends.",
		text(0, 256), "",
	}}
	when := func(is string) parameter {
		return parameter{
			is,
			object{"type": "string", "format": "date-time"},
			"2026-11-25T14:03:00Z",
		}
	}
	past := read("showPast", api.PastView{}, lists, "rule", "key")
	past.parameters = map[string]parameter{
		"at": when("The step that holds this time."), "from": when("The first time of the steps."),
		"to": when("The last time of the steps: now, unless it is given."),
	}
	explain := read("explainKey", api.ExplainView{}, named, "rule", "key")
	explain.parameters = by
	leases := read("listLeases", api.LeasesView{}, named, "rule")
	ready := health(read("isReady", plainText("text/plain"), nil))
	ready.problems = []int{503}
	return map[string]operation{
		"GET /v1/mitigations": read("listMitigations", api.MitigationsView{}, lists),
		"GET /v1/limits":      read("listLimits", api.LimitsView{}, named),
		"GET /v1/top":         read("topKeys", api.TopsView{}, lists),
		"GET /v1/explain":     explain,
		"GET /v1/past":        past,
		"GET /v1/rules":       read("listRules", api.RulesView{}, reads),
		"GET /v1/policies":    read("listPolicies", api.PoliciesView{}, reads),
		"GET /v1/pools":       read("listPools", api.PoolsView{}, reads),
		"GET /v1/leases":      leases,
		"GET /v1/rls":         read("listDomains", api.RLSView{}, reads),
		"GET /v1/surge":       read("showSurge", api.SurgeView{}, []int{400, 401, 403, 414, 503}),
		"GET /v1/suggest":     read("suggestLimits", api.SuggestView{}, lists, "rule"),
		"GET /v1/cluster":     read("showCluster", api.ClusterView{}, reads),
		"GET /v1/events":      events,
		"GET /v1/history":     read("showHistory", api.HistoryView{}, lists),
		"GET /v1/config": read(
			"showConfig",
			api.ConfigView{},
			[]int{400, 401, 403, 414, 500, 501},
		),
		"GET /v1/health":       health(read("showHealth", api.HealthView{}, reads)),
		"GET /v1/version":      health(read("showVersion", api.VersionView{}, reads)),
		"GET /v1/openapi.json": health(read("showInterface", object{"type": "object"}, reads)),
		"GET /metrics": health(
			read("scrapeMetrics", plainText("text/plain"), []int{401, 403, 503}),
		),
		"GET /healthz": health(read("isAlive", plainText("text/plain"), nil)),
		"GET /readyz":  ready,
		"POST /v1/test-request": {
			id: "testRequest", tag: "inspect", answers: answers(200, api.TestView{}),
			problems: changes,
			body: members(object{
				"url": text(
					1,
					8192,
				), "method": text(0, 64), "host": text(0, 255), "path": text(0, 8192),
				"client": text(0, 64), "peer": text(0, 64),
				"status": object{"type": []string{"integer", "string"}},
				"headers": object{"anyOf": []object{
					{"type": "object", "additionalProperties": object{"type": "string"}},
					{
						"type":     "array",
						"items":    object{"type": "string"},
						"maxItems": maxTestHeaders,
					},
				}},
			}),
			example: object{"url": "https://www.example.com/login", "method": "POST"},
		},
		"POST /v1/who": {
			id: "findClient", tag: "inspect", answers: answers(200, api.WhoView{}),
			problems: []int{400, 401, 403, 413, 414, 415, 503},
			body:     client(object{"rule": ruleName}),
			example:  object{"client": "192.0.2.7"},
		},
	}
}

// client is the body that names a client, with more members.
func client(more object, required ...string) object {
	texts := object{"type": "object", "additionalProperties": object{"type": "string"}}
	for name, schema := range map[string]object{
		"key": text(1, 256), "client": text(0, 64), "method": text(0, 64), "path": text(0, 8192),
		"host": text(0, 255), "header": texts, "cookie": texts, "query": texts,
	} {
		more[name] = schema
	}
	return members(more, required...)
}

func changeOperations() map[string]operation {
	limit := object{
		"rule": ruleName, "key": text(1, 256), "shown": text(1, 1024),
		"limit": object{"type": []string{"string", "number"}},
		"burst": object{"type": []string{"string", "number"}},
		"ttl":   text(0, 32), "until": text(0, 64), "reason": text(0, 256), "by": text(0, 64),
	}
	set := map[string]any{"201": api.LimitView{}, "200": api.LimitsSetView{}}
	all := map[string]operation{
		"POST /v1/mitigations": {
			id: "setMitigation", problems: changes,
			answers: map[string]any{"201": api.MitigationView{}, "200": api.ChangedView{}},
			body: client(object{
				"rule": object{
					"type":        "string",
					"description": "A rule, or * for each rule of the client.",
				},
				"shown": text(1, 1024), "action": word("block", "allow"), "ttl": text(0, 32),
				"reason": text(0, 256), "by": text(0, 64),
			}, "rule", "action"),
			example: object{"rule": "per-ip", "key": "192.0.2.8", "action": "allow", "ttl": "1m"},
		},
		"DELETE /v1/mitigations": {
			id: "liftMitigation", problems: changes, required: []string{"rule", "key"},
			answers: map[string]any{"204": nil, "200": api.ChangedView{}},
			parameters: map[string]parameter{
				"rule": {"A rule, or * for each rule of the client.", text(1, 64), "per-ip"},
			},
		},
		"POST /v1/limits": {
			id: "setLimit", problems: append([]int{507}, changes...), answers: set,
			body: object{"anyOf": []object{
				members(limit, "rule", "limit"),
				members(
					object{"limits": list(members(limit, "rule", "limit"), maxBatch)},
					"limits",
				),
			}},
			example: object{"rule": "per-ip", "key": "192.0.2.9", "limit": "200", "ttl": "1m"},
		},
		"DELETE /v1/limits": {
			id: "unsetLimit", problems: named, required: []string{"rule", "key"},
			answers: answers(204, nil),
		},
		"POST /v1/surge/apply": {
			id: "applySurge", problems: append([]int{409}, changes...),
			answers: answers(200, api.SurgeAppliedView{}),
			body: members(object{
				"id": text(1, 64), "mode": word("", "shadow", "enforce"), "for": text(0, 16),
				"all": object{"type": "boolean"}, "by": text(0, 64),
			}, "id"),
			example: object{"id": "s-1", "mode": "shadow", "for": "30m"},
		},
		"DELETE /v1/surge/apply": {
			id: "undoSurge", problems: append([]int{409}, named...), required: []string{"id"},
			answers: answers(204, nil),
		},
		"PUT /v1/mode": {
			id: "setMode", problems: changes, answers: answers(204, nil),
			body: members(object{
				"mode": word("enforce", "shadow", "off"), "rule": ruleName, "policy": ruleName,
				"pool": ruleName, "by": text(0, 64), "reason": text(0, 256),
			}, "mode"),
			example: object{"mode": "enforce", "rule": "per-ip"},
		},
		"POST /v1/reload": {
			id: "reload", problems: []int{400, 401, 403, 413, 414, 415, 422, 501, 503},
			answers: answers(200, api.ReloadView{}), bodiless: true,
			body:    members(object{"by": text(0, 64), "reason": text(0, 256)}),
			example: object{"by": "ann", "reason": "a ticket"},
		},
	}
	for name, o := range all {
		o.tag = "change"
		all[name] = o
	}
	return all
}

func decisionOperations() map[string]operation {
	cost := object{"type": []string{"string", "number"}}
	one := object{"rule": ruleName, "key": text(1, 256), "cost": cost, "tier": ruleName}
	checks := object{"anyOf": []object{
		members(one, "rule", "key"),
		members(object{"checks": list(members(one, "rule", "key"), 1000)}, "checks"),
	}}
	request := object{}
	for _, name := range []string{
		"path", "method", "host", "client", "peer", "country", "asn", "ja3", "ja4", "tls", "scheme",
		"tier",
	} {
		request[name] = text(0, 8192)
	}
	request["headers"] = object{"type": "object", "additionalProperties": object{
		"type": []string{"string", "array"}, "items": object{"type": "string"},
	}}
	report := object{
		"ticket": parameters["ticket"].schema,
		"status": object{"type": []string{"integer", "string"}},
		"ms":     cost, "s": cost, "cost": cost, "response_headers": request["headers"],
	}
	for name, schema := range request {
		report[name] = schema
	}
	denied := map[string]any{
		"200": object{"anyOf": []any{ref("Decision"), ref("Decisions")}},
		"401": denial{}, "403": denial{}, "429": denial{}, "503": denial{},
	}
	wished := map[string]parameter{"status": {
		"The status of a denial.",
		object{"type": "integer", "enum": []int{401, 403, 429, 503}},
		429,
	}}
	seconds := map[string]parameter{"lease": {
		"A shorter lease than the rule's, in seconds.", whole(1, http.StatusTeapot*10), 60,
	}}
	// a policy chooses the status
	byPolicy := map[string]any{"200": denied["200"], "4XX": denial{}, "5XX": denial{}}
	byProxy := map[string]any{"200": nil, "4XX": denial{}, "5XX": denial{}}
	all := map[string]operation{}
	of, place := []string{"rule", "key"}, object{"rule": "per-ip", "key": "192.0.2.7"}
	act := func(name, tag string, answers map[string]any, required []string, body, example object) {
		o := operation{
			id: name, tag: tag, answers: answers, problems: asked, required: required,
		}
		switch name {
		case "check", "peek":
			o.parameters = wished
		case "acquire":
			o.parameters = seconds
		}
		all["GET /v1/"+name] = o
		o.id, o.body, o.example = name+"Posted", body, example
		all["POST /v1/"+name] = o
	}
	key := func(name string, schema object, required ...string) object {
		is := maps.Clone(one)
		delete(is, "cost")
		delete(is, "tier")
		is[name] = schema
		return members(is, append(of, required...)...)
	}
	texts := object{"type": []string{"integer", "string"}}
	places := maps.Clone(one)
	places["lease"] = texts
	act("check", "decide", denied, of, checks, place)
	act("peek", "decide", denied, of, checks, place)
	act("count", "report", answers(204, nil), of, checks, place)
	act("report", "report", answers(204, nil), []string{"status", "path"},
		members(report, "status"), object{"status": 200, "path": "/login"})
	act("acquire", "decide",
		map[string]any{"200": ref("Decision"), "429": denial{}, "503": denial{}}, of,
		members(places, of...), place)
	for _, name := range []string{"release", "renew"} {
		act(name, "report", answers(204, nil), of, key("lease", parameters["lease"].schema), place)
	}
	act("settle", "report", answers(204, nil), []string{"rule", "key", "delta"},
		key("delta", cost, "delta"), object{"rule": "per-ip", "key": "192.0.2.7", "delta": -1})
	act("load", "report", answers(204, nil), []string{"pool", "utilisation"}, members(object{
		"pool": ruleName, "utilisation": cost, "from": text(1, 64),
	}, "pool", "utilisation"), object{"pool": "workers", "utilisation": 0.5})
	all["POST /v1/ask"] = operation{
		id: "ask", tag: "decide", answers: byPolicy, problems: asked,
		body: object{"anyOf": []object{
			members(request, "path"),
			members(object{"requests": list(members(request, "path"), 100)}, "requests"),
		}},
		example: object{"path": "/login", "method": "POST", "client": "192.0.2.7"},
	}
	all["GET /v1/auth/nginx"] = operation{
		id: "askFromNginx", tag: "decide", answers: byProxy, problems: proxied,
		headers: []string{
			"X-Original-URI",
			"X-Original-Method",
		}, required: []string{"X-Original-URI"},
	}
	all["GET /v1/auth/forward"] = operation{
		id: "askFromForwardAuth", tag: "decide", answers: byProxy, problems: proxied,
		headers:  []string{"X-Forwarded-Uri", "X-Forwarded-Method", "X-Forwarded-Host"},
		required: []string{"X-Forwarded-Uri"},
	}
	all["GET /v1/auth/envoy/{path}"] = operation{
		id: "askFromEnvoy", tag: "decide", answers: byProxy, problems: proxied,
		parameters: map[string]parameter{
			"path": {"The path of the request.", text(0, 8192), "login"},
		},
	}
	return all
}

// describe names a status.
func describe(status string) string {
	switch status {
	case "4XX", "5XX":
		return "Denied, with the status of a policy, or a problem."
	}
	n, _ := strconv.Atoi(status)
	return http.StatusText(n) + "."
}

// whole returns the document.
func (d *document) whole() object {
	number := object{"type": "number", "minimum": 0}
	decision := object{
		"verdict": word("allow", "deny"), "rule": ruleName, "limit": number, "window": number,
		"burst": number, "unit": object{"type": "string"}, "remaining": number, "reset": number,
		"view": word("node", "pop", "global"), "shadow": word("deny"), "delay": number,
		"why": object{"type": "string"}, "retry_after": number, "ratio": number, "blast": number,
		"policy": object{"type": "string"}, "pool": object{"type": "string"},
		"ticket": object{"type": "string"}, "lease": object{"type": "string"},
		"deceive": object{"type": "boolean"}, "status": whole(400, 599),
	}
	d.components["Decision"] = members(decision, "verdict")
	d.components["Decisions"] = members(object{"results": object{
		"type": "array", "items": ref("Decision"),
	}}, "results")
	refused := object{
		"type": object{"type": "string"}, "title": object{"type": "string"},
		"violated-policies": object{"type": "array", "items": object{"type": "string"}},
	}
	for name, schema := range decision {
		refused[name] = schema
	}
	d.components["Denial"] = members(refused, "status")
	d.components["Problem"] = members(object{
		"type": object{"type": "string"}, "title": object{"type": "string"},
		"status": whole(400, 599), "detail": object{"type": "string"},
		"parameter": object{
			"type": "string", "description": "The part of the request that is wrong.",
		},
	}, "type", "title", "status", "detail")
	paths := object{}
	for path, item := range d.paths {
		paths[path] = item
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "headgate", "version": "v1",
			"description": "Decisions and inspection of headgate, a rate limiter of edges. " +
				"The paths for decisions are served at listen.http, all others at listen.admin.",
			"license": object{"name": "Apache 2.0", "identifier": "Apache-2.0"},
			"contact": object{
				"name": "headgate", "url": "https://github.com/headgate-dev/headgate",
			},
		},
		"servers": []object{{"url": "http://127.0.0.1:4292", "description": "admin"}},
		"tags": []object{
			{"name": "decide", "description": "May this request pass?"},
			{"name": "report", "description": "What happened afterwards."},
			{"name": "inspect", "description": "The state of the node."},
			{"name": "change", "description": "Changes by operators."},
			{"name": "health", "description": "The node itself."},
		},
		"security": anybody,
		"paths":    paths,
		"components": object{
			"schemas": d.components, "responses": d.problems,
			"securitySchemes": object{"token": object{
				"type": "http", "scheme": "bearer",
				"description": "The content of admin_token_file, needed where one is set.",
			}},
		},
	}
}
