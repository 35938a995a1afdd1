package edge_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

const doorsConfig = `listen: {%s}
memory: 128MiB
sets:
  tenants: {table_file: %s}
policies:
  - name: web
    match: {path: /x}
    key: raw(header.x-api-key)
    cost: {of: header.x-cost, max: 10000}
    limit: 5
    window: 24h
    numbers: {of: header.x-api-key, table: "@tenants"}
`

// TestNumbersOverDoors: 10,000 tenants with 3,000 numbers, asked for over HTTP auth, SPOP, RESP and
// Envoy's service, beside an exact log, while reloads change 500 numbers each. No more than the
// number passes, and nothing is denied that leaves a hundredth of it free.
func TestNumbersOverDoors(t *testing.T) {
	random, dir := edgetest.Dice(t), t.TempDir()
	tenants := edgetest.Rounds(100, 2000) // asked for
	numbers := make([]int, 5*tenants)
	for i := range numbers {
		numbers[i] = 1 + i%3000
	}
	write := func() {
		var text strings.Builder
		for i, n := range numbers {
			fmt.Fprintf(&text, "k-%d,%d\n", i, n)
		}
		if err := os.WriteFile(filepath.Join(dir, "t"), []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write()
	file := filepath.Join(dir, "headgate.yaml")
	text := fmt.Sprintf(doorsConfig, allDoors, filepath.Join(dir, "t"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := run(t, edge.Options{File: file})
	admitted, asked := map[int]int{}, [4]int{}
	denied := 0
	for n := range 12 * tenants {
		if n%(2*tenants) == 2*tenants-1 {
			for range 500 {
				numbers[random.IntN(len(numbers))] = 1 + random.IntN(3000)
			}
			write()
			if _, err := r.node.Reload(); err != nil {
				t.Fatal(err)
			}
		}
		tenant, door := random.IntN(tenants)*5, n%4
		cost := 1 + random.IntN(numbers[tenant]/2+1)
		passes := r.tenantPasses(door, fmt.Sprint("k-", tenant), fmt.Sprint(cost))
		asked[door]++
		left := numbers[tenant] - admitted[tenant]
		switch {
		case passes && cost > left:
			t.Fatalf("door %d: %d passes of %d, %d left", door, cost, numbers[tenant], left)
		case !passes && cost+numbers[tenant]/100 <= left:
			t.Fatalf("door %d: %d denied of %d, %d left", door, cost, numbers[tenant], left)
		case passes:
			admitted[tenant] += cost
		default:
			denied++
		}
	}
	if denied < 5*tenants/2 {
		t.Errorf("%d denied: the limits were not reached", denied)
	}
	t.Log(asked, denied)
}

// tenantPasses asks for a request of a tenant over one of four doors.
func (r *running) tenantPasses(door int, tenant, cost string) bool {
	r.Helper()
	switch door {
	case 0:
		q, err := http.NewRequest(http.MethodGet, "http://"+
			r.node.Addresses().HTTP[0].String()+"/v1/auth/envoy/x", nil)
		if err != nil {
			r.Fatal(err)
		}
		q.Header.Set("X-Api-Key", tenant)
		q.Header.Set("X-Cost", cost)
		is, err := http.DefaultClient.Do(q)
		if err != nil {
			r.Fatal(err)
		}
		_ = is.Body.Close()
		return is.StatusCode == http.StatusOK
	case 1:
		got := r.ask("path", "/x", "header.x-api-key", tenant, "header.x-cost", cost)
		if !strings.Contains(got, "\x04deny\x01") && !strings.Contains(got, "\x04deny\x11") {
			r.Fatalf("SPOP: %q", got)
		}
		return strings.Contains(got, "\x04deny\x01")
	case 2:
		got := r.redis("HEADGATE.ASK", "path", "/x", "header.x-api-key", tenant,
			"header.x-cost", cost)
		if !strings.Contains(got, "verdict") {
			r.Fatalf("RESP: %q", got)
		}
		return strings.Contains(got, "allow")
	}
	got := r.call(descriptor("path", "/x", "header.x-api-key", tenant, "header.x-cost", cost))
	if !strings.HasPrefix(got, "0 \x08") {
		r.Fatalf("RLS: %q", got)
	}
	return strings.HasPrefix(got, "0 \x08\x01")
}
