package edge_test

import "testing"

const settleConfig = `
rules:
  - {name: tokens, limit: 100, window: 1m}
  - {name: bucket, limit: 1, window: 1m, burst: 10}
  - {name: places, kind: concurrency, limit: 1}
  - {name: "off", limit: 1, window: 1m, mode: "off"}
policies:
  - name: llm
    match: {path: /llm}
    key: client
    cost: response.header.x-tokens
    limit: 100
    window: 1m
  - name: again
    match: {path: /again}
    count_when: {path: /again, status: 200}
    limit: 100
    window: 1m
`

func TestSettleOverLines(t *testing.T) {
	n := start(t, settleConfig)
	n.talks(`
		check tokens a cost=50 → allow remaining=50 reset=60 view=node
		settle tokens a delta=-30 → ok
		peek tokens a → allow remaining=80 reset=60 view=node
		settle tokens a delta=+20 id=9 → id=9 ok
		settle tokens a delta=40 → ok
		peek tokens a → allow remaining=20 reset=60 view=node
	`)
	n.says("settle tokens a delta=500", `ok`) // more than fits: the window is full
	n.talks(`
		peek tokens a → deny why=limit retry=60 view=node remaining=\d+
		settle tokens a delta=-1000 → ok
		peek tokens a → allow remaining=100 reset=0 view=node
		check bucket a cost=4 → allow remaining=6 reset=60 view=node
	`)
	n.says("settle bucket a delta=8", `ok`) // in debt by two
	n.talks(`
		check bucket a → deny why=limit retry=(180|179) view=node remaining=\d+
		settle bucket a delta=-12 → ok
		peek bucket a → allow remaining=10 reset=0 view=node
		settle off a delta=-1 → ok
		settle places a delta=-1 → error bad-request
		settle nosuch a delta=-1 → error unknown-rule
	`)
	for _, line := range []string{
		"settle tokens a", "settle tokens a delta=0",
		"settle tokens a delta=1.5", "settle tokens a delta=1000001", "settle tokens a " +
			"delta=--1", "settle tokens",
	} {
		n.says(line, `error bad-request`)
	}
}

func TestSettleOverHTTP(t *testing.T) {
	n := start(t, settleConfig)
	n.says("check tokens h cost=50", `allow remaining=50 reset=60 view=node`)
	for _, c := range []struct {
		target, body string
		status       int
	}{
		{"/v1/settle?rule=tokens&key=h&delta=-30", "", 204},
		{"/v1/settle", `{"rule":"tokens","key":"h","delta":-10}`, 204},
		// as people write it: a plus is a blank there
		{"/v1/settle?rule=tokens&key=h&delta=+5", "", 204},
		{"/v1/settle?rule=tokens&key=h&delta=%2B5", "", 204},
		{"/v1/settle?rule=tokens&key=h&delta=++5", "", 400},
		{"/v1/settle?rule=tokens&key=h", "", 400},
		{"/v1/settle?rule=tokens&key=h&delta=0", "", 400},
		{"/v1/settle?rule=tokens&key=h&delta=1&cost=2", "", 400},
		{"/v1/settle?rule=nosuch&key=h&delta=1", "", 404},
		{"/v1/settle?rule=places&key=h&delta=1", "", 400},
	} {
		if status, _, body := n.post(c.target, c.body); status != c.status {
			t.Errorf("%s %s: %d %s", c.target, c.body, status, body)
		}
	}
	n.says("peek tokens h", `allow remaining=80 reset=60 view=node`)
}

// TestReportsWithACost: the cost of a report replaces the one that was counted, by ticket and by
// the request again.
func TestReportsWithACost(t *testing.T) {
	n := start(t, settleConfig)
	ticket := n.says(
		"ask path=/llm client=192.0.2.1",
		`allow ticket=([0-9a-f]{16}) rule=llm remaining=99 reset=60 view=node`,
	)
	n.says("report ticket="+ticket+" status=200 cost=40 id=1", `id=1 ok`)
	n.says("peek llm 192.0.2.1", `allow remaining=60 reset=60 view=node`)
	ticket = n.says(
		"ask path=/llm client=192.0.2.1",
		`allow ticket=([0-9a-f]{16}) rule=llm remaining=59 reset=\d+ view=node`,
	)
	if status, _, body := n.post("/v1/report",
		`{"ticket":"`+ticket+`","status":200,"cost":10}`); status != 204 {
		t.Error(status, body)
	}
	n.talks(`
		peek llm 192.0.2.1 → allow remaining=50 reset=\d+ view=node
		report path=/again client=192.0.2.2 status=200 cost=30 id=2 → id=2 ok
		peek again 192.0.2.2 → allow remaining=70 reset=60 view=node
	`)
}
