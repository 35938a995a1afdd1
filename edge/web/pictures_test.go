//go:build pictures && !race

package web

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPictures takes pictures of the page as it may look, to be looked at:
//
//	PICTURES=/somewhere go test -tags pictures -run Pictures ./edge/web
func TestPictures(t *testing.T) {
	dir := os.Getenv("PICTURES")
	if dir == "" {
		t.Skip("PICTURES names no directory")
	}
	for _, shot := range []struct {
		name, scene   string
		width, height int
		touch         bool
		first         string // what is done before
	}{
		{"idle", "idle", 1400, 900, false, ""},
		{"attack", "attack", 1400, 900, false, explainGlobal},
		{"attack-dark", "attack", 1400, 900, false, explainGlobal + dark},
		{"degraded", "degraded", 1400, 900, false, explainWorst},
		{"ring-lost", "ringlost", 1400, 900, false, ""},
		{"ring-lost-dark", "ringlost", 1400, 900, false, dark},
		{"errors", "errors", 1400, 900, false, ""},
		{"first-steps", "alone", 1400, 900, false, ""},
		{"first-steps-dark", "alone", 1400, 900, false, dark},
		{"quiet", "quiet", 1400, 900, false, ""},
		{"six-hours", "attack", 1400, 900, false, sixHours},
		{"many", "many", 1400, 900, false, ""},
		{"block", "attack", 1400, 900, false, `document.querySelector('#open-block').click();`},
		{"lost", "attack", 1400, 900, false, "lost"},
		{"phone", "attack", 390, 844, true, explainGlobal},
		{"phone-dark", "degraded", 390, 844, true, dark},
		{"hover", "attack", 1400, 900, false, hover},
		{"phone-first-steps", "alone", 390, 844, true, ""},
		{"phone-ring-lost", "ringlost", 390, 844, true, ""},
		{"hero", "hero", 1400, 1000, false, explainGlobal},
		{"tablet", "attack", 820, 1100, true, ""},
		{"policies", "policies", 1400, 900, false, ""},
		{"kinds", "kinds", 1400, 900, false, explainOf("exports")},
		{"kinds-dark", "kinds", 1400, 900, false, explainOf("api") + dark},
		{"networks", "kinds", 1400, 900, false, explainOf("signin")},
		{"clients-dark", "kinds", 1400, 900, false, explainOf("partners") + dark},
		{"surge", "attack", 1400, 900, false, "surge-attack"},
		{"surge-shadow", "attack", 1400, 900, false, "surge-attack shadow"},
		{"surge-enforced", "attack", 1400, 900, false, "surge-attack enforce"},
		{"surge-crowd", "attack", 1400, 900, false, "surge-crowd"},
		{"phone-surge", "attack", 390, 844, true, "surge-attack"},
		{"phone-surge-shadow", "attack", 390, 844, true, "surge-attack shadow"},
		{"phone-kinds", "kinds", 390, 844, true, explainOf("api")},
	} {
		t.Run(shot.name, func(t *testing.T) {
			f := startFake(t, shot.scene)
			if kind, ok := strings.CutPrefix(shot.first, "surge-"); ok {
				kind, mode, _ := strings.Cut(kind, " ")
				if f.findings = findings(kind); mode != "" {
					f.findings[0]["applied"] = object{
						"mode": mode, "until": time.Now().Add(29 * time.Minute), "by": "kim",
						"matched": 31240, "denied": 31240,
					}
				}
				shot.first = ""
			}
			f.every = time.Second
			l := open(t, f, shot.width, shot.height, shot.touch)
			l.may = []string{"503"}
			l.live()
			if shot.first == "lost" {
				f.cutStreams(true)
				l.wait(`document.body.classList.contains('stale')`)
			} else {
				l.run(shot.first)
			}
			l.run(`document.activeElement.blur(); new Promise((done) => setTimeout(done, 1500))`)
			for name, whole := range map[string]bool{"": false, "-whole": true} {
				picture, err := l.page.Picture(l.ctx, whole)
				l.must(err)
				l.must(os.WriteFile(filepath.Join(dir, shot.name+name+".png"), picture, 0o644))
			}
			l.run(`localStorage.clear()`)
		})
	}
}

const (
	hover         = `for (const kind of ['mouseenter', 'mousemove']) { const o = document.querySelector('.card .u-over'), b = o.getBoundingClientRect(); o.dispatchEvent(new MouseEvent(kind, { clientX: b.left + b.width * 0.7, clientY: b.top + 20, bubbles: true })); }`
	sixHours      = `{ const s = document.querySelector('#range'); s.value = '6h'; s.dispatchEvent(new Event('change')); }`
	dark          = `document.dispatchEvent(new Event('next-theme')); document.dispatchEvent(new Event('next-theme'));`
	explainGlobal = `{ const r = [...document.querySelectorAll('#top-table tr')].find((r) => r.item?.rule === 'api-key'); r.querySelector('button.link').click(); }`
	explainWorst  = `{ const r = [...document.querySelectorAll('#mitigations-table tr')].find((r) => r.item?.key.startsWith('<script')); r.querySelector('button.link').click(); }`
)

// explainOf explains the heaviest key of a rule.
func explainOf(rule string) string {
	return `[...document.querySelectorAll('#top-table tr')].find((r) => r.item?.rule === '` + rule +
		`').querySelector('button.link').click();`
}

// TestPictureOf takes a picture of the dashboard of a node that runs, after it explained its
// heaviest key:
//
//	PICTURES=/somewhere PICTURE_OF=http://127.0.0.1:4292/ go test -tags pictures -run PictureOf ./edge/web
func TestPictureOf(t *testing.T) {
	url := os.Getenv("PICTURE_OF")
	if url == "" {
		t.Skip("PICTURE_OF names no dashboard")
	}
	l := open(t, &fake{Server: &httptest.Server{URL: url}}, 1400, 1000, false)
	l.live()
	l.wait(`document.querySelector('#top-table tbody button')`)
	l.run(`document.querySelector('#top-table tbody button').click(); new Promise((done) => setTimeout(done, 3000))`)
	for name, whole := range map[string]bool{"of": false, "of-whole": true} {
		picture, err := l.page.Picture(l.ctx, whole)
		l.must(err)
		l.must(os.WriteFile(filepath.Join(os.Getenv("PICTURES"), name+".png"), picture, 0o644))
	}
}
