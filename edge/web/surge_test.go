//go:build !race

package web

import "testing"

// TestDashboardSurge: the card of a finding is there while one is, shows text as text, and applies,
// enforces and undoes the policy.
func TestDashboardSurge(t *testing.T) {
	t.Parallel()
	f := startFake(t, "idle")
	l := open(t, f, 1400, 900, false)
	l.live()
	l.wait(`document.querySelector('#surge').hidden`)
	f.mu.Lock()
	f.findings = findings("attack")
	f.mu.Unlock()
	changed := `(` + module("surge") + `).then((m) => m.surgeChanged())`
	l.run(changed)
	l.wait(`document.querySelector('.finding .sentence')?.textContent.includes('<b>1</b>') &&
		!document.querySelector('.finding b') && !document.querySelector('#surge').hidden`)
	seen := `[...document.querySelectorAll('.finding button')].filter((b) => !b.hidden).map(
		(b) => b.textContent).join('|')`
	press := func(name string) {
		t.Helper()
		l.run(`[...document.querySelectorAll('.finding button')].find((b) => b.textContent === '` +
			name + `').click()`)
	}
	l.wait(seen + ` === 'Apply in shadow'`)
	press("Apply in shadow")
	l.wait(seen + ` === 'Enforce|Undo' && 
		/31.240 requests matched, 31.240 would have/.test(
			document.querySelector('.applied').textContent)`)
	press("Enforce")
	l.wait(seen + ` === 'Undo' && document.querySelector('.applied').textContent.includes(
		'in mode enforce')`)
	press("Undo")
	l.wait(seen + ` === 'Apply in shadow'`)
	f.mu.Lock()
	f.findings = findings("crowd")
	f.mu.Unlock()
	l.run(changed)
	l.wait(`document.querySelector('.finding h3').textContent === 'A crowd' &&
		document.querySelector('.finding .tools').hidden`)
	f.mu.Lock()
	f.findings = nil
	f.mu.Unlock()
	l.run(changed)
	l.wait(`document.querySelector('#surge').hidden`)
}
