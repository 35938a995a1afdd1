//go:build !race

package web

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestDashboardBlocks blocks a key by keyboard alone, sees it in the table, unblocks it, and takes
// that back.
func TestDashboardBlocks(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "idle"), 1400, 900, false)
	l.live()
	l.may = []string{"400"} // browsers say so of each answer that is an error
	l.press("b")
	l.wait(`document.querySelector('#hand').open && document.activeElement.id === 'hand-key'`)
	l.write(worst)
	l.press("Tab") // how long
	l.run(`document.activeElement.select()`)
	l.write("0m")
	l.press("Tab")
	l.write("it knocks")
	l.press("Tab")
	l.write("kim")
	l.press("Enter")
	l.wait(`document.querySelector('#hand-fault').textContent === 'ttl must be a duration from 1s to 720h, such as 10m'`)
	l.run(`document.querySelector('#hand-ttl').value = '10m'`)
	l.press("Enter")
	l.wait(`!document.querySelector('#hand').open && ` + row(worst))
	shown := value[[]string](l, `[...`+row(worst)+`.cells].map((c) => c.textContent)`)
	if want := []string{
		worst, "per-ip", "block", "0/s", "it knocks",
		"kim",
	}; !slices.Equal(shown[:6], want) || shown[7] != "Unblock" {
		t.Errorf("%q, want %q", shown, want)
	}
	l.run(row(worst) + `.querySelector('button.small').focus()`)
	l.press("Enter")
	l.wait(`/is unblocked under per-ip/.test(document.querySelector('#toasts').textContent)`)
	l.run(`document.activeElement.blur(); document.querySelector('.toast button').click()`)
	l.wait(row(worst) + `?.item.reason === 'it knocks'`)
}

// TestDashboardEverywhere blocks a customer by the key that the customer knows, under all rules.
func TestDashboardEverywhere(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "idle"), 1400, 900, false)
	l.live()
	l.press("b")
	l.write("nobody")
	l.run(`document.querySelector('#hand-rule').value = '*'`)
	l.press("Enter")
	l.wait(`document.querySelector('#hand-fault').textContent ===
		'No rule knows this key. signin is left: its keys are made of client.'`)
	l.run(`document.querySelector('#hand-key').value = 'k-3'`)
	l.press("Enter")
	l.wait(`document.querySelector('#toasts').textContent.includes(
		'Blocked: ~68b5 under api. signin is left: its keys are made of client.')`)
}

// TestDashboardLimits changes a limit from the panel that explains the key, sees the list, and
// takes the limit back.
func TestDashboardLimits(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "idle"), 1400, 900, false)
	l.live()
	l.wait(`document.querySelector('#limits').hidden`)
	l.press("e")
	l.run(`document.querySelector('#explain-rule').value = 'per-ip'`)
	l.write("203.0.113.40")
	l.press("Enter")
	l.wait(`document.querySelector('[data-does=limit]')`)
	l.run(`document.querySelector('[data-does=limit]').click()`)
	l.wait(`document.activeElement.id === 'hand-limit' &&
		!document.activeElement.parentElement.hidden`)
	l.write("12.345678")
	l.run(`document.querySelector('#hand-by').value = 'kim'
		document.querySelector('#hand-ttl').value = '7d'`)
	l.press("Enter")
	l.wait(`document.querySelector('#toasts').textContent.includes(
		'203.0.113.40 has 12.345678 under per-ip, was 10, for 1h')`)
	l.wait(`document.querySelector('#limits-part tbody tr')?.cells[2].textContent ===
		'12.345678 usd'`)
	l.run(`document.activeElement.blur()`)
	l.press("b") // the number is for a limit alone
	l.wait(`document.querySelector('#hand-limit').parentElement.hidden`)
	l.run(`document.querySelector('#hand-cancel').click()`)
	l.run(`document.querySelector('[data-does=unset]').click()`)
	l.wait(`document.querySelector('#limits').hidden`)
}

// TestDashboardAllows allows a key from the panel that explains it.
func TestDashboardAllows(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "attack"), 1400, 900, false)
	l.live()
	l.press("e")
	l.wait(`document.activeElement.id === 'explain-key'`)
	l.run(`document.querySelector('#explain-rule').value = 'per-ip'`)
	l.write("203.0.113.40")
	l.press("Enter")
	l.wait(`document.querySelector('.verdict')?.textContent.includes('Denied')`)
	l.run(`document.querySelector('[data-does=allow]').click()`)
	l.wait(`document.querySelector('#hand').open && document.querySelector('#hand-key').value === '203.0.113.40' && document.querySelector('#hand-do').textContent === 'Allow'`)
	l.press("Escape")
	l.wait(`!document.querySelector('#hand').open`)
}

