package edge_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/wire"
)

const unitsConfig = `
rules:
  - {name: wallet, limit: 2.50, window: 1h, unit: usd, scale: 4}
  - {name: tank, limit: 0.5, burst: 1.25, window: 1m, unit: litres, scale: 2}
  - {name: plain, limit: 5, window: 1m}
sets:
  tenants: {table: {rich: 12.345678, poor: 0.05}}
policies:
  - name: tokens
    match: {path: /chat}
    key: raw(header.x-api-key)
    cost: {of: response.header.x-tokens, estimate: header.x-max-tokens, max: 200000}
    limit: 90000
    window: 1m
    unit: tokens
  - name: money
    match: {path: /chat}
    key: raw(header.x-api-key)
    cost: {of: response.header.x-usd, estimate: 0.02, max: 1}
    limit: 10
    window: 24h
    unit: usd
    scale: 6
    numbers: {of: header.x-api-key, table: "@tenants"}
`

// TestUnits has decimals in and out of every door, and whole numbers where a rule has no scale.
func TestUnits(t *testing.T) {
	n := startAt(t, allDoors, unitsConfig)
	n.talks(`
		check wallet a cost=0.02 → allow remaining=2.48 reset=3600 view=node
		check wallet a → allow remaining=1.48 reset=3600 view=node
		check wallet a cost=1.4801 → deny why=limit retry=3600 view=node remaining=1.48
		check wallet a cost=0.00001 → allow remaining=1.4799 reset=3600 view=node
		check wallet a cost=100 → deny why=cost remaining=1.4799 view=node
		check wallet a cost=100.0001 → error bad-request
		settle wallet a delta=-0.5 → ok
		settle wallet a delta=+0.0001 → ok
		peek wallet a cost=0.01 → allow remaining=1.9798 reset=3600 view=node
		check plain a cost=1.5 → error bad-request
		check plain a cost=1.0 → error bad-request
		settle plain a delta=0.5 → error bad-request
		count plain a cost=0.5 → error bad-request
		peek plain a → allow remaining=5 reset=0 view=node
		check tank a cost=1.24 → allow remaining=0.01 reset=\d view=node
		check tank a cost=0.02 → deny why=limit retry=2 view=node remaining=0.01
	`)
	for _, c := range []struct {
		target, body, want string
		status             int
	}{
		{
			"/v1/check?rule=wallet&key=h&cost=0.5", "",
			`"limit":2.5,"window":3600,"unit":"usd","remaining":2,`, 200,
		},
		{"/v1/check", `{"rule":"wallet","key":"h","cost":0.25}`, `"remaining":1.75,`, 200},
		{"/v1/check", `{"rule":"wallet","key":"h","cost":"0.25"}`, `"remaining":1.5,`, 200},
		{"/v1/check", `{"checks":[{"rule":"wallet","key":"h","cost":0.5}]}`, `"remaining":1,`, 200},
		{"/v1/settle", `{"rule":"wallet","key":"h","delta":-0.5}`, ``, 204},
		{"/v1/settle", `{"rule":"wallet","key":"h","delta":"+0.25"}`, ``, 204},
		{
			"/v1/check",
			`{"checks":[{"rule":"wallet","key":"h"},{"rule":"plain","key":"h","cost":0.5}]}`,
			`"checks[1].cost"`, 400,
		},
		{"/v1/check?rule=plain&key=h&cost=0.5", "", `whole number from 1 to 1000000`, 400},
		{
			"/v1/check?rule=wallet&key=h&cost=101", "",
			`must be 0.0001 to 100 under rule wallet`, 400,
		},
		{"/v1/settle?rule=plain&key=h&delta=0.5", "", `"cost"`, 400},
		{"/v1/check?rule=wallet&key=h&cost=1e-3", "", `"cost"`, 400},
	} {
		status, header, body := n.post(c.target, c.body)
		if status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s %s: %d %s, want %d %s", c.target, c.body, status, body, c.status, c.want)
		}
		if policy := header.Get("RateLimit-Policy"); status == 200 &&
			!strings.Contains(c.body, "checks") &&
			policy != `"wallet";q=2;w=3600;qu="usd"` {
			t.Errorf("%s: %s", c.target, policy)
		}
	}
	n.says("peek wallet h", `allow remaining=1.25 reset=3600 view=node`)
	if got := n.ask("rule", "wallet", "key", "s", "cost", "0.75"); !strings.Contains(
		got,
		`"wallet";r=1;t=3600`,
	) {
		t.Errorf("SPOP: %q", got)
	}
	n.says("peek wallet s", `allow remaining=1.75 .*`)
	if got := n.redis("HEADGATE.CHECK", "wallet", "r", "0.5"); !strings.Contains(
		got,
		"remaining\r\n$1\r\n2\r\n",
	) {
		t.Errorf("RESP: %q", got)
	}
	for command, answer := range doortest.Script(`
		HEADGATE.SETTLE wallet r -0.25 → :1
		HEADGATE.SETTLE plain r 0.5 → -ERR bad-request
		HEADGATE.CHECK plain r 0.5 → -ERR bad-request
		HEADGATE.CHECK wallet r 1e3 → -ERR bad-request
		HEADGATE.LIMIT wallet r → used\r\n$4\r\n0.25\r\n
		HEADGATE.LIMIT plain r → used\r\n:0\r\n
	`) {
		got := strconv.Quote(n.redis(strings.Fields(command)...))
		if !strings.Contains(got, answer) {
			t.Errorf("%s: %s, want %s", command, got, answer)
		}
	}
}

