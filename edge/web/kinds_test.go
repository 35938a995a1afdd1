//go:build !race

package web

import (
	"regexp"
	"strings"
	"testing"
)

// TestDashboardKinds checks that rules, keys and pools are shown in the terms of their kinds, and
// that a tier or a key that looks like markup stays text.
func TestDashboardKinds(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "kinds"), 1400, 900, false)
	l.live()
	l.wait(`document.querySelectorAll('#pools tbody tr').length === 3`)
	said := l.said()
	for _, want := range []string{
		"20 at once, 10 per 1s · 20 % reserved for critical · node · sheds", "1 at once, 10 per " +
			"1s, waits up to 500 ms · node · sheds", "3 places a key · node · leases of 2m",
		"3 per 1m · denied requests count · node · blocks for 10m, 1h, then 1d",
		"5 places taken by 2 keys",
		"1 of 3 pools now denying requests", "93 %\ttest 100 %, " + worst +
			" 30 %\t1.30\t3\t", "no reports\tnone\t0.00\t0\tnever",
		"7 tickets waiting for a response", "workers denies test 100 %, " + worst + " 30 %",
		"3 held", "all taken", "20 taken", "key-that-is-longer-than-33-bytes-…",
	} {
		if !strings.Contains(strings.ReplaceAll(said, "▲", ""), want) &&
			!strings.Contains(plainRow(said), want) {
			t.Errorf("not shown: %q", want)
		}
	}
	// how long ago the report was grows with the time a browser takes
	if !regexp.MustCompile(`\t1\.30\t3\t[1-9]\d?s ago`).MatchString(plainRow(said)) {
		t.Error("the time of the last report is not shown")
	}
	for key, wants := range map[string][]string{
		"tenant-12": {"its bucket is empty", "0 of 20 tokens, full again in 3s; 4 taken in " +
			"advance; the next request would wait 400 ms", "critical 4 of 20 left, others 0 of " +
			"16 left", "95 % of the bucket taken"},
		"app-key-1": {"about 140, more than 100: it sheds instead of blocking", "client, for " +
			"10s each; drawn again in 4s"},
		"203.0.113.7": {"203.0.113.0/24: denies, 20 of 20 used, 3 of 3 asked", "203.0.0.0/16: " +
			"passes, 21 of 80 used, 1 of 3 asked, so it denies nothing"},
		worst: {"its places are taken", "3 of 3 taken by 3 leases, the oldest for 1m " +
			"35s; it ends in 25s unless it is released", "3 of 3 places taken"},
	} {
		l.run(`[...document.querySelectorAll('#top-table tr')].find((r) => r.item?.kind !== undefined && r.item.key === ` + quoteJS(key) + `).querySelector('button.link').click()`)
		l.wait(`document.querySelector('#explain-answer .key')?.textContent === ` + quoteJS(key))
		answer := strings.NewReplacer("\u202f", " ", "\u00a0", " ").Replace(
			value[string](l, `document.querySelector('#explain-answer').innerText`))
		for _, want := range wants {
			if !strings.Contains(answer, want) {
				t.Errorf("%s: not shown: %q in\n%s", key, want, answer)
			}
		}
	}
	checkSettings(t, l)
	if value[bool](l, `document.querySelector('#explain-answer script, #pools script') !== null`) {
		t.Error("a key became markup")
	}
	without := open(t, startFake(t, "attack"), 1400, 900, false)
	without.live()
	if !value[bool](without, `document.getElementById('pools').hidden && document.querySelector('[data-part=pools]').hidden`) {
		t.Error("there is a section of pools without any")
	}
}

// checkSettings checks that the cards of rules say who is denied, and the mitigations how many.
func checkSettings(t *testing.T, l *lab) {
	t.Helper()
	for rule, wants := range map[string][]string{
		"partners": {"1 000 per 1m · blocks up to 100 clients · retry up to 10 % longer · node " +
			"· blocks for 10m", "2.1 times its limit, about 140 clients"},
		"per-host":    {"10 000 per 1s · node · sheds by client, for 10s each"},
		"login-fails": {"13 times its limit, block 2 in a row"},
	} {
		l.run(`{ const f = document.getElementById('rule-filter'); f.value = ` + quoteJS(rule) +
			`; f.dispatchEvent(new Event('change')); }`)
		said := strings.NewReplacer("\u202f", " ", "\u00a0", " ").Replace(l.said())
		for _, want := range wants {
			if !strings.Contains(said, want) {
				t.Errorf("of %s: not shown: %q in\n%s", rule, want, said)
			}
		}
	}
}

// plainRow drops the marks of states from what is shown.
func plainRow(said string) string {
	return strings.NewReplacer("▲", "", "●", "", "\t\n", "\t", "\n\t", "\t").Replace(said)
}

// quoteJS writes text as a literal of JavaScript.
func quoteJS(text string) string { return "`" + text + "`" }

// TestKinds checks how the settings of rules are written.
func TestKinds(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "alone"), 800, 600, false)
	for call, want := range map[string]string{
		"limitOf({ limit: 10_000, window: 90 })":       "10 000 per 1m 30s",
		"limitOf({ limit: 10, window: 1, burst: 20 })": "20 at once, 10 per 1s",
		"limitOf({ limit: 10, window: 1, bucket: { burst: 1, delay: 0.25 } })": "1 at once, 10 " +
			"per 1s, waits up to 250 ms",
		"limitOf({ kind: 'concurrency', limit: 1, window: 0 })": "1 place a key",
		"blocksOf({ block_for: 600 })":                          "10m",
		"blocksOf({ block_for: 600, blocks: [600, 3600] })":     "10m, then 1h",
		"shedsOf({})": "sheds",
		"shedsOf({ shed_by: 'client', epoch: 10 })": "sheds by client, for 10s each",
		"settingsOf({ siblings: 3, counts: 'offered', reserve: [{ tier: 'gold', share: 0.25 }] " +
			"}).join()": "25 % reserved for gold,denied requests count,if 3 narrower keys ask",
		"takenOf({})": "no place taken",
		"nowOf({ kind: 'bucket', limit: 20, admitted: 23 })": "0 of 20 " +
			"tokens left",
		"factsOf({ limit: 3, places: { taken: 0, leases: 0, oldest: null } }).join()": "places,0 " +
			"of 3 taken",
		"factsOf({ bucket: { burst: 5, left: 5, fill: 1 } }).join()": "bucket,full, 5 of 5 " +
			"tokens",
		"factsOf({ now: '', strikes: { blocks: 0, next: 60 } }).join()": "strikes,0 blocks in a " +
			"row, the next lasts 1m",
		"factsOf({ siblings: { asked: 1, needed: 3 } }).join()": "narrower " +
			"keys,1 of 3 asked, so it denies nothing",
		"factsOf({ blast: { clients: 0, max: 40 } }).join()": "clients,none counted; above " +
			"40 a block sheds instead",
		"factsOf({ blast: { clients: 7, max: 40 } }).join()": "clients,about 7; above 40 a " +
			"block sheds instead",
		"settingsOf({ max_blast: 2, retry_spread: 0.2 }).join()": "blocks up to 2 clients,retry " +
			"up to 20 % longer",
		"partOf({}) + ''": "null",
	} {
		if got := strings.ReplaceAll(value[string](l, module("kinds")+`.then((m) => m.`+call+`)`),
			"\u202f", " "); got != strings.ReplaceAll(want, "\u202f", " ") {
			t.Errorf("%s: %q, want %q", call, got, want)
		}
	}
}