// TestDashboardToken checks that a listener with a token gets it from the person, who may err once,
// and that it lasts until the tab is closed, not longer.
func TestDashboardToken(t *testing.T) {
	t.Parallel()
	f := startFake(t, "idle")
	f.token = "open sesame"
	l := open(t, f, 1400, 900, false)
	l.may = []string{"401"} // browsers say so of each answer that is an error
	for _, token := range []string{"open", "open sesame"} {
		l.wait(`document.querySelector('#token').open && document.activeElement.id === 'token-text' && document.activeElement.value === ''`)
		l.write(token)
		l.press("Enter")
	}
	l.live()
	l.must(l.page.Go(l.ctx, f.URL))
	l.live()
	if kept := value[[]int](l,
		`[sessionStorage.length, Object.values(localStorage).filter((v) => v.includes('sesame')).length]`); kept[0] != 1 || kept[1] != 0 {
		t.Errorf("kept: %v", kept)
	}
}

// TestDashboardTokenDeclined checks that who gives no token is not asked again and again, but is
// when he wants something.
func TestDashboardTokenDeclined(t *testing.T) {
	t.Parallel()
	f := startFake(t, "idle")
	f.token = "open sesame"
	l := open(t, f, 1400, 900, false)
	l.may = []string{"401"}
	l.wait(`document.querySelector('#token').open`)
	l.press("Escape")
	l.wait(`/The stream is lost: Authorization must be/.test(document.querySelector('#headline').textContent)`)
	l.run(`window.asked = 0; new MutationObserver(() => { asked++; }).observe(document.querySelector('#token'), { attributes: true })`)
	tries := func() (n int) {
		for _, url := range l.page.Requests() {
			if strings.Contains(url, "/v1/events") {
				n++
			}
		}
		return n
	}
	for was := tries(); tries() < was+2; {
		l.wait(`true`)
	}
	if n := value[int](l, `asked`); n != 0 {
		t.Errorf("the dialog was opened or closed %d times by itself", n)
	}
	l.run(`document.querySelector('#explain-rule').append(new Option('per-ip')); document.querySelector('#explain-key').focus()`)
	l.write("203.0.113.7")
	l.press("Enter")
	l.wait(`document.querySelector('#token').open`)
	l.write("open sesame")
	l.press("Enter")
	l.wait(`document.querySelector('.verdict')`)
	l.live()
}

// TestDashboardKeyboard checks that Tab comes by everything that can be clicked, in the order of
// the page, and shows where it is.
func TestDashboardKeyboard(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "attack"), 1400, 900, false)
	l.live()
	l.wait(row(worst))
	// rows keep their places from here on
	l.run(`document.querySelector('#mitigations-table tbody button').focus()`)
	l.run(row(worst) + `.querySelector('button.link').click()`)
	l.wait(`document.querySelector('[data-does=allow]')`)
	l.run(`window.came = new Set(); window.unseen = []; document.activeElement.blur(); getSelection().removeAllRanges();
		document.querySelector('.skip').focus(); came.add(document.activeElement);
		document.addEventListener('focusin', (e) => { came.add(e.target);
			const s = getComputedStyle(e.target); if (s.outlineStyle === 'none' || s.outlineWidth === '0px') unseen.push(e.target.outerHTML); })`,
	)
	left := `[...document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')]
		.filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.disabled && !e.closest('dialog') && !came.has(e))`
	// A row that goes while it has the focus leaves that to the body, so that a round ends where it
	// began; rows that come or move meanwhile are met in a later round.
	var missed []string
	for range 5 {
		l.run(`window.here = new Set(` + left + `)`) // a busy machine has new rows in each round
		for range 200 {
			l.press("Tab")
			if value[bool](l, `document.activeElement === document.querySelector('.skip')`) {
				break
			}
		}
		missed = value[[]string](l, left+`.filter((e) => here.has(e)).map((e) => e.outerHTML)`)
		if len(missed) == 0 {
			break
		}
	}
	if len(missed) > 0 {
		t.Errorf("Tab never came by %d: %s", len(missed), missed[0])
	}
	if unseen := value[[]string](l, `unseen`); len(unseen) > 0 {
		t.Errorf("the focus is not seen on %d: %s", len(unseen), unseen[0])
	}
}

