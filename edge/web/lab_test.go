//go:build !race

package web

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/web/browser"
)

// patience is how long a test may keep a page on a busy machine, all its steps together.
const patience = 2 * time.Minute

// running is the browser of all tests here: to start one takes longer than most of them.
var running struct {
	once sync.Once
	*browser.Browser
	err error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if running.Browser != nil {
		_ = running.Close()
	}
	os.Exit(code)
}

// lab is a page in a browser, under test.
type lab struct {
	testing.TB
	page *browser.Page
	ctx  context.Context
	may  []string // what the browser may complain of
}

// open shows what f serves, in a window of a size; touch makes it a phone's.
func open(t testing.TB, f *fake, width, height int, touch bool) *lab {
	t.Helper()
	path, err := browser.Find()
	if err != nil {
		t.Skip(err)
	}
	running.once.Do(func() { running.Browser, running.err = browser.Start(path) })
	if running.err != nil {
		t.Fatal(running.err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	page, err := running.Open(ctx, width, height, touch)
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{TB: t, page: page, ctx: ctx}
	t.Cleanup(l.end)
	l.must(page.Go(ctx, f.URL))
	return l
}

// end holds the page to having asked nobody else, and to the browser having had nothing to complain
// of.
func (l *lab) end() {
	for _, said := range l.page.Complaints() {
		allowed := false
		for _, may := range l.may {
			allowed = allowed || strings.Contains(said, may)
		}
		if !allowed {
			l.Errorf("the browser says %s", said)
		}
	}
	if n := l.page.Dialogs(); n != 0 {
		l.Errorf("%d alerts or the like", n)
	}
	for _, url := range l.page.Requests() {
		if !strings.HasPrefix(url, "http://127.0.0.1:") {
			l.Errorf("the page asked %s", url)
		}
	}
	l.must(l.page.Close(context.Background()))
}

func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// wait waits until a condition in JavaScript holds.
func (l *lab) wait(condition string) {
	l.Helper()
	l.must(l.page.Wait(l.ctx, condition))
}

// run does something in JavaScript.
func (l *lab) run(expression string) {
	l.Helper()
	l.must(l.page.Do(l.ctx, expression, nil))
}

// press presses keys, one after the other.
func (l *lab) press(keys ...string) {
	l.Helper()
	for _, key := range keys {
		l.must(l.page.Press(l.ctx, key))
	}
}

func (l *lab) write(text string) {
	l.Helper()
	l.must(l.page.Type(l.ctx, text))
}

// value returns what an expression in JavaScript comes to.
func value[T any](l *lab, expression string) (v T) {
	l.Helper()
	l.must(l.page.Do(l.ctx, expression, &v))
	return v
}

// live waits until the stream is up and what it tells is shown.
func (l *lab) live() {
	l.Helper()
	l.wait(`document.querySelector('[data-part=stream]').dataset.state === 'good' && /\d/.test(document.querySelector('[data-figure=offered]').textContent)`)
}

// row is a row of the table of mitigations, by its key.
func row(key string) string {
	return `[...document.querySelectorAll('#mitigations-table tbody tr')].find((r) => r.item.key === ` + quote(key) + `)`
}

// quote makes a JavaScript string of text.
func quote(text string) string {
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`", "$", "\\$").Replace(text) + "`"
}

// choose chooses a rule.
func (l *lab) choose(rule string) {
	l.Helper()
	l.run(`{ const s = document.querySelector('#rule-filter'); s.value = ` + quote(rule) +
		`; s.dispatchEvent(new Event('change')); }`)
}
