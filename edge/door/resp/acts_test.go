package resp_test

import (
	"regexp"
	"strings"
	"testing"
)

const acting = `
rules:
  - {name: slots, kind: concurrency, limit: 1}
  - {name: tokens, limit: 1000, window: 1m}
pools: [{name: workers, order: [normal]}]
policies:
  - name: login
    match: {path: /login}
    count_when: {path: /login, status: 401}
    limit: 2
    window: 1h
  - {name: cost, match: {path: /cost}, limit: 100, window: 1h, cost: response.header.x-tokens}
  - {name: exports, match: {path: /export}, key: all, kind: concurrency, limit: 1}
  - {name: work, match: {path: /work}, pool: workers}
`

// TestActs: a ticket or a lease can be used by the connection that got it, with the meaning of the
// lines of the same names.
func TestActs(t *testing.T) {
	t.Parallel()
	n := openWith(t, acting, "cl.throttle", 1<<20)
	ticketOf := func(answer string) string {
		t.Helper()
		found := regexp.MustCompile(`(?:ticket|lease) ([0-9a-f]{16})`).FindStringSubmatch(answer)
		if found == nil {
			t.Fatalf("no ticket or lease: %s", answer)
		}
		return found[1]
	}
	// reports
	for range 2 {
		ticket := ticketOf(n.do("HEADGATE.ASK", "path", "/login", "client", "203.0.113.7"))
		n.want("HEADGATE.REPORT ticket "+ticket+" status 401 s 0.25", "1")
		n.want("HEADGATE.REPORT ticket "+ticket+" status 401", "0")
	}
	n.wants(`
		HEADGATE.ASK path /login client 203.0.113.7 → [verdict deny rule login…
		HEADGATE.REPORT path /login client 203.0.113.8 status 401 → 1
	`)
	ticket := ticketOf(n.do("HEADGATE.ASK", "path", "/cost"))
	n.want("HEADGATE.REPORT ticket "+ticket+" status 200 response.header.x-tokens 60 ms 12", "1")
	n.want("HEADGATE.ASK path /cost", "[verdict allow rule cost remaining 39…")
	ticket = ticketOf(n.do("HEADGATE.ASK", "path", "/cost"))
	n.want("HEADGATE.REPORT ticket "+ticket+" status 200 cost 39", "1")
	n.wants(`
		HEADGATE.ASK path /cost → [verdict deny rule cost…
		HEADGATE.REPORT ticket - status 200 → 1
	`)
	for _, args := range []string{
		"ticket 00000000000000af", "status 401", "ticket af status 401", "path /login",
		"ticket 00000000000000af status 99", "ticket 00000000000000af status 200 cost 0",
		"ticket 00000000000000af status 200 s 1 ms 1", "ticket 00000000000000af status 200 s 1e3",
		"ticket 00000000000000af status 200 status 200", "ticket 00000000000000af status",
	} {
		n.want("HEADGATE.REPORT "+args, "ERR bad-request")
	}
	n.want("HEADGATE.REPORT ticket 00000000000000af status 200 colour red", "ERR unknown-field")
	// places
	lease := ticketOf(n.want("HEADGATE.ACQUIRE slots k", "[verdict allow rule slots remaining 0…"))
	n.want("HEADGATE.ACQUIRE slots k", "[verdict deny rule slots…")
	n.want("HEADGATE.RENEW slots k "+lease, "1")
	n.want("HEADGATE.RELEASE slots k "+lease, "1")
	n.want("HEADGATE.RELEASE slots k "+lease, "0")
	n.want("HEADGATE.RENEW slots k "+lease, "0")
	ticketOf(n.do("HEADGATE.ACQUIRE", "slots", "k", "1"))
	n.want("HEADGATE.RELEASE slots k", "1")
	lease = ticketOf(n.do("HEADGATE.ASK", "path", "/export"))
	n.want("HEADGATE.ASK path /export", "[verdict deny rule exports…")
	n.want("HEADGATE.REPORT ticket "+lease+" status 200", "1")
	n.want("HEADGATE.ASK path /export", "[verdict allow rule exports…")
	// tokens
	n.wants(`
		HEADGATE.CHECK tokens k 1000 → [verdict allow rule tokens remaining 0…
		HEADGATE.SETTLE tokens k -300 → 1
		HEADGATE.CHECK tokens k 300 → [verdict allow rule tokens remaining 0…
		HEADGATE.SETTLE tokens k 0 → ERR bad-request
		HEADGATE.SETTLE slots k 1 → ERR bad-request
		HEADGATE.SETTLE nosuch k 1 → ERR unknown-rule
	`)
	// pools
	n.wants(`
		HEADGATE.LOAD workers 1 → 1
		HEADGATE.LOAD workers 1.1 → ERR bad-request
		HEADGATE.LOAD nosuch 1 → ERR unknown-pool
		HEADGATE.ACQUIRE tokens k → ERR bad-request
		HEADGATE.ACQUIRE nosuch k → ERR unknown-rule
		HEADGATE.RELEASE tokens k → ERR bad-request
		HEADGATE.RELEASE slots k xyz → ERR bad-request
	`)
	n.want("HEADGATE.RENEW slots "+strings.Repeat("k", 300), "ERR bad-request")
}

// TestLimit: the limit of a key, with where it is from; looking counts nothing.
func TestLimit(t *testing.T) {
	t.Parallel()
	n := openWith(t, "rules:\n  - {name: api, limit: 60, window: 1m}\n"+
		"  - {name: short, limit: 5, window: 1500ms}\n", "cl.throttle", 1<<20)
	n.do("HEADGATE.CHECK", "api", "k", "7")
	for range 2 {
		n.want(
			"HEADGATE.LIMIT api k",
			"[limit 60 source rule used 7 remaining 53 window 60 reset 60]",
		)
	}
	n.wants(`
		HEADGATE.LIMIT short k → [limit 5 source rule used 0 remaining 5 window 1.5]
		HEADGATE.LIMIT none k → ERR unknown-rule
		HEADGATE.LIMIT api → ERR wrong number of arguments
	`)
}