// TestDashboardNames checks that everything that can be clicked or typed into has a name, for those
// who do not see it.
func TestDashboardNames(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "many"), 1400, 900, false)
	l.live()
	l.wait(`document.querySelector('#mitigations-table tbody button')`)
	nameless := value[[]string](l,
		`[...document.querySelectorAll('a, button, input, select, summary, table, dialog, [tabindex="0"], [role=img]')].filter((e) =>
		!(e.ariaLabel || e.textContent.trim() && e.tagName !== 'SELECT' && e.tagName !== 'TABLE' || e.labels?.[0]?.textContent.trim() ||
			document.getElementById(e.getAttribute('aria-labelledby')) || e.caption?.textContent)).map((e) => e.outerHTML.slice(0, 120))`,
	)
	if len(nameless) > 0 {
		t.Errorf("%d have no name: %q", len(nameless), nameless)
	}
}

// TestDashboardManyRules checks that a page of very many rules and mitigations is made within a
// second's fraction, and that the rule that denies most can be brought to the front.
func TestDashboardManyRules(t *testing.T) {
	f := startFake(t, "attack")
	f.is.rules, f.is.flags, f.every = 996, 5000, time.Second
	l := open(t, f, 1400, 900, false)
	l.live()
	l.wait(`document.querySelector('#rules-pager .note').textContent.includes('of 1\u202f000')`)
	l.run(`{ const s = document.querySelector('#rules-order'); s.value = 'denied'; s.dispatchEvent(new Event('change')); }`)
	first := value[[]string](l,
		`[...document.querySelectorAll('.card h3')].slice(0, 3).map((h) => h.textContent)`)
	if want := []string{"per-ip", "api-key", "login"}; !slices.Equal(first, want) {
		t.Errorf("most denied: %v, want %v", first, want)
	}
	l.run(`document.querySelector('#mitigations-pager button').click()`)
	l.wait(`document.querySelector('#mitigations-pager .note').textContent.includes('5\u202f01')`)
	took := value[float64](l, `(async () => {
		let least = Infinity; // of three seconds: other tests may keep the machine busy for one
		for (let n = 0; n < 3; n++) least = Math.min(least, await longest(1100));
		return least;
		function longest(ms) {
			return new Promise((resolve) => {
				let most = 0, last = performance.now();
				const end = last + ms, channel = new MessageChannel();
				channel.port1.onmessage = () => {
					const now = performance.now();
					most = Math.max(most, now - last);
					last = now;
					if (now < end) channel.port2.postMessage(0); else resolve(most);
				};
				channel.port2.postMessage(0);
			});
		}
	})()`)
	t.Logf("busy for at most %.0f ms in one go", took)
	if took > 500 {
		t.Errorf("the page was busy for %.0f ms in one go", took)
	}
}

// TestDashboardTheme checks that the colours follow the person, those that are drawn too, and are
// remembered.
func TestDashboardTheme(t *testing.T) {
	t.Parallel()
	f := startFake(t, "idle")
	l := open(t, f, 1400, 900, false)
	l.live()
	ground := func() string {
		return value[string](l,
			`getComputedStyle(document.body).backgroundColor`)
	}
	drawn := func(line, fill string) {
		t.Helper()
		l.wait(`((s) => s?.stroke() === ` + quote(line) + ` && s.fill() === ` + quote(fill) +
			`)(document.querySelector('.card')?.plot.chart.series[3])`)
	}
	light := ground()
	drawn("rgb(37, 89, 184)", "rgba(37, 89, 184, 0.18)")
	l.must(l.page.Prefer(l.ctx, true))
	system := ground()
	drawn("rgb(122, 168, 245)", "rgba(122, 168, 245, 0.2)")
	l.must(l.page.Prefer(l.ctx, false))
	drawn("rgb(37, 89, 184)", "rgba(37, 89, 184, 0.18)")
	l.press("t", "t")
	l.wait(`document.querySelector('#theme').textContent === 'Theme: dark'`)
	dark := ground()
	drawn("rgb(122, 168, 245)", "rgba(122, 168, 245, 0.2)")
	l.must(l.page.Go(l.ctx, f.URL))
	if again := ground(); dark == light || system != dark || again != dark {
		t.Errorf("light %s, dark as the system is %s, dark by choice %s, loaded again %s", light,
			system, dark, again)
	}
	l.run(`localStorage.clear()`)
}
