//go:build !race

package browser

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

const patience = 30 * time.Second

// start runs a browser until the test ends.
func start(t *testing.T) *Browser {
	t.Helper()
	path, err := Find()
	if err != nil {
		t.Skip(err)
	}
	b, err := Start(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(b.profile); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the profile is left: %v", err)
		}
	})
	return b
}

// show opens a page that holds body.
func show(ctx context.Context, t *testing.T, b *Browser, body string) *Page {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><link rel=icon href=data:,>" + body))
	}))
	t.Cleanup(s.Close)
	p, err := b.Open(ctx, 400, 300, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Go(ctx, s.URL); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPage drives a page as a person would, and has the browser complain of each kind of thing that
// it complains of: what holds that there were no complaints must be able to find some.
func TestPage(t *testing.T) {
	b := start(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p := show(ctx, t, b, "<input id=a><button onclick='window.pressed = true'>go</button>")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(p.Press(ctx, "Tab"))
	must(p.Type(ctx, "müller <b>"))
	must(p.Press(ctx, "!"))
	must(p.Press(ctx, "Tab"))
	must(p.Press(ctx, "Enter"))
	must(p.Wait(ctx, "window.pressed"))
	var typed []any
	must(p.Do(ctx, "Promise.resolve([document.querySelector('#a').value, innerWidth, "+
		"matchMedia('(prefers-color-scheme: dark)').matches])", &typed))
	if typed[0] != "müller <b>!" || typed[1] != 400.0 || typed[2] != false {
		t.Errorf("%v", typed)
	}
	must(p.Prefer(ctx, true))
	must(p.Wait(ctx, "matchMedia('(prefers-color-scheme: dark)').matches"))
	must(p.Do(ctx, "setTimeout(() => location.reload(), 50)", nil))
	must(p.Wait(ctx, "!window.pressed"))
	if picture, err := p.Picture(ctx, false); err != nil ||
		!strings.HasPrefix(string(picture), "\x89PNG") {
		t.Errorf("picture: %.8q, %v", picture, err)
	}
	if said := p.Complaints(); len(said) != 0 {
		t.Errorf("complaints: %v", said)
	}
	must(p.Do(ctx, "console.error('one'); console.warn('two'); setTimeout(() => { throw new "+
		"Error('three'); }); fetch('/four'); console.log('none')", nil))
	for _, want := range []string{"one", "two", "three", "404"} {
		for !strings.Contains(strings.Join(p.Complaints(), "\n"), want) && ctx.Err() == nil {
			must(p.Wait(ctx, "true"))
		}
		if ctx.Err() != nil {
			t.Fatalf("not complained of: %s", want)
		}
	}
	if asked := strings.Join(p.Requests(), " "); !strings.Contains(asked, "/four") {
		t.Errorf("asked: %s", asked)
	}
}

// TestPageErrors checks that a wrong call is an error, and no wait without end.
func TestPageErrors(t *testing.T) {
	b := start(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p := show(ctx, t, b, "")
	if err := p.Do(ctx, "nowhere.at.all", nil); err == nil ||
		!strings.Contains(err.Error(), "nowhere is not defined") {
		t.Errorf("%v", err)
	}
	short, end := context.WithTimeout(ctx, 50*time.Millisecond)
	defer end()
	if err := p.Wait(short, "false"); !errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(err.Error(), "waiting for false") {
		t.Errorf("%v", err)
	}
	if err := p.Go(ctx, "http://127.0.0.1:1/"); err == nil ||
		!strings.Contains(err.Error(), "http://127.0.0.1:1/") {
		t.Errorf("%v", err)
	}
	if err := p.call(ctx, "No.such", nil, nil); err == nil {
		t.Error("a method that there is not was answered")
	}
	if err := p.Do(ctx, "setTimeout(() => alert(1)); 1", nil); err != nil {
		t.Fatal(err)
	}
	for p.Dialogs() == 0 && ctx.Err() == nil {
		_ = b.call(ctx, "", "Browser.getVersion", nil, nil)
	}
	if p.Dialogs() != 1 {
		t.Errorf("%d alerts", p.Dialogs())
	}
}

// TestBrowserEnds checks that a browser that ends by itself is an error to whoever asks it.
func TestBrowserEnds(t *testing.T) {
	b := start(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	// with all its helper processes, which end after it
	if _, err := b.Open(ctx, 100, 100, false); err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Open(ctx, 100, 100, false); err == nil {
		t.Error("a browser that has ended opened a page")
	}
	if _, err := Start("/nowhere/chromium"); err == nil {
		t.Error("what is not there was started")
	}
}
