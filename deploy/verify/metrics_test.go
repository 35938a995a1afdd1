package verify

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// series are what a /metrics page holds: of each name the labels of each series.
type series map[string][]map[string]string

// page is a real /metrics page, read once a run of the tests.
var page struct {
	once sync.Once
	series
}

var (
	sampleLine = regexp.MustCompile(`^([a-z_][a-z0-9_]*)(?:\{(.*)\})? \S+$`)
	labelPair  = regexp.MustCompile(`([a-z_]+)="((?:[^"\\]|\\.)*)"`)
)

// metricsPage returns the page of a daemon that has everything: a ring, the other PoPs, a state.
func metricsPage(t *testing.T) series {
	t.Helper()
	page.once.Do(func() {
		admin := serve(t, fmt.Sprintf(`node: a
pop: lhr
memory: 1MiB
listen: {udp: "127.0.0.1:0", http: "127.0.0.1:0", admin: "127.0.0.1:0"}
state_dir: %q
ring: {servers: ["127.0.0.1:1"]} # where nobody listens
gossip: {bind: "127.0.0.1:0"}
pools: [{name: workers}]
rules: [{name: login, limit: 5, window: 10s, scope: pop}, {name: tenant, limit: 5, window: 1s, scope: global, mode: "off"}, {name: jobs, kind: concurrency, limit: 3}, {name: queue, limit: 5, window: 1s, burst: 1, delay: 1s}]
policies: [{name: site, match: {}, pool: workers}]
`, t.TempDir()))
		await(t, "a state is written", func() bool {
			_, text := get(t, admin, "/metrics")
			page.series = parsePage(text)
			return len(page.series["headgate_state_age_seconds"]) > 0
		})
	})
	if len(page.series) == 0 {
		t.Fatal("no page")
	}
	return page.series
}

func parsePage(text string) series {
	found := series{}
	for line := range strings.Lines(text) {
		sample := sampleLine.FindStringSubmatch(strings.TrimSpace(line))
		if sample == nil {
			continue
		}
		labels := map[string]string{}
		for _, pair := range labelPair.FindAllStringSubmatch(sample[2], -1) {
			labels[pair[1]] = pair[2]
		}
		found[sample[1]] = append(found[sample[1]], labels)
	}
	return found
}

var (
	// givenByScrape are labels that come from the scrape configuration.
	givenByScrape = []string{"job", "pop", "instance"}

	selector = regexp.MustCompile(`\b((?:headgate|process|go)_[a-z0-9_]+)\b(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`([a-z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	grouping = regexp.MustCompile(`\b(?:by|on|group_left)\s*\(([^)]*)\)`)
)

// unknownTo returns the series of a query that the page does not have.
func (s series) unknownTo(query string) (faults []string) {
	labels := map[string]bool{}
	for _, name := range append(givenByScrape, "le") {
		labels[name] = true
	}
	for _, found := range selector.FindAllStringSubmatch(query, -1) {
		all, ok := s[found[1]]
		if !ok {
			faults = append(faults, "no series "+found[1])
			continue
		}
		for _, one := range all {
			for name := range one {
				labels[name] = true
			}
		}
		for _, m := range matcher.FindAllStringSubmatch(found[2], -1) {
			if !isGiven(m[1]) && !matches(all, m[1], m[2], m[3]) {
				faults = append(faults, fmt.Sprintf("no series %s with %s%s%q",
					found[1], m[1], m[2], m[3]))
			}
		}
	}
	for _, group := range grouping.FindAllStringSubmatch(query, -1) {
		for name := range strings.FieldsFuncSeq(group[1], func(r rune) bool {
			return r == ',' ||
				r == ' '
		}) {
			if !labels[name] {
				faults = append(faults, "no series with a label "+name)
			}
		}
	}
	return faults
}

func isGiven(label string) bool { return slices.Contains(givenByScrape, label) }

// matches reports whether one of all has the label, with a value that the matcher takes; a variable
// of a dashboard takes any.
func matches(all []map[string]string, label, op, value string) bool {
	pattern := regexp.MustCompile("^(?:" + strings.ReplaceAll(value, "$rule", ".*") + ")$")
	for _, labels := range all {
		got, ok := labels[label]
		switch {
		case !ok:
		case op == "=" && got == value, op == "!=" && got != value, op == "=~" &&
			pattern.MatchString(got), op == "!~" && !pattern.MatchString(got):
			return true
		}
	}
	return false
}

func TestUnknownTo(t *testing.T) {
	s := parsePage("# TYPE headgate_a_total counter\nheadgate_a_total{rule=\"x\",why=\"shed\"} " +
		"1\nheadgate_b 2.5e+06\n")
	for query, want := range map[string]string{
		`rate(headgate_a_total{job=~"$job", rule=~"$rule", why="shed"}[5m]) > headgate_b`: "",
		`sum by (rule, pop) (headgate_a_total{why!="block"})`:                             "",
		`headgate_c`:                          "no series headgate_c",
		`headgate_a_total{why="block"}`:       `no series headgate_a_total with why="block"`,
		`headgate_a_total{wy="shed"}`:         `no series headgate_a_total with wy="shed"`,
		`headgate_b{rule="x"}`:                `no series headgate_b with rule="x"`,
		`sum by (server) (headgate_a_total)`:  "no series with a label server",
		`headgate_a_total{why=~"block|none"}`: `no series headgate_a_total with why=~"block|none"`,
	} {
		if got := strings.Join(s.unknownTo(query), "; "); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}
