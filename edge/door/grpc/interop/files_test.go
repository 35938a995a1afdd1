package interop

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// withFiles returns the section rls of a configuration with files of testdata and more settings.
func withFiles(t *testing.T, names, more string) string {
	t.Helper()
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	return "rls: {files: ['" + filepath.Join(dir, names) + "'], " + more + "}\n"
}

// asked is a descriptor of keys and values.
func asked(pairs ...string) *common.RateLimitDescriptor {
	d := new(common.RateLimitDescriptor)
	for i := 0; i+1 < len(pairs); i += 2 {
		d.Entries = append(d.Entries,
			&common.RateLimitDescriptor_Entry{Key: pairs[i], Value: pairs[i+1]})
	}
	return d
}

// call asks for domain.
func call(
	t *testing.T, c rls.RateLimitServiceClient, hits uint32, domain string,
	all ...*common.RateLimitDescriptor,
) *rls.RateLimitResponse {
	t.Helper()
	r, err := c.ShouldRateLimit(timeout(t),
		&rls.RateLimitRequest{Domain: domain, Descriptors: all, HitsAddend: hits})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestMetadata: dynamic_metadata has the request and the metadata of the limits that it passed,
// where the configuration asks for them.
func TestMetadata(t *testing.T) {
	t.Parallel()
	small := asked("plan", "small")
	c := rls.NewRateLimitServiceClient(dial(t,
		start(t, withFiles(t, "rls-*.yaml", "dynamic_metadata: true")).String()))
	said := func(r *rls.RateLimitResponse) string {
		text, _ := json.Marshal(r.GetDynamicMetadata().AsMap())
		return r.GetOverallCode().String() + " " + string(text)
	}
	own := asked("plan", "large", "user", "anna")
	own.HitsAddend = wrapperspb.UInt64(3)
	const of = `"descriptors":[{"entries":["plan=small"]}],"domain":"shop"`
	for _, tt := range []struct{ got, want string }{
		{
			said(call(t, c, 0, "shop", small)),
			`OK {` + of + `,"metadata":{"upstream":{"name":"small","weight":1}}}`,
		},
		{
			said(call(t, c, 1, "shop", small)),
			`OK {` + of + `,"hitsAddend":1,"metadata":{"upstream":{"name":"small","weight":1}}}`,
		},
		{said(call(t, c, 0, "shop", small)), `OVER_LIMIT {` + of + `}`},
		{
			said(call(t, c, 2, "shop", own, small)),
			`OVER_LIMIT {"descriptors":[{"entries":["plan=large","user=anna"],"hitsAddend":3},{"entries":["plan=small"]}],` +
				`"domain":"shop","hitsAddend":2}`,
		},
		{
			said(call(t, c, 0, "merged", asked("a", "1"), asked("b", "1"), asked("c", "1"))),
			`OK {"descriptors":[{"entries":["a=1"]},{"entries":["b=1"]},{"entries":["c=1"]}],` +
				`"domain":"merged","metadata":{"list":[1,true,null,"x"],"of":{"a":1,"b":{"c":"first","d":2}},"only":"b"}}`,
		},
		{
			said(call(t, c, 0, "nowhere", asked("k", "v"))),
			`OK {"descriptors":[{"entries":["k=v"]}],"domain":"nowhere"}`,
		},
	} {
		if tt.got != tt.want {
			t.Errorf("got  %s\nwant %s", tt.got, tt.want)
		}
	}
	quiet := rls.NewRateLimitServiceClient(dial(t,
		start(t, withFiles(t, "rls-metadata.yaml", "")).String()))
	if r := call(t, quiet, 0, "shop", small); r.GetDynamicMetadata() != nil {
		t.Errorf("without the option: %v", r)
	}
}

// TestLargest: the largest number of a file is what an answer says, in each form of its headers.
func TestLargest(t *testing.T) {
	t.Parallel()
	for form, want := range map[string]string{
		"draft-10": `RateLimit-Policy: "shop.route_open";q=4294967295;w=1, RateLimit: "shop.route_open";r=4294967294;t=1`,
		"ratelimit": "RateLimit-Limit: 4294967295, RateLimit-Remaining: 4294967294, " +
			"RateLimit-Reset: 1",
		"x-ratelimit": "X-RateLimit-Limit: 4294967295, X-RateLimit-Remaining: 4294967294, " +
			"X-RateLimit-Reset: 1",
		"none": "",
	} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			c := rls.NewRateLimitServiceClient(dial(t,
				start(t, withFiles(t, "largest.yaml", "headers: "+form)).String()))
			r := call(t, c, 0, "shop", asked("route", "open"))
			var list []string
			for _, h := range r.GetResponseHeadersToAdd() {
				list = append(list, h.GetKey()+": "+h.GetValue())
			}
			if got := strings.Join(list, ", "); got != want {
				t.Errorf("headers %s, want %s", got, want)
			}
			s := r.GetStatuses()[0]
			if s.GetCurrentLimit().GetRequestsPerUnit() != math.MaxUint32 ||
				s.GetLimitRemaining() != math.MaxUint32-1 {
				t.Error(s)
			}
		})
	}
}
