//go:build !race

// Under the race detector it would take half a minute.

package policy

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
)

// heap returns the bytes in use after a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A table of a million tenants fits in the bound, takes the memory that it says, and finds each of
// them.
func TestMillionTenants(t *testing.T) {
	const tenants = MaxEntries
	tiers := []string{"free", "gold", "silver"}
	var file bytes.Buffer
	for i := range tenants {
		fmt.Fprintf(&file, "k_live_%07d,%s\n", i, tiers[i%3])
	}
	api := limit("api", nil)
	api.Key, api.Own = keyOf(t, "raw(header.x-api-key)@tenants | client"), nil
	for _, tier := range tiers {
		api.Own = append(api.Own, mitigation.Rule{Name: "api@" + tier})
	}
	api.Tiers = &Tiers{
		Of:    condition.Field{Kind: condition.Header, Name: "x-api-key"},
		Table: "tenants", Default: "free", Names: tiers,
	}
	s := &Spec{
		Clients:  request.DefaultClients(),
		Sets:     []Set{{Name: "tenants", Kind: TableFile, File: "tenants.csv"}},
		Policies: []Policy{api},
	}
	o := Options{
		MaxBytes: 32 << 20, Rules: ruleNames(s),
		Open: func(string) (io.ReadCloser,
			error,
		) {
			return io.NopCloser(bytes.NewReader(file.Bytes())), nil
		},
	}
	before := heap()
	e, err := Load(s, o)
	if err != nil {
		t.Fatal(err)
	}
	if took := heap() - before; e.Bytes() > o.MaxBytes || took > e.Bytes()*11/10 {
		t.Errorf("it says %d bytes and takes %d", e.Bytes(), took)
	}
	r, out := new(request.Request), new(Result)
	for i := range 50_000 {
		// a third of them are not in the table
		name := fmt.Sprintf("k_live_%07d", i*19%(tenants+tenants/2))
		want := fmt.Sprintf("api@%s %q", tiers[i*19%(tenants+tenants/2)%3], name)
		if i*19%(tenants+tenants/2) >= tenants {
			want = `api@free "203.0.113.7"`
		}
		fill(t, r, e, "GET", "h/", "203.0.113.7", "x-api-key: "+name)
		e.Evaluate(r, out)
		if got := outcome(e, out); got != want {
			t.Fatalf("%s: got %s, want %s", name, got, want)
		}
	}
	runtime.KeepAlive(e)
}
