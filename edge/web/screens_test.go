//go:build !race

package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// said returns the text of the page as a person reads it, with plain spaces.
func (l *lab) said() string {
	l.Helper()
	return strings.NewReplacer("\u202f", " ", "\u00a0",
		" ").Replace(value[string](l, `document.body.innerText`))
}

// TestDashboardFirstSteps checks that a node that nothing has asked yet shows how to ask, and hides
// that once something has.
func TestDashboardFirstSteps(t *testing.T) {
	t.Parallel()
	f := startFake(t, "alone")
	f.lifted["per-ip\n198.51.100.23"] = true
	l := open(t, f, 1400, 900, false)
	l.live()
	l.wait(`document.querySelector('#headline').textContent.includes('No requests since start.')`)
	shown := l.said()
	for _, want := range []string{
		"No proxy has asked yet", "echo 'check login 203.0.113.7' | nc -u -w1 127.0.0.1 " +
			"4290", "curl -i 'http://127.0.0.1:4291/v1/check?rule=login&key=203.0.113.7'",
		"headgate init nginx", "headgate init nginx-lua", "headgate init haproxy",
		"headgate init caddy", "started 1h ago", "0 connections", "No faults.",
		"No mitigations: no key is blocked, shed or allowed by hand.", "this node is its PoP",
		"No gossip is configured", "Why is a key allowed or denied?",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("not shown: %s", want)
		}
	}
	if plots := value[int](l,
		`[...document.querySelectorAll('.plot')].filter((p) => p.checkVisibility()).length`); plots != 0 {
		t.Errorf("%d empty plots", plots)
	}
	f.mu.Lock()
	f.is = scenes["quiet"]
	f.mu.Unlock()
	l.wait(`document.querySelector('#headline').textContent.includes('No requests now.') && !document.querySelector('#start').checkVisibility()`)
	l.wait(`[...document.querySelectorAll('.plot')].every((p) => p.checkVisibility())`)
}

// TestDashboardRingLost checks that a lost ring is the headline, in its colour and in the title of
// the tab, and that the traffic is said below it.
func TestDashboardRingLost(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "ringlost"), 1400, 900, false)
	l.live()
	l.wait(`document.querySelector('#headline .words').textContent === 'The ring is lost: each node limits on its own.'`)
	l.wait(`document.title === '✕ lhr-1 · headgate'`)
	l.wait(`/^Denying .* most by per-ip\. 4 blocked, 11 shed\.$/.test(document.querySelector('#trouble .words').textContent)`)
	if state := value[string](l,
		`document.querySelector('#headline').dataset.state`); state != "bad" {
		t.Errorf("state %s", state)
	}
	colours := value[[]string](l,
		`['#headline .words', '.figures .out'].map((s) => getComputedStyle(document.querySelector(s)).color)`)
	if colours[0] != colours[1] {
		t.Errorf("the headline is %s, the colour of alarm %s", colours[0], colours[1])
	}
	if strings.Contains(l.said(), "No faults") {
		t.Error("it says that there are no faults")
	}
}

// TestDashboardErrors checks that "no faults" stands neither beside errors that go on nor beside a
// dead member.
func TestDashboardErrors(t *testing.T) {
	t.Parallel()
	for scene, want := range map[string]string{
		"errors": `ring operations? failed in the last minute\.$`,
		"attack": `^1 node does not answer: fra-2\.$`, "hero": `^No faults\.$`,
	} {
		t.Run(scene, func(t *testing.T) {
			l := open(t, startFake(t, scene), 1400, 900, false)
			l.live()
			l.wait(`/` + want + `/.test(document.querySelector('#trouble .words').textContent)`)
		})
	}
}

