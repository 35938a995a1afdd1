package admin_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
)

// A request to set a flag, and members that make it complete.
const setPath, setMembers = "/v1/mitigations", `"rule":"shed","key":"a","action":"block"`

// The same of limits by hand.
const limits, limitMembers = "/v1/limits", `"rule":"shed","key":"a","limit":3,"ttl":"1h"`

var adminBadInput = []struct {
	name, method, target, body string
	status                     int
	parameter                  string
}{
	{"n nought", "GET", "/v1/top?n=0", "", 400, "n"},
	{"n large", "GET", "/v1/mitigations?n=1001", "", 400, "n"},
	{"n empty", "GET", "/v1/mitigations?n=", "", 400, "n"},
	{"unknown parameter", "GET", "/v1/top?key=a", "", 400, "key"},
	{"twice", "GET", "/v1/top?n=3&n=4", "", 400, "n"},
	{"leases both", "GET", "/v1/leases?rule=shed&shown=a&key=a", "", 400, "shown"},
	{"percent", "GET", "/v1/top?rule=%zz", "", 400, "query"},
	{"semicolon", "GET", "/v1/top?n=1;rule=shed", "", 400, "query"},
	{"long", "GET", "/v1/top?rule=" + strings.Repeat("r", 5000), "", 414, "query"},
	{"cursor", "GET", "/v1/mitigations?cursor=!", "", 400, "cursor"},
	{"cursor without key", "GET", "/v1/mitigations?cursor=c2hlZA", "", 400, "cursor"},
	{"rule", "GET", "/v1/mitigations?rule=nobody", "", 404, "rule"},
	{"rule empty", "GET", "/v1/top?rule=", "", 404, "rule"},
	{"explain without rule", "GET", "/v1/explain?key=a", "", 400, "rule"},
	{"explain without key", "GET", "/v1/explain?rule=shed", "", 400, "key"},
	{
		"explain long key", "GET", "/v1/explain?rule=shed&key=" + strings.Repeat("k", 257), "", 400,
		"key",
	},
	{"explain by a part", "GET", "/v1/explain?rule=shed&key=a&by=b", "", 400, "by"},
	{"explain shown", "GET", `/v1/explain?rule=shed&shown=%5Cx0`, "", 400, "shown"},
	{"explain both", "GET", `/v1/explain?rule=shed&shown=a&key=a`, "", 400, "shown"},
	{
		"explain long shown", "GET", `/v1/explain?rule=shed&shown=` + strings.Repeat("k", 257), "",
		400, "shown",
	},
	{"lift none", "DELETE", setPath + "?rule=shed&key=a", "", 404, "key"},
	{"lift without key", "DELETE", setPath + "?rule=shed", "", 400, "key"},
	{"lift rule", "DELETE", setPath + "?rule=nobody&key=a", "", 404, "rule"},
	{"limit without end", "POST", limits, `{"rule":"shed","key":"a","limit":3}`, 400, "ttl"},
	{
		"limit with two ends", "POST", limits, "{" + limitMembers + `,"until":"2099-01-01"}`, 400,
		"ttl",
	},
	{
		"limit past", "POST", limits, `{"rule":"shed","key":"a","limit":3,"until":"2001-01-01"}`,
		400, "ttl",
	},
	{"limit far", "POST", limits, `{"rule":"shed","key":"a","limit":3,"ttl":"367d"}`, 400, "ttl"},
	{"limit day", "POST", limits, `{"rule":"shed","key":"a","limit":3,"until":"x"}`, 400, "until"},
	{"limit 0", "POST", limits, `{"rule":"shed","key":"a","limit":0,"ttl":"1h"}`, 400, "limit"},
	{"limit 1.5", "POST", limits, `{"rule":"shed","key":"a","limit":1.5,"ttl":"1h"}`, 400, "limit"},
	{
		"limit large", "POST", limits, `{"rule":"shed","key":"a","limit":"1000000001","ttl":"1h"}`,
		400, "limit",
	},
	{"limit burst", "POST", limits, "{" + limitMembers + `,"burst":4}`, 400, "burst"},
	{"limit key", "POST", limits, `{"rule":"shed","limit":3,"ttl":"1h"}`, 400, "key"},
	{"limit rule", "POST", limits, `{"rule":"none","key":"a","limit":3,"ttl":"1h"}`, 404, "rule"},
	{"limit no rule", "POST", limits, `{"key":"a","limit":3,"ttl":"1h"}`, 400, "rule"},
	{"limit member", "POST", limits, "{" + limitMembers + `,"window":"1m"}`, 400, "window"},
	{"limit twice", "POST", limits, "{" + limitMembers + `,"limit":4}`, 400, "limit"},
	{"limit by", "POST", limits, "{" + limitMembers + `,"by":"\n"}`, 400, "by"},
	{"limits none", "POST", limits, `{"limits":[]}`, 400, "limits"},
	{"limits no list", "POST", limits, `{"limits":{}}`, 400, "limits"},
	{"limits beside", "POST", limits, "{" + limitMembers + `,"limits":[]}`, 400, "limits"},
	{"limits comma", "POST", limits, `{"limits":[{` + limitMembers + `},]}`, 400, "body"},
	{"limits cut", "POST", limits, `{"limits":[{` + limitMembers + `}`, 400, "body"},
	{
		"limits second", "POST", limits, `{"limits":[{` + limitMembers + `},{"rule":"shed"}]}`,
		400, "key",
	},
	{"limits many", "POST", limits, `{"limits":[` + strings.Repeat("{"+limitMembers+"},", 2000) +
		"{" + limitMembers + "}]}", 400, "limits"},
	{
		"limits large", "POST", limits, "{" + limitMembers + strings.Repeat(" ", 1<<20) + "}", 413,
		"body",
	},
	{"limits cursor", "GET", limits + "?cursor=!", "", 400, "cursor"},
	{"unset none", "DELETE", limits + "?rule=shed&key=a", "", 404, "key"},
	{"unset without key", "DELETE", limits + "?rule=shed", "", 400, "key"},
	{"no body", "POST", setPath, "", 415, "Content-Type"},
	{"query", "POST", setPath + "?rule=shed", "{" + setMembers + "}", 400, "rule"},
	{"no JSON", "POST", setPath, "rule=shed", 400, "body"},
	{"a list", "POST", setPath, "[{" + setMembers + "}]", 400, "body"},
	{"two", "POST", setPath, "{" + setMembers + "}{}", 400, "body"},
	{"cut", "POST", setPath, "{" + setMembers, 400, "body"},
	{"UTF-8", "POST", setPath, "{" + setMembers + `,"by":"` + "\xff" + `"}`, 400, "body"},
	{"large", "POST", setPath, "{" + setMembers + strings.Repeat(" ", 64<<10) + "}", 413, "body"},
	{"unknown member", "POST", setPath, "{" + setMembers + `,"until":"x"}`, 400, "until"},
	{"another case", "POST", setPath, "{" + setMembers + `,"TTL":"1s"}`, 400, "TTL"},
	{"member twice", "POST", setPath, "{" + setMembers + `,"key":"b"}`, 400, "key"},
	{"not text", "POST", setPath, "{" + setMembers + `,"ttl":3600}`, 400, "ttl"},
	{"no rule", "POST", setPath, `{"key":"a","action":"block"}`, 404, "rule"},
	{"no key", "POST", setPath, `{"rule":"shed","action":"block"}`, 400, "key"},
	{"empty key", "POST", setPath, `{"rule":"shed","key":"","action":"block"}`, 400, "key"},
	{
		"long key", "POST", setPath,
		`{"rule":"shed","key":"` + strings.Repeat("k", 257) + `","action":"block"}`, 400, "key",
	},
	{"no action", "POST", setPath, `{"rule":"shed","key":"a"}`, 400, "action"},
	{"shed", "POST", setPath, `{"rule":"shed","key":"a","action":"shed"}`, 400, "action"},
	{"ttl short", "POST", setPath, "{" + setMembers + `,"ttl":"999ms"}`, 400, "ttl"},
	{"ttl long", "POST", setPath, "{" + setMembers + `,"ttl":"720h1s"}`, 400, "ttl"},
	{"ttl unit", "POST", setPath, "{" + setMembers + `,"ttl":"60"}`, 400, "ttl"},
	{
		"reason long", "POST", setPath,
		"{" + setMembers + `,"reason":"` + strings.Repeat("r", 257) + `"}`, 400, "reason",
	},
	{"reason lines", "POST", setPath, "{" + setMembers + `,"reason":"a\nb"}`, 400, "reason"},
	{
		"reason turned around", "POST", setPath, "{" + setMembers + `,"reason":"\u202e"}`, 400,
		"reason",
	},
	{
		"by long", "POST", setPath, "{" + setMembers + `,"by":"` + strings.Repeat("r", 65) + `"}`,
		400, "by",
	},
	{"by control", "POST", setPath, "{" + setMembers + `,"by":"\u001b[2J"}`, 400, "by"},
	{"mode", "PUT", "/v1/mode", `{"mode":"on"}`, 400, "mode"},
	{"mode empty", "PUT", "/v1/mode", `{}`, 400, "mode"},
	{"config", "GET", "/v1/config", "", 501, ""},
	{"config of", "GET", "/v1/config?rule=shed", "", 400, "rule"},
	{"mode rule", "PUT", "/v1/mode", `{"mode":"off","rule":"nobody"}`, 404, "rule"},
	{"reload with", "POST", "/v1/reload", `{"file":"/etc/passwd"}`, 400, "file"},
	{"reload faults", "POST", "/v1/reload", "", 422, ""},
	{"not ready", "GET", "/readyz", "", 503, ""},
}

// TestAdminBadInput checks the status and the parameter named for a bad request, and that nothing
// changes for it.
func TestAdminBadInput(t *testing.T) {
	t.Parallel()
	a := newNode(t, admin.Options{
		Local: true,
		Reload: func(bool) (v api.ReloadView, err error) {
			return v, errors.New("two faults\non two lines")
		},
	})
	for _, tt := range adminBadInput {
		t.Run(tt.name, func(t *testing.T) {
			checkProblem(t, a.ask(tt.method, tt.target, tt.body), tt.status, tt.parameter)
			if n := len(flagsOf(a.gate)); n != 0 {
				t.Errorf("%d flags", n)
			}
		})
	}
}
