//go:build !race

package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestDashboardHostileKeys shows keys that would do harm were they markup: they are text, whole,
// and nothing runs.
func TestDashboardHostileKeys(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "attack"), 1400, 900, false)
	l.live()
	l.wait(row(worst))
	l.run(row(worst) + `.querySelector('button.link').click()`)
	l.wait(`document.querySelector('#explain-answer .verdict .key')?.textContent === ` +
		quote(worst))
	if n := value[int](l,
		`document.querySelectorAll('main script, main img, main iframe').length`); n != 0 {
		t.Errorf("%d elements that a key made", n)
	}
	if text := value[string](l, row(worst)+`.cells[0].textContent`); text != worst {
		t.Errorf("shown as %q", text)
	}
	if title := value[string](l, `document.title`); title != "▲ lhr-1 · headgate" {
		t.Errorf("title %q", title)
	}
}

// TestDashboardFilterSortPage checks the table of mitigations: all of them once they are loaded,
// what fits a filter, in the order that was asked for, in pages.
func TestDashboardFilterSortPage(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "many"), 1400, 900, false)
	l.live()
	l.wait(`document.querySelector('#mitigations-pager button').textContent.includes('100 of 356')`)
	l.run(`document.querySelector('#mitigations-pager button').click()`)
	// the last of three pages is there, of 150 each; some of them end meanwhile
	l.wait(`/of 3[345]./.test(document.querySelector('#mitigations-pager .note').textContent)`)
	l.run(`document.querySelector('#mitigations-filter').focus()`)
	l.write("192.0.2.33")
	keys := func() []string {
		return value[[]string](l,
			`[...document.querySelectorAll('#mitigations-table tbody tr')].map((r) => r.item.key)`)
	}
	// of 33 and 330 to 339
	l.wait(`document.querySelectorAll('#mitigations-table tbody tr').length === 10`)
	l.run(`document.querySelector('[data-sort=ratio] button').click(); document.querySelector('[data-sort=ratio] button').click()`)
	if got := keys(); got[0] != "192.0.2.33" || got[1] != "192.0.2.330" || got[9] != "192.0.2.338" {
		t.Errorf("by ratio upwards: %v", got)
	}
	l.run(`document.querySelector('[data-sort=key] button').click()`)
	if got := keys(); !slices.IsSorted(got) || value[string](l,
		`document.querySelector('[data-sort=key]').ariaSort`) != "ascending" {
		t.Errorf("by key: %v", got)
	}
	l.run(`document.querySelector('#mitigations-filter').value = ''; document.querySelector('#mitigations-filter').dispatchEvent(new Event('input'))`)
	first := keys()
	l.run(`document.querySelector('[aria-label="Next mitigations"]').click()`)
	if second := keys(); len(first) != 10 || len(second) != 10 || second[0] <= first[9] {
		t.Errorf("pages: %v, %v", first, second)
	}
	l.run(`document.querySelector('#mitigations-action').value = 'block'; document.querySelector('#mitigations-action').dispatchEvent(new Event('change'))`)
	if got := keys(); len(got) != 4 {
		t.Errorf("blocks: %v", got)
	}
}

// TestDashboardRule checks that a rule that is chosen is the one that all parts show.
func TestDashboardRule(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "many"), 1400, 900, false)
	l.live()
	l.wait(`document.querySelectorAll('.card').length === 8`)
	l.choose("login")
	l.wait(`document.querySelectorAll('.card').length === 1 && document.querySelector('.card h3').textContent === 'login'`)
	for _, table := range []string{"mitigations", "top"} {
		l.wait(`document.querySelector('#` + table + `-table tbody').rows.length === 3`)
		rules := value[[]string](l,
			`[...document.querySelectorAll('#`+table+
				`-table tbody tr')].map((r) => r.cells[1].textContent)`)
		if !slices.Equal(slices.Compact(rules), []string{"login"}) {
			t.Errorf("%s: %v", table, rules)
		}
	}
	l.choose("tenant-40")
	l.wait(`document.querySelector('#mitigations-empty').checkVisibility() && document.querySelector('.card h3').textContent === 'tenant-40'`)
}

// TestDashboardKeepsPlaces checks that rows stay where they are while somebody is about to click,
// gone ones too.
func TestDashboardKeepsPlaces(t *testing.T) {
	t.Parallel()
	f := startFake(t, "attack")
	l := open(t, f, 1400, 900, false)
	l.live()
	l.wait(row(worst))
	l.run(row(worst) + `.querySelector('button').focus()`)
	f.mu.Lock()
	f.lifted["login\n"+worst] = true
	f.mu.Unlock()
	l.wait(row(worst) + `.cells[6].textContent === 'ended'`)
	if !value[bool](l, row(worst)+`.contains(document.activeElement)`) {
		t.Error("the focus was lost")
	}
	l.run(`document.activeElement.blur()`)
	l.wait(`!` + row(worst))
}

// TestDashboardDegraded checks that what is lost is said where one looks first, part by part.
func TestDashboardDegraded(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "degraded"), 1400, 900, false)
	l.live()
	l.wait(`document.querySelector('#headline .words').textContent === 'The ring is lost: each node limits on its own. No other node answers gossip: each PoP limits on its own.'`)
	l.wait(`document.querySelector('#trouble .words').textContent.includes('Faults: ring lost; no other node answers gossip; the last reload failed, the old rules stay in force. 5 nodes do not answer:')`)
	for part, want := range map[string]string{
		"ring": "lost, failure modes apply", "gossip": "alone, no other node answers",
		"rules":    "1 of 4 enforced, 2 off, 1 in shadow, last reload failed",
		"counters": "67 % in use, too full for good estimates",
	} {
		got := value[[]string](l,
			`((p) => [p.dataset.state, p.querySelector('.words').textContent])(document.querySelector('[data-part=`+part+`]'))`)
		if got[0] != "bad" || strings.ReplaceAll(got[1], "\u202f", " ") != want {
			t.Errorf("%s: %q", part, got)
		}
	}
}