// TestDashboardRanking checks that the key that causes most denials comes first, those that deny
// nothing last, and that an allowed key is not counted as a mitigation.
func TestDashboardRanking(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "attack"), 1400, 900, false)
	l.live()
	l.wait(row("tenant-7f3a9b"))
	rates := value[[]float64](l,
		`[...document.querySelectorAll('#mitigations-table tbody tr')].map((r) => r.item.denied_rate)`)
	if len(rates) != 10 || rates[0] < 10_000 || !slices.IsSortedFunc(rates,
		func(a, b float64) int { return int(b - a) }) {
		t.Errorf("denied a second: %v", rates)
	}
	if keys := value[[]string](l,
		`[...document.querySelectorAll('#mitigations-table tbody tr')].map((r) => r.item.key)`); keys[0] != "tenant-7f3a9b" {
		t.Errorf("%v", keys)
	}
	got := value[[]string](l,
		`['[data-figure=mitigations]', '[data-sum=mitigations]', '#mitigations-note'].map((s) => document.querySelector(s).textContent)`)
	if want := []string{
		"15",
		"4 block, 11 shed",
		"4 block, 11 shed; 1 allowed by hand",
	}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestDashboardBars checks that bars do not saturate: keys at 123, 42 and 1.2 times their limits
// have bars of different lengths, on a scale that is labelled.
func TestDashboardBars(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "attack"), 1400, 900, false)
	l.live()
	l.wait(`document.querySelectorAll('#top-table tbody tr').length === 10`)
	lengths := value[map[string]float64](l,
		`Object.fromEntries([...document.querySelectorAll('#top-table tbody tr')].map((r) => [r.item.key, Number(r.querySelector('.load').style.getPropertyValue('--part'))]))`)
	if a, b, c := lengths["tenant-7f3a9b"], lengths["203.0.113.46"],
		lengths["203.0.113.40"]; !(a > 0.25 && a+0.1 < b && b+0.1 < c && c < 1) {
		t.Errorf("%v", lengths)
	}
	if marks := value[[]string](l,
		`[...document.querySelectorAll('#top-scale i')].map((i) => i.textContent.replace('\u202f', ' '))`); strings.Join(marks, " ") != "0.1 1 10 100 1 000" {
		t.Errorf("scale %q", marks)
	}
	if note := l.said(); !strings.Contains(note, "bars on a log scale from 0.1 to 1 000 times the "+
		"limit") {
		t.Error("the scale is not said")
	}
	places := value[[]float64](l,
		module("top")+`.then((m) => [m.place(0.1, 4), m.place(1, 4), m.place(1000, 4), m.place(1e9, 4), m.place(0, 4), m.decadesOf([]), m.decadesOf([{ share: 100 }]), m.decadesOf([{ share: 101 }]), m.decadesOf([{ share: 1e12 }])])`)
	for n, want := range []float64{0, 0.25, 1, 1, 0, 3, 3, 4, 7} {
		if d := places[n] - want; d > 1e-9 || d < -1e-9 {
			t.Errorf("%d: %v, want %v", n, places[n], want)
		}
	}
}

// TestDashboardRows checks that a whole row opens its explanation, by mouse and by keyboard.
func TestDashboardRows(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "attack"), 1400, 900, false)
	l.live()
	l.wait(row("203.0.113.40"))
	explained := func(key string) {
		t.Helper()
		l.wait(`document.querySelector('#explain-answer .verdict .key')?.textContent === ` +
			quote(key))
	}
	l.run(row("203.0.113.40") + `.cells[5].click()`)
	explained("203.0.113.40")
	l.run(`[...document.querySelectorAll('#top-table tbody tr')].find((r) => r.item.key === '203.0.113.7').cells[2].click()`)
	explained("203.0.113.7")
	next := value[string](l, row("203.0.113.40")+`.nextElementSibling.item.key`)
	l.run(row("203.0.113.40") + `.querySelector('button.link').focus()`)
	l.press("ArrowDown", "Enter")
	explained(next)
}

// TestDashboardRange checks that a chosen time range is the one that plots and totals show.
func TestDashboardRange(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "attack"), 1400, 900, false)
	l.live()
	sum := func() string {
		return strings.ReplaceAll(value[string](l,
			`document.querySelector('[data-sum=offered]').textContent`), "\u202f", " ")
	}
	l.wait(`/\d.* in 15m$/.test(document.querySelector('[data-sum=offered]').textContent)`)
	short := sum()
	for name, seconds := range map[string]int{"1h": 3600, "6h": 21600} {
		l.run(`{ const s = document.querySelector('#range'); s.value = '` + name +
			`'; s.dispatchEvent(new Event('change')); }`)
		l.wait(fmt.Sprintf(`document.querySelector('.card').plot.kept === %d && document.querySelector('[data-sum=offered]').textContent.endsWith('in %s')`, seconds, name))
		l.wait(fmt.Sprintf(`((x) => x.at(-1) - x[0] > %d)(document.querySelector('.card').columns[0])`, seconds*9/10))
		if long := sum(); long == short || strings.HasPrefix(long, "–") {
			t.Errorf("%s: %s, 15m: %s", name, long, short)
		}
	}
}

