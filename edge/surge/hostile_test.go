//go:build !race

package surge_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/edge/surge"
)

// storm offers requests that share a field, among usual ones, and returns what is said.
func storm(t testing.TB, s surge.Settings, shared func(r *request.Request)) *surge.Report {
	t.Helper()
	chance := rand.New(rand.NewPCG(11, 12))
	w := surge.New([32]byte{2}, chance.Uint64)
	now := began.UnixNano()
	s.Sample, s.Learn, s.MinRate = 200, time.Second, 1
	w.Set(s, now)
	var r request.Request
	for i := range 800 {
		v := visit{at: now, client: chance.Uint32(), method: "GET", path: fmt.Sprint("/", i%40)}
		v.browse(chance.Uint32(), i%10)
		v.fill(&r)
		if i < 400 { // a header of everybody, whose values differ
			r.AddHeader([]byte("X-Odd"), fmt.Append(nil, "usual ", i))
		} else {
			shared(&r)
		}
		if i == 400 { // some looks in which nothing is new
			for range 12 {
				now += int64(surge.Every)
				w.Look(now, false)
			}
		}
		w.Keep(&r, now, 0, false)
		if i == 300 {
			w.Look(now, false)
		}
	}
	w.LookAgain(now)
	return w.Report()
}

// FuzzValues: whatever bytes a header and a path share, the sentence is printable ASCII, and the
// policy loads and matches the very request.
func FuzzValues(f *testing.F) {
	for _, value := range []string{
		"plain", "~", "~^a", "@set", "a*", "*", "true", "false", "null", "1e3", "- a: b",
		"a: b # c",
		"\x00\x01", "\n- name: x\n", "\"quoted\" 'too'", "<script>alert(1)</script>", "\xff\xfe",
		strings.Repeat("y", 64<<10), strings.Repeat("é", 200), "a?b=secret", "{a}", "[b]", " ", "%",
		"\u202e\u2066", "10.1.2.3", "\\x41", "a\tb",
	} {
		f.Add(value, "/p")
		f.Add("v", "/"+value)
		f.Add("v", "/"+value+"/b/c")
	}
	f.Add("v", "/a/**")
	f.Add("v", "/a/./b//c/..")
	f.Add("v", "/%2e%2e/%2F/x%00y/z")
	f.Fuzz(func(t *testing.T, value, path string) {
		with := func(more string) func(r *request.Request) {
			return func(r *request.Request) {
				clients := request.DefaultClients()
				r.AddHeader([]byte("X-Odd"), []byte(value+more))
				r.SetTarget([]byte(path), &clients)
			}
		}
		fill := with("")
		r := storm(t, surge.Settings{}, fill)
		if len(r.Findings) == 0 {
			t.Error("nothing is found")
		}
		for i := range r.Findings {
			is := &r.Findings[i]
			said := is.Sentence()
			if !utf8.ValidString(said) || strings.ContainsFunc(said, func(c rune) bool {
				return c < ' ' || c > '~'
			}) {
				t.Errorf("%q", said)
			}
			if strings.Contains(said, "secret") {
				t.Errorf("a query is kept: %s", said)
			}
			e := enforced(t, &surge.Report{Findings: []surge.Finding{*is}})
			if e == nil {
				continue
			}
			check(t, e, fill, is, true)
			if slices.ContainsFunc(is.Conditions, func(c surge.Condition) bool {
				return c.Field == "header.x-odd" && c.Op == surge.Is
			}) {
				check(t, e, with("z"), is, false)
			}
		}
	})
}

// check judges a request of the storm by the policy of is.
func check(
	t *testing.T, e *policy.Engine, fill func(*request.Request), is *surge.Finding, want bool,
) {
	t.Helper()
	if !slices.ContainsFunc(is.Conditions, func(c surge.Condition) bool {
		return c.Field == "header.x-odd" || c.Field == "path"
	}) {
		return
	}
	var r request.Request
	var out policy.Result
	r.Reset(e.Names())
	v := visit{client: 0x20010203, method: "GET", path: "/"}
	v.read(&r)
	for i := range is.Conditions { // of the browser, whatever it says
		c := &is.Conditions[i]
		name, ofHeaders := strings.CutPrefix(c.Field, "header.")
		if ofHeaders && name != "x-odd" && c.Op < surge.Absent {
			r.AddHeader([]byte(name), []byte(c.Text))
		}
	}
	fill(&r)
	if e.Evaluate(&r, &out); (out.Verdict == policy.Deny) != want {
		t.Errorf("it matches: %v\n%s", !want, is.Policy("enforce", time.Now()))
	}
}