// TestDashboardStreamLost checks that figures that are old are shown as such, and that the stream
// is taken up again.
func TestDashboardStreamLost(t *testing.T) {
	t.Parallel()
	f := startFake(t, "attack")
	l := open(t, f, 1400, 900, false)
	l.may = []string{"503"} // browsers say so of each answer that is an error
	l.live()
	f.cutStreams(true)
	l.wait(`document.body.classList.contains('stale') && document.querySelector('[data-part=stream]').dataset.state === 'bad'`)
	l.wait(`/The stream is lost: .*\. The figures are those of \d\d:\d\d:\d\d\./.test(document.querySelector('#headline').textContent)`)
	f.cutStreams(false)
	l.live()
	l.wait(`!document.body.classList.contains('stale')`)
}

// TestDashboardUpgrade checks that a page whose node is another version after a break is loaded
// again.
func TestDashboardUpgrade(t *testing.T) {
	t.Parallel()
	f := startFake(t, "idle")
	l := open(t, f, 1400, 900, false)
	l.may = []string{"503"} // browsers say so of each answer that is an error
	l.live()
	l.run(`window.stillHere = true`)
	f.cutStreams(true) // until it is seen: the page comes back after a second
	l.wait(`document.querySelector('[data-part=stream]').dataset.state === 'bad'`)
	f.cutStreams(false)
	l.live()
	if !value[bool](l, `window.stillHere === true`) {
		t.Error("loaded again though the version is the same")
	}
	f.mu.Lock()
	f.build = "1"
	f.mu.Unlock()
	f.cutStreams(false)
	l.wait(`!window.stillHere && document.querySelector('#build')?.textContent === 'headgate v0.4.1'`)
}

// TestDashboardPhone checks that nothing makes the page scroll sideways on narrow screens.
func TestDashboardPhone(t *testing.T) {
	t.Parallel()
	for _, width := range []int{320, 390, 820} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			l := open(t, startFake(t, "attack"), width, 800, true)
			l.live()
			const heavy = `[...document.querySelectorAll('#top-table tbody tr')].find((r) => r.item.key === 'tenant-7f3a9b')`
			l.wait(heavy)
			l.run(heavy + `.querySelector('button.link').click()`)
			l.wait(`document.querySelector('.world tbody')?.rows.length === 3`)
			l.wait(`[...document.querySelector('.world tbody').rows].map((r) => Math.floor(parseFloat(r.cells[3].textContent) * 10)).join() === '38,38,33'`)
			for _, opened := range []string{"", `document.querySelector('#open-block').click()`} {
				l.run(opened)
				if wide := value[int](l,
					`Math.max(document.scrollingElement.scrollWidth, document.body.scrollWidth)`); wide > width {
					t.Errorf("%d pixels wide on %d after %q: %s", wide, width, opened,
						value[[]string](l, widest))
				}
			}
		})
	}
}

// widest names what is wider than the window and lies in nothing that scrolls.
const widest = `[...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.parentElement.closest('.scroll, details'))
	.map((e) => e.tagName + '#' + e.id + '.' + e.className)`

// TestDashboardStill checks that nothing moves by itself while figures change.
func TestDashboardStill(t *testing.T) {
	l := open(t, startFake(t, "attack"), 1400, 900, false)
	l.live()
	l.wait(row(worst))
	l.run(`new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted)))`)
	type shift struct {
		By  float64
		Who []string
	}
	moved := value[shift](l, `new Promise((resolve) => {
		const all = { by: 0, who: [] };
		new PerformanceObserver((list) => { for (const e of list.getEntries()) {
			all.by += e.value;
			all.who.push(...e.sources.map((s) => s.node?.outerHTML?.slice(0, 120)));
		} }).observe({ type: 'layout-shift' });
		setTimeout(() => resolve(all), 1500);
	})`)
	if moved.By > 0.002 {
		t.Errorf("moved by %v: %q", moved.By, moved.Who)
	}
}

// TestDashboardHover checks that all plots show the moment that somebody points at in one of them,
// while figures go on, and the present again after that.
func TestDashboardHover(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "attack"), 1400, 900, false)
	l.live()
	l.wait(`document.querySelectorAll('.card .u-over').length === 4 && document.querySelector('.card').columns[0].length > 100`)
	notes := `[...document.querySelectorAll('.card header .note')].map((n) => n.textContent)`
	point := func(kind string) {
		l.run(`{ const over = document.querySelector('.card .u-over'), box = over.getBoundingClientRect();
			over.dispatchEvent(new MouseEvent('` + kind +
			`', { clientX: box.left + box.width / 2, clientY: box.top + 20, bubbles: true })); }`)
	}
	point("mouseenter")
	point("mousemove")
	l.wait(notes + `.every((text) => /^at \d\d:\d\d:\d\d$/.test(text)) && new Set(` + notes +
		`).size === 1`)
	// several times as long as from one event to the next
	l.wait(`window.seen = (window.seen ?? 0) + 1, window.seen > 20`)
	right := value[bool](l, module("format")+
		`.then((m) => [...document.querySelectorAll('.card')].every((c) =>
		c.querySelector('dd').textContent === m.rate(c.columns[1][c.hovered]) && c.querySelector('header .note').textContent === 'at ' + m.clock(c.columns[0][c.hovered] * 1000)))`)
	if !right {
		t.Error("the figures are not those of the moment that is pointed at")
	}
	point("mouseleave")
	l.wait(notes + `.every((text) => / near limit$/.test(text))`)
}