// TestDashboardNothingCut checks that figures, times, actions and headings are whole, on a desk and
// on a phone.
func TestDashboardNothingCut(t *testing.T) {
	t.Parallel()
	for _, width := range []int{1400, 390} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			f := startFake(t, "attack")
			// the longest action
			f.set = []object{sceneFlag{
				"per-ip", "203.0.113.99", "shed", "self", "", 0.9995,
				200_000, 100, time.Hour,
			}.at(time.Now())}
			l := open(t, f, width, 900, width < 800)
			l.live()
			l.wait(row("2001:db8:77:1::5a"))
			for range 2 { // the first page, and the one with the longest time left
				cut := value[[]string](l,
					`[...document.querySelectorAll('th, td.num, #mitigations td:nth-child(7), .act, .load, .legend, .legend span, .figures dd, .readout dt, .readout dd, select, button:not(.link), #cluster td')]
					.filter((e) => e.checkVisibility() && !e.classList.contains('hidden') && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline').map((e) => e.outerHTML.slice(0, 160))`)
				if len(cut) > 0 {
					t.Errorf("%d are cut: %q", len(cut), cut)
				}
				for _, key := range []string{"203.0.113.40", "2001:db8:77:1::5a"} {
					if value[bool](l,
						`((e) => e && e.scrollWidth > e.clientWidth)(`+row(key)+
							`?.querySelector('.link'))`) {
						t.Errorf("%s is cut", key)
					}
				}
				if wide := value[[]string](l,
					`[...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.ariaLabel)`); len(wide) > 0 {
					t.Errorf("to be scrolled sideways: %q", wide)
				}
				l.run(`document.querySelector('[aria-label="Next mitigations"]').click()`)
				l.wait(row("198.51.100.23"))
			}
		})
	}
}

// TestDashboardPolicies checks that what policies did is shown, as text, and that there is no
// section without them.
func TestDashboardPolicies(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "policies"), 1400, 900, false)
	l.live()
	l.wait(`document.querySelectorAll('#policies tbody tr').length === 3`)
	rows := value[[]string](l,
		`[...document.querySelectorAll('#policies tbody tr')].map((r) => [...r.cells].map((c) => c.textContent.trim()).join(' | '))`)
	for n, want := range []string{
		"ours | skip all | – | enforce | 1\u202f200 | 0 | 1m\u202f", "login | ask login | client " +
			"| enforce | 25\u202f340 | 812 | 1m\u202f", worst + " | ask search | " +
			"header.x-api-key@tenants | client | shadow | 40 | 7 would be | never",
	} {
		if !strings.HasPrefix(rows[n], want) {
			t.Errorf("row %d: %q, want %q", n, rows[n], want)
		}
	}
	without := open(t, startFake(t, "attack"), 1400, 900, false)
	without.live()
	if !value[bool](without, `document.getElementById('policies').hidden`) {
		t.Error("there is a section of policies without any")
	}
}

// TestDashboardLinks checks that the other living nodes' dashboards are linked.
func TestDashboardLinks(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "attack"), 1400, 900, false)
	l.live()
	l.wait(`document.querySelectorAll('#gossip-part tbody tr').length === 6`)
	links := value[[]string](l,
		`[...document.querySelectorAll('#gossip-part tbody a')].map((a) => a.textContent + ' ' + a.href + ' ' + a.rel)`)
	if len(links) != 4 || links[0] != "lhr-2 http://198.51.100.11:4292/ noopener noreferrer" ||
		strings.Contains(fmt.Sprint(links), "fra-2") {
		t.Errorf("%q", links)
	}
	pages := value[[]bool](l, module("cluster")+`.then((m) => ['javascript:alert(1)', 'https://192.0.2.1/', '//192.0.2.1/', 'http://192.0.2.1:4292/', '', undefined]
		.map((dashboard) => Boolean(m.pageOf({ state: 'alive', dashboard }))))`)
	if want := []bool{false, false, false, true, false, false}; !slices.Equal(pages, want) {
		t.Errorf("linked: %v, want %v", pages, want)
	}
}