// TestNothingPersonalIsKept: values of secret headers, of those that policies hide, of addresses,
// and queries are in no text; a header with one is known to be there.
func TestNothingPersonalIsKept(t *testing.T) {
	for name, value := range map[string]string{
		"Authorization": "Bearer s3cr3t", "Proxy-Authorization": "s3cr3t", "Cookie": "s=s3cr3t",
		"X-Api-Key": "s3cr3t", "X-Auth": "s3cr3t", "My-Session": "s3cr3t", "Csrf-Token": "s3cr3t",
		"X-Secret-Thing": "s3cr3t", "X-Password": "s3cr3t", "X-Hidden": "s3cr3t",
		"X-Client-Address": "198.51.100.7", "X-Url": "https://a.example/?q=s3cr3t",
	} {
		r := storm(t, surge.Settings{
			Hidden: func(name []byte) bool { return string(name) == "x-hidden" },
		}, func(r *request.Request) { r.AddHeader([]byte(name), []byte(value)) })
		text := fmt.Sprintf("%+v", r.Findings)
		for i := range r.Findings {
			text += r.Findings[i].Sentence() + r.Findings[i].Policy("shadow", time.Now())
		}
		if strings.Contains(text, "s3cr3t") || strings.Contains(text, "198.51.100.7") {
			t.Errorf("%s: %s", name, text)
		}
		if name != "Cookie" && !strings.Contains(text, strings.ToLower(name)) {
			t.Errorf("%s is not named: %s", name, text)
		}
	}
}

// TestKept: what is kept over a restart knows usual traffic, has no text and no address, and is
// nothing under another key, another version or with a byte changed.
func TestKept(t *testing.T) {
	w, now := full(t)
	w.LookAgain(now)
	r := w.Report()
	data := w.Kept([]surge.Applied{{Finding: r.Findings[0], Mode: "shadow", By: "ann"}})
	if len(data) > surge.MaxKept {
		t.Errorf("%d bytes", len(data))
	}
	for _, text := range []string{"Mozilla", "Googlebot", "text/html", "www.example.com"} {
		if strings.Contains(string(data), text) {
			t.Errorf("%s is kept", text)
		}
	}
	next := surge.New([32]byte{1}, rand.Uint64)
	next.Set(surge.Settings{Sample: 200, Learn: time.Hour, MinRate: 5}, now)
	applied, err := next.Restore(data)
	if err != nil || len(applied) != 1 || applied[0].By != "ann" {
		t.Fatal(applied, err)
	}
	next.Look(now, false)
	if is := next.Report(); is.State != surge.Quiet || is.UsualRows != r.UsualRows ||
		is.Find(r.Findings[0].ID) == nil {
		t.Errorf("%+v", is)
	}
	if _, err := surge.New([32]byte{9}, rand.Uint64).Restore(data); err == nil {
		t.Error("taken under another key")
	}
	for at := 0; at < len(data); at += len(data)/50 + 1 {
		odd := slices.Clone(data)
		odd[at] ^= 0x55
		_, _ = surge.New([32]byte{1}, rand.Uint64).Restore(odd[:len(odd)-at/3]) // does not panic
	}
}

// TestFewNamesAddresses: a finding of few clients has their addresses, and another has none.
func TestFewNamesAddresses(t *testing.T) {
	a := netip.MustParseAddr("2001:db8::7")
	r := storm(t, surge.Settings{}, func(r *request.Request) { r.Client = a })
	if r.State != string(surge.Few) || !slices.Equal(r.Findings[0].Addresses, []netip.Addr{a}) {
		text, _ := json.Marshal(r)
		t.Errorf("%s", text)
	}
}
