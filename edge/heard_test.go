package edge_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

const heardConfig = `
rules: []
policies:
  - name: login
    match: {path: /login}
    count_when: {path: /login, status: 401}
    key: client
    limit: 100
    window: 1m
    pending: free
  - {name: uploads, match: {path: /up}, key: all, kind: concurrency, limit: 3, lease: 1s}
`

// startLogged is startAt with a log.
func startLogged(t *testing.T, listen, text string) (*running, *edgetest.Log) {
	t.Helper()
	log := new(edgetest.Log)
	return run(t, edge.Options{
		Config: parse(t, listen, text), File: "/etc/headgate/headgate.yaml",
		Log: slog.New(slog.NewTextHandler(log, nil)),
	}), log
}

// faults returns the codes and the texts of /v1/health, as soon as the codes are these.
func (r *running) faults(codes ...string) (texts []string) {
	r.Helper()
	edgetest.Await(r, fmt.Sprintf("faults %q", codes), 20*time.Second, func() bool {
		var v api.HealthView
		is, err := http.Get("http://" + r.node.Addresses().Admin[0].String() + "/v1/health")
		if err != nil {
			r.Fatal(err)
		}
		err = json.NewDecoder(is.Body).Decode(&v)
		_ = is.Body.Close()
		if err != nil {
			r.Fatal(err)
		}
		if !v.Ready || v.Status != "ready" { // its doors open before it is ready
			return false
		}
		got := []string{}
		texts = nil
		for _, f := range v.Faults {
			got, texts = append(got, f.Code), append(texts, f.Text)
			if age := time.Since(f.Since); age < -time.Second || age > time.Minute {
				r.Errorf("%s since %v", f.Code, f.Since)
			}
		}
		return slices.Equal(got, codes)
	})
	return append(texts, make([]string, len(codes))...)
}

// TestUnreadLinesAreHeard at every door: a warning at once, without secrets, a fault of the
// headline, and metrics.
func TestUnreadLinesAreHeard(t *testing.T) {
	t.Parallel()
	r, log := startLogged(t, allDoors, heardConfig)
	if texts := r.faults(); len(texts) != 0 {
		t.Fatalf("at the start: %q", texts)
	}
	for range 3 {
		r.send("report ticket=00000000000000af status=200 cost=x header.cookie=secret more\nping")
	}
	r.send(`ask path=/a?token=secret header.authorization=Bearer secret= colour=red`)
	r.post("/v1/report", `{"ticket":"00000000000000af"}`)
	r.visit("/v1/check?rule=login&key=a&cost=x&header.x=secret")
	r.notify(short("report") + "\x01" + short("status") + "\x08" + short("many"))
	r.redis("HEADGATE.ASK", "path", "/", "colour", "red", "header.x-key", "secret")
	r.call("\xff")
	texts := r.faults("malformed-reports", "malformed-questions")
	for i, want := range []string{
		`^5 reports could not be read in the last 10m, so nothing was counted of them: "report `,
		`^4 questions could not be read in the last 10m, and such requests pass: "`,
	} {
		if !regexp.MustCompile(want).MatchString(texts[i]) {
			t.Errorf("%s\nwant %s", texts[i], want)
		}
	}
	all := log.String()
	for _, want := range []string{
		`level=WARN msg="malformed line" door=udp verb=report code=bad-request ` +
			`line="report ticket=00000000000000af status=200 cost=x header.cookie=…" lines=`,
		`door=udp verb=ask code=unknown-field line="ask path=/a?… header.authorization=…" lines=1`,
		`door=http verb=report code=bad-request line="report (status is missing) `,
		`door=http verb=check code=bad-request line="check (cost `,
		`door=spop verb=report code=bad-request line="report status=many"`,
		`door=resp verb=ask code=unknown-field line="ask path=/ colour=red header.x-key=…"`,
		`door=grpc verb=ask code=bad-request`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the log has no %s\n%s", want, all)
		}
	}
	if strings.Contains(all, "secret") || strings.Contains(strings.Join(texts, ""), "secret") {
		t.Errorf("a secret is told:\n%s\n%q", all, texts)
	}
	is, err := http.Get("http://" + r.node.Addresses().Admin[0].String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	metrics, _ := io.ReadAll(is.Body)
	_ = is.Body.Close()
	for door, n := range map[string]int{"udp": 3, "http": 1, "spop": 1} {
		want := fmt.Sprintf("headgate_reports_malformed_total{code=\"bad-request\",door=%q} %d\n",
			door, n)
		if !strings.Contains(string(metrics), want) {
			t.Errorf("no %s", want)
		}
	}
}

// TestALimitHoldsBesideManyCounts: where a request asks more than 16 rules the limits hold, in
// either spelling of a path, and a fault names the policy left out.
func TestALimitHoldsBesideManyCounts(t *testing.T) {
	t.Parallel()
	text := "rules: []\npolicies:\n"
	for n := range 16 {
		text += fmt.Sprintf("  - {name: counts%d, match: {path: /x}, count_when: {status: 401}, "+
			"limit: 5, window: 1m}\n", n)
	}
	r := start(t, text+"  - {name: api, match: {path: /api}, limit: 2, window: 1m}\n")
	r.says("ask path=/ client=192.0.2.1", "allow .*")
	if texts := r.faults(); len(texts) != 0 {
		t.Errorf("before: %q", texts)
	}
	r.talks(`
		ask path=/api client=192.0.2.1 → allow .*rule=api remaining=1 .*
		ask path=/x/..%252fapi client=192.0.2.1 → allow .*rule=api remaining=0 .*
		ask path=/x/..%252fapi client=192.0.2.1 → deny .*rule=api .*
		ask path=/api client=192.0.2.1 → deny .*rule=api .*
	`)
	if all := r.faults("left-out"); !strings.Contains(all[0], "do not ask rule counts15, ") {
		t.Error(all)
	}
}

// TestReportsInVain: a policy no report reaches is a fault, until the next one, and so is a rule
// no place comes back to.
func TestReportsInVain(t *testing.T) {
	t.Parallel()
	r, _ := startLogged(t, allDoors, heardConfig)
	ticket := ""
	for range 25 {
		ticket = r.says("ask path=/login client=192.0.2.1", `allow ticket=(\w+) .*`)
	}
	got := r.faults("no-reports")[0]
	const want = "policy login (headgate.yaml:5) counts by the response, and none of its last 25 " +
		"requests was reported: nothing is counted. headgate init NAME -c FILE writes the report"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	r.says(`report id=a ticket="`+ticket+`" status="200" s="0.250"`, `id=a ok`)
	r.says("report id=a ticket="+ticket+" status=200 ms=0.25", `id=a ok late=1`)
	r.faults()
	for range 22 {
		edgetest.Await(t, "a place", 10*time.Second, func() bool {
			return strings.HasPrefix(r.send("ask path=/up"), "allow")
		})
	}
	got = r.faults("leases-expire")[0]
	if want := "policy uploads (headgate.yaml:12): its places end by their lease (1s) alone: in " +
		"effect 3 requests in 1s"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	is, err := http.Get("http://" + r.node.Addresses().Admin[0].String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	metrics, _ := io.ReadAll(is.Body)
	_ = is.Body.Close()
	for _, want := range []string{
		"headgate_response_duration_seconds_bucket{le=\"0.1\"} 0\n",
		"headgate_response_duration_seconds_bucket{le=\"0.5\"} 1\n",
		"headgate_report_times_ignored_total 1\n",
		"headgate_policy_reports_total{policy=\"login\"} 1\n",
	} {
		if !strings.Contains(string(metrics), want) {
			t.Errorf("no %s", want)
		}
	}
}
