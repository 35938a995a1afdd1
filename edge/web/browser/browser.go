// Package browser drives Chromium for tests: a real page in a real browser, over the DevTools
// protocol.
//
//	test ──Go, Do, Wait, Press──► Page ──one JSON message each──► pipe ──► chromium --headless
//	     ◄──Complaints────────────  └──console, exceptions, dialogs ◄──┘
//
// It speaks over a pipe, so no port is open and nothing but the standard library is needed.
package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// names are Chromium's names, best first.
var names = []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome"}

// Find returns where a Chromium is, or an error that names the missing program.
func Find() (string, error) {
	for _, name := range names {
		if at, err := exec.LookPath(name); err == nil {
			return at, nil
		}
	}
	return "", errors.New("chromium is not installed")
}

// errGone is the error of a call to a browser that has ended.
var errGone = errors.New("browser: it has ended")

// Browser is a running Chromium. Its methods are safe for concurrent use.
type Browser struct {
	cmd     *exec.Cmd
	pipe    *pipe
	profile string
	reading sync.WaitGroup

	mu      sync.Mutex
	last    int
	waiting map[int]chan message
	pages   map[string]*Page // by session
	gone    bool
}

// Start runs the Chromium at path until Close.
func Start(path string) (*Browser, error) {
	profile, err := os.MkdirTemp("", "headgate-browser")
	if err != nil {
		return nil, fmt.Errorf("browser: make a profile: %w", err)
	}
	b := &Browser{profile: profile, waiting: map[int]chan message{}, pages: map[string]*Page{}}
	b.cmd = exec.Command(path, arguments(profile)...) //nolint:gosec // the path comes from Find
	// Its output is a pipe its helper processes hold too, so Wait waits for them all: they write to
	// the profile.
	b.cmd.Stderr, b.cmd.WaitDelay = io.Discard, closeTimeout
	if b.pipe, err = startPiped(b.cmd); err != nil {
		return nil, errors.Join(fmt.Errorf("browser: start %s: %w", path, err),
			os.RemoveAll(profile))
	}
	b.reading.Go(b.read)
	return b, nil
}

func arguments(profile string) []string {
	return []string{
		"--headless=new", "--remote-debugging-pipe", "--user-data-dir=" + profile,
		"--no-first-run", "--no-default-browser-check", "--disable-gpu", "--disable-extensions",
		"--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--metrics-recording-only",
		"--hide-scrollbars", "--mute-audio",
		"--disable-dev-shm-usage", "--force-color-profile=srgb",
		"--no-sandbox", // in containers there is none to be had, and it opens our own pages only
		"about:blank",
	}
}

// closeTimeout is how long a browser may take to end by itself, and its helpers after it.
const closeTimeout = 5 * time.Second

// Close ends the browser and removes its profile.
func (b *Browser) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = b.call(ctx, "", "Browser.close", struct{}{}, nil) // it may have ended by itself
	defer context.AfterFunc(ctx, func() { _ = b.cmd.Process.Kill() })()
	_ = b.cmd.Wait() // however it ended, it has
	b.pipe.close()
	b.reading.Wait()
	return os.RemoveAll(b.profile)
}

// message is a call, its answer, or an event.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
		Data    string `json:"data"`
	} `json:"error,omitempty"`
}

// call asks method of the browser, or of the page of a session, and decodes what it answers into
// result, unless that is nil.
func (b *Browser) call(ctx context.Context, session, method string, params, result any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("browser: %s: %w", method, err)
	}
	// Room for a message: read must not wait for a caller that has given up.
	answered := make(chan message, 1)
	id, err := b.expect(answered)
	if err != nil {
		return fmt.Errorf("%w: %s", err, method)
	}
	defer b.forget(id)
	if err := b.pipe.send(message{
		ID: id, Session: session, Method: method,
		Params: body,
	}); err != nil {
		return fmt.Errorf("browser: %s: %w", method, err)
	}
	select {
	case <-ctx.Done():
		return fmt.Errorf("browser: %s: %w", method, ctx.Err())
	case m, ok := <-answered:
		switch {
		case !ok:
			return fmt.Errorf("%w: %s", errGone, method)
		case m.Error != nil:
			return fmt.Errorf("browser: %s: %s %s", method, m.Error.Message, m.Error.Data)
		case result == nil:
			return nil
		}
		return json.Unmarshal(m.Result, result)
	}
}

// expect notes that answered waits for an answer, and returns the number of the call.
func (b *Browser) expect(answered chan message) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone {
		return 0, errGone
	}
	b.last++
	b.waiting[b.last] = answered
	return b.last, nil
}

func (b *Browser) forget(id int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, id)
}

// read distributes the browser's messages until it ends.
// At the end all who wait are let go by closing their channels.
func (b *Browser) read() {
	for {
		m, err := b.pipe.receive()
		if err != nil {
			break
		}
		b.take(m)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gone = true
	for id, waits := range b.waiting {
		delete(b.waiting, id)
		close(waits)
	}
}

func (b *Browser) take(m message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.ID != 0 {
		if waits := b.waiting[m.ID]; waits != nil {
			waits <- m // there is room: each is answered once
			delete(b.waiting, m.ID)
		}
		return
	}
	if p := b.pages[m.Session]; p != nil {
		p.note(m)
	}
}
