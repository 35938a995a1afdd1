package input_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/headgate-dev/headgate/edge/door/http/input"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
)

// FuzzChecks holds the reader of bodies to the standard library's: every body it accepts, that one
// accepts and reads alike.
func FuzzChecks(f *testing.F) {
	for _, seed := range []string{
		`rule=login`, `[]`, `{"rule":"login"`, `{"rule":"login","key":"a",}`,
		`{"rule":"login","key":"a"}{}`, "{\"rule\":\"login\",\"key\":\"\xff\"}",
		`{"rule":"login","key":"\ud800"}`, `{"rule":"login","key":"\x"}`, `{}`,
		`{"rule":"login","key":7}`, `{"rule":null,"key":"a"}`,
		`{"rule":"login","key":"a","key":"b"}`, `{"rule":"login","key":"a","cost":01}`,
		`{"rule":"login","key":"a","cost":1.0}`, `{"checks":{}}`, `{"checks":[]}`,
		`{"checks":[{"rule":"login","key":"a"}],"key":"a"}`,
		`{"checks":[{"rule":"login","key":"a"},{"rule":"login"}]}`,
		`{"checks":[{"rule":"login","key":"a"},7]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Add([]byte(`{"rule":"login","key":"\u00e9\ud83d\ude00\b\f\n\r\t\/\\\"","cost":1000000}`))
	f.Add([]byte(` { "checks" : [ {"key":"a" , "rule":"b"} , {"rule":"c","key":"d","cost":2} ] } `))
	f.Fuzz(func(t *testing.T, body []byte) {
		var want struct {
			oneCheck
			Checks []oneCheck
		}
		stdErr := json.Unmarshal(body, &want)
		checks, batch, p := input.Checks(bytes.Clone(body), nil)
		if p != nil {
			if !json.Valid([]byte(`"`+p.Detail+`"`)) || p.Parameter == "" {
				t.Errorf("problem %+v", p)
			}
			return
		}
		if stdErr != nil {
			t.Fatalf("taken, but: %v", stdErr)
		}
		list := []oneCheck{want.oneCheck}
		if batch {
			list = want.Checks
		}
		if len(checks) != len(list) {
			t.Fatalf("%d checks, want %d", len(checks), len(list))
		}
		for i, q := range checks {
			checkSame(t, q, list[i])
		}
	})
}

// oneCheck is a check as the standard library reads it.
type oneCheck struct {
	Rule, Key string
	Cost      json.Number
}

func checkSame(t *testing.T, q gate.Ask, want oneCheck) {
	t.Helper()
	cost, _ := new(big.Rat).SetString(cmp.Or(want.Cost.String(), "1"))
	got := big.NewRat(int64(q.Cost)*1_000_000+int64(q.Millionths), 1_000_000)
	// rounded up to a millionth
	over, millionth := new(big.Rat).Sub(got, cost), big.NewRat(1, 1_000_000)
	if string(q.Rule) != want.Rule || string(q.Key) != want.Key || over.Sign() < 0 ||
		over.Cmp(millionth) >= 0 {
		t.Errorf("%q %q %d, want %q %q %s", q.Rule, q.Key, q.Cost, want.Rule, want.Key, cost)
	}
	if len(q.Rule) == 0 || len(q.Key) == 0 || len(q.Key) > mitigation.MaxKey ||
		q.Cost > mitigation.MaxCost || !utf8.Valid(q.Key) {
		t.Errorf("out of range: %q %q %d", q.Rule, q.Key, q.Cost)
	}
}

// FuzzRequests holds the reader of whole requests to the standard library's: what it accepts, that
// one accepts, as objects of strings, numbers and objects of strings, each member once.
func FuzzRequests(f *testing.F) {
	for _, seed := range []string{
		`{"path":"/a","method":"GET","host":"h","client":"192.0.2.1","headers":{"x-a":"1","x-a":"2"}}`, `{"requests":[{"path":"/"},{"path":"/b","asn":3320}]}`,
		`{"requests":[]}`, `{"requests":[{}],"path":"/"}`, `{"requests":{}}`,
		`{"path":"/","path":"/"}`, `{"path":null}`, `{"path":1e3}`, `{"headers":"a"}`,
		`{"headers":{"a":1}}`,
		`{"status":401,"ticket":"0011223344556677","response_headers":{"etag":"\u00e9"}}`,
		`{"path":"\ud800"}`, `{`, `[]`, ``, `{"requests":[{"path":"/"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if !utf8.Valid(body) {
			return // the door says so before
		}
		var want map[string]json.RawMessage
		stdErr := json.Unmarshal(body, &want)
		all, batch, p := input.Requests(bytes.Clone(body))
		if p != nil {
			if p.Parameter == "" || p.Status == 0 {
				t.Errorf("problem %+v", p)
			}
			return
		}
		if stdErr != nil {
			t.Fatalf("taken, but: %v", stdErr)
		}
		list := []map[string]json.RawMessage{want}
		if batch {
			list = nil
			if err := json.Unmarshal(want["requests"], &list); err != nil {
				t.Fatal(err)
			}
		}
		if len(all) != len(list) || len(all) > input.MaxRequests {
			t.Fatalf("%d requests, want %d", len(all), len(list))
		}
		for i := range all {
			checkMembers(t, all[i], list[i])
		}
	})
}

// One request has a bound of members and headers, whichever come first: each name is compared with
// those before.
func TestMembersAreBounded(t *testing.T) {
	object := func(n int) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, `"m%d":1,`, i)
		}
		return strings.TrimSuffix(text.String(), ",")
	}
	headers := strings.ReplaceAll(object(1001), ":1", `:"1"`)
	for body, want := range map[string]string{
		"{" + object(1000) + "}":                                      "",
		"{" + object(1001) + "}":                                      "body",
		`{"path":"/","headers":{` + headers + "}}":                    "body",
		`{"requests":[{` + object(1000) + `},{` + object(900) + `}]}`: "",
	} {
		got := ""
		if _, _, p := input.Requests([]byte(body)); p != nil {
			got = p.Parameter
		}
		if got != want {
			t.Errorf("%.30s… of %d bytes: got %q, want %q", body, len(body), got, want)
		}
	}
}

// checkMembers compares the members of one request with those that the standard library reads.
func checkMembers(t *testing.T, got []input.Member, want map[string]json.RawMessage) {
	t.Helper()
	for _, m := range got {
		raw, ok := want[string(m.Name)]
		if !ok {
			t.Errorf("%q is not there", m.Name)
			continue
		}
		if m.Header != nil {
			var headers map[string]string
			if err := json.Unmarshal(raw, &headers); err != nil {
				t.Errorf("%s: %v", raw, err)
			} else if _, ok := headers[string(m.Header)]; !ok {
				t.Errorf("%q is no header of %s", m.Header, raw)
			}
			continue
		}
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		if text != string(m.Value) {
			t.Errorf("%q is %q, want %q", m.Name, m.Value, text)
		}
	}
}