// TestDashboardNoHoles checks that tables of few rows are not high.
func TestDashboardNoHoles(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "quiet"), 1400, 900, false)
	l.live()
	l.wait(row("198.51.100.23"))
	for _, id := range []string{"mitigations-area", "top-area", "explain-answer"} {
		if high := value[int](l, `document.querySelector('#`+id+`').offsetHeight`); high > 130 {
			t.Errorf("%s is %d pixels high", id, high)
		}
	}
}

// TestDashboardRequests: the page and one script are all that a browser loads to show it.
func TestDashboardRequests(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "calm"), 1400, 900, false)
	l.live()
	loaded := value[[]string](l, `performance.getEntriesByType('resource').map((e) =>
		new URL(e.name).pathname).filter((p) => p.startsWith('/assets/') && !p.endsWith('.svg'))`)
	if len(loaded) != 1 || !strings.HasSuffix(loaded[0], "/js/page.js") {
		t.Errorf("loaded %q", loaded)
	}
}

// TestDashboardBelow: on a phone the answer opens below the row that was tapped and stays there
// while rows come and go; Close, and a row that ends, put it back.
func TestDashboardBelow(t *testing.T) {
	t.Parallel()
	f := startFake(t, "attack")
	l := open(t, f, 390, 844, false)
	l.live()
	const below = `document.querySelector('#mitigations-table tbody tr:nth-child(3) + tr.below')`
	l.run(`document.querySelectorAll('#mitigations-table tbody tr')[2].cells[3].click()`)
	l.wait(below + `?.querySelector('.verdict .key')?.textContent ===
		document.querySelectorAll('#mitigations-table tbody tr')[2].item.key`)
	l.run(`document.querySelector('#mitigations-table th[data-sort=key] button').click()`)
	l.wait(`(() => { const at = document.querySelector('tr.below').previousElementSibling;
		return at.item.key === document.querySelector('.verdict .key').textContent; })()`)
	l.run(`document.querySelector('tr.below button.plain').click()`)
	l.wait(`!document.querySelector('tr.below') &&
		document.querySelector('#explain > #explain-answer')`)
	l.run(`document.querySelectorAll('#mitigations-table tbody tr')[1].cells[3].click()`)
	l.run(`document.getElementById('mitigations-filter').value = 'no such key'`)
	l.run(`document.getElementById('mitigations-filter').dispatchEvent(new Event('input'))`)
	l.wait(`document.querySelector('#explain > #explain-answer .verdict')`)
}

// TestDashboardAddresses: who is denied stands before the rules, and #rule=, #policy= and #explain=
// name a place of the page.
func TestDashboardAddresses(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "kinds"), 1400, 900, false)
	l.live()
	order := value[[]string](l,
		`[...document.querySelectorAll('main section[id]')].map((s) => s.id)`)
	if got := strings.Join(order, " "); got !=
		"surge start mitigations explain rules limits policies pools top cluster" {
		t.Error(got)
	}
	l.run(`location.hash = '#rule=partners'`)
	l.wait(`document.getElementById('rule-filter').value === 'partners'`)
	l.wait(`document.querySelectorAll('#cards .card').length === 1`)
	l.wait(`document.querySelector('#cards h3 a').hash === '#rule=partners'`)
	l.run(`location.hash = '#explain=api,tenant-12'`)
	l.wait(`document.querySelector('#explain-answer .key')?.textContent === 'tenant-12'`)
	l.run(`location.hash = '#explain=%zz,%'`) // no address
	l.run(`document.querySelector('#top-table button.link:not([disabled])').click()`)
	l.wait(`location.hash.startsWith('#explain=') && !location.hash.includes('%zz')`)
}