// TestUnitsOfPrograms has the Go client and the embedded node agree about decimals.
func TestUnitsOfPrograms(t *testing.T) {
	n := start(t, unitsConfig)
	c, err := client.Dial(
		n.node.Addresses().Datagram[0].String(),
		client.WithTimeout(10*time.Second),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // only asked
	q := client.Query{Op: wire.Check, Rule: "wallet", Key: "p", Millionths: 20_000}
	type asker interface {
		Batch(ctx context.Context, all []client.Query) ([]client.Answer, error)
	}
	for i, by := range []asker{c, n.node} {
		q.Rule = "wallet"
		a, err := by.Batch(t.Context(), []client.Query{q})
		if err != nil || a[0].Remaining != 2 || a[0].Millionths != uint32(480_000-20_000*i) {
			t.Errorf("%d: %+v, %v", i, a, err)
		}
		q.Rule = "plain"
		if a, _ := by.Batch(t.Context(), []client.Query{q}); !errors.Is(a[0].Err, wire.BadRequest) {
			t.Errorf("%d: a part of a unit under a rule without a scale: %+v", i, a)
		}
	}
}

// TestEstimates charges what a request says, or the file, and settles by the response: by each
// policy in its own unit, all or nothing.
func TestEstimates(t *testing.T) {
	n := start(t, unitsConfig)
	left := func(key, tokens, usd string) {
		t.Helper()
		n.says("peek tokens "+key, `(?:allow|deny).* remaining=`+tokens+`(?: .*)?`)
		n.says("peek money "+key+" cost=0.000001", `(?:allow|deny).* remaining=`+usd+`(?: .*)?`)
	}
	ask := func(key, more string) string {
		t.Helper()
		return n.says("ask path=/chat header.x-api-key="+key+more, `allow ticket=([0-9a-f]{16}) .*`)
	}
	report := func(ticket, more string) {
		t.Helper()
		n.says("report ticket="+ticket+" status=200"+more+" id=1", `id=1 ok`)
	}
	first := ask("rich", " header.x-max-tokens=1000")
	left("rich", "89000", "12.325678")
	report(first, " response.header.x-tokens=812 response.header.x-usd=0.0123")
	left("rich", "89188", "12.333378")
	for _, c := range []struct{ why, asked, tokens, said, usd, left string }{
		{"nothing said: the estimate stands", "1000", "", "", "12.313378", "88188"},
		{"a cached answer is free", "1", "0", "0", "12.313378", "88188"},
		{"no number: the estimate stands", "1", "5", "$2", "12.293378", "88183"},
		{"no number", "1", "1", "1e-3", "12.273378", "88182"},
		{"rounded up to a part", "1", "1", "0.00000001", "12.273377", "88181"},
		{"above the most: the most", "1", "300000", "7", "11.273377", "0"},
	} {
		said := ""
		if c.said != "" {
			said = " response.header.x-tokens=" + c.tokens + " response.header.x-usd=" + c.said
		}
		report(ask("rich", " header.x-max-tokens="+c.asked), said)
		t.Log(c.why)
		left("rich", c.left, c.usd)
	}
	for range 2 { // the third estimate does not fit: nothing is counted of it, in either unit
		ask("poor", " header.x-max-tokens=10")
	}
	n.says("ask path=/chat header.x-api-key=poor", `deny why=limit retry=\d+ rule=money .*`)
	left("poor", "89980", "0.01")
	// No number costs the most, which never passes.
	n.says(
		"ask path=/chat header.x-api-key=odd header.x-max-tokens=x",
		`deny why=cost remaining=90000 rule=tokens view=node`,
	)
	if _, text := n.inspect("/metrics", nil); !strings.Contains(
		text,
		"headgate_bad_costs_total 5\n",
	) {
		t.Error("not five bad costs")
	}
}

// TestChangedScale: a rule whose scale changes counts from none at the reload, in the new parts.
// What other rules counted stays.
func TestChangedScale(t *testing.T) {
	t.Parallel()
	const rules = "rules:\n  - {name: usd, limit: 0.50, window: 1h, scale: %d}\n" +
		"  - {name: other, limit: 5, window: 1h}\n"
	r, put := startFile(t, fmt.Sprintf(rules, 4))
	r.talks(`
		check usd k cost=0.4499 → allow remaining=0.0501 .*
		check other k → allow remaining=4 .*
	`)
	put(fmt.Sprintf(rules, 6))
	r.talks(`
		check usd k cost=0.49 → allow remaining=0.01 .*
		check other k → allow remaining=3 .*
	`)
	put(fmt.Sprintf(rules, 6))
	r.says("check usd k cost=0.02", `deny why=limit .* remaining=0.01`)
}
