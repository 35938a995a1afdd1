package browser

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Page is a tab. It keeps the browser's complaints. Its methods are safe for concurrent
// use.
type Page struct {
	browser *Browser
	session string

	mu         sync.Mutex
	complaints []string
	dialogs    int
	requests   []string
}

// Open opens an empty tab of a size in CSS pixels. touch makes it a phone's.
// Four domains report what a test wants to know of: loads, exceptions, the browser's own
// complaints, requests.
func (b *Browser) Open(ctx context.Context, width, height int, touch bool) (*Page, error) {
	var target struct {
		ID string `json:"targetId"`
	}
	if err := b.call(ctx, "", "Target.createTarget", map[string]any{"url": "about:blank"},
		&target); err != nil {
		return nil, err
	}
	var attached struct {
		Session string `json:"sessionId"`
	}
	if err := b.call(ctx, "", "Target.attachToTarget",
		map[string]any{"targetId": target.ID, "flatten": true}, &attached); err != nil {
		return nil, err
	}
	p := &Page{browser: b, session: attached.Session}
	b.mu.Lock()
	// Before the domains are enabled: their first events come with the answers.
	b.pages[p.session] = p
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		if err := p.call(ctx, domain+".enable", nil, nil); err != nil {
			return nil, err
		}
	}
	// Every page is to believe in being looked at: tests may run side by side.
	if err := p.call(ctx, "Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true},
		nil); err != nil {
		return nil, err
	}
	return p, p.Resize(ctx, width, height, touch)
}

// Resize gives p another size. One CSS pixel is a pixel of the picture.
func (p *Page) Resize(ctx context.Context, width, height int, touch bool) error {
	metrics := map[string]any{
		"width": width, "height": height,
		"deviceScaleFactor": 1, "mobile": touch,
	}
	if err := p.call(ctx, "Emulation.setDeviceMetricsOverride", metrics, nil); err != nil {
		return err
	}
	return p.call(ctx, "Emulation.setTouchEmulationEnabled", map[string]any{"enabled": touch}, nil)
}

// Prefer makes p believe that the person likes dark colours, or light. By the media feature the
// style sheets ask for, and not by the system's setting.
func (p *Page) Prefer(ctx context.Context, dark bool) error {
	scheme := map[string]string{"name": "prefers-color-scheme", "value": "light"}
	if dark {
		scheme["value"] = "dark"
	}
	return p.call(ctx, "Emulation.setEmulatedMedia", map[string]any{"features": []any{scheme}}, nil)
}

func (p *Page) call(ctx context.Context, method string, params, result any) error {
	if params == nil {
		params = struct{}{}
	}
	return p.browser.call(ctx, p.session, method, params, result)
}

// Go loads url, and returns when its document is there.
// Page.navigate answers as soon as the load has begun.
func (p *Page) Go(ctx context.Context, url string) error {
	var navigated struct {
		Error string `json:"errorText"`
	}
	if err := p.call(ctx, "Page.navigate", map[string]any{"url": url}, &navigated); err != nil {
		return err
	}
	if navigated.Error != "" {
		return fmt.Errorf("browser: load %s: %s", url, navigated.Error)
	}
	return p.Wait(ctx, "document.readyState === 'complete'")
}

// Do evaluates a JavaScript expression, waits for its promise, and decodes it into result, unless
// that is nil. It counts as a person's act (userGesture), as some functions of a page need an act.
func (p *Page) Do(ctx context.Context, expression string, result any) error {
	var done struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	params := map[string]any{
		"expression": expression, "awaitPromise": true, "returnByValue": true,
		"userGesture": true,
	}
	if err := p.call(ctx, "Runtime.evaluate", params, &done); err != nil {
		return err
	}
	// text is "Uncaught", and the description has the error with its stack.
	if done.Exception != nil {
		return fmt.Errorf("browser: %s: %s %s", expression, done.Exception.Text,
			done.Exception.Exception.Description)
	}
	if result == nil || len(done.Result.Value) == 0 {
		return nil
	}
	return json.Unmarshal(done.Result.Value, result)
}

// Wait waits until a JavaScript condition holds, on whatever the page loads meanwhile.
// It looks each 20 ms inside the page, which is quicker than asking over the pipe.
func (p *Page) Wait(ctx context.Context, condition string) error {
	for {
		err := p.Do(ctx, `new Promise((resolve) => {
			const look = () => { if (`+condition+`) resolve(); else setTimeout(look, 20); };
			look();
		})`, nil)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return fmt.Errorf("browser: waiting for %s: %w", condition, err)
		case err == nil || !loaded(err):
			return err
		}
	}
}

// loaded reports whether err comes from the page having loaded something else meanwhile.
// Chromium's words differ by the moment at which the page went away.
func loaded(err error) bool {
	return slices.ContainsFunc([]string{
		"navigated", "context was destroyed", "not attached",
		"Not attached", "Cannot find context",
	}, func(words string) bool {
		return strings.Contains(err.Error(), words)
	})
}

// Type puts text in, as by a keyboard, where the focus is.
func (p *Page) Type(ctx context.Context, text string) error {
	return p.call(ctx, "Input.insertText", map[string]any{"text": text}, nil)
}

// codes are the keys that Press knows by name; others are characters.
// The numbers are those of DOM's keyCode.
var codes = map[string]int{"Tab": 9, "Enter": 13, "Escape": 27, "Space": 32, "ArrowDown": 40}

// Press presses a key, and lets it go.
// A character is typed by the text of its event, not by its code.
func (p *Page) Press(ctx context.Context, key string) error {
	event := map[string]any{"key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
	switch {
	case key == "Enter":
		event["text"] = "\r"
	case key == "Space":
		event["key"], event["text"] = " ", " "
	case codes[key] == 0:
		event["text"], event["windowsVirtualKeyCode"] = key, int(strings.ToUpper(key)[0])
	}
	for _, kind := range []string{"keyDown", "keyUp"} {
		event["type"] = kind
		if err := p.call(ctx, "Input.dispatchKeyEvent", event, nil); err != nil {
			return err
		}
		// Only keyDown types: with a text keyUp would type it again.
		delete(event, "text")
	}
	return nil
}

// Picture returns a PNG of the viewport, or of the whole page.
// At the size that Resize set; a page that is longer is drawn beyond it.
func (p *Page) Picture(ctx context.Context, whole bool) ([]byte, error) {
	var shot struct {
		Data string `json:"data"`
	}
	params := map[string]any{"format": "png", "captureBeyondViewport": whole}
	if err := p.call(ctx, "Page.captureScreenshot", params, &shot); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(shot.Data)
}

// note keeps the complaint of an event.
// Errors, warnings and failed assertions; console.log is nobody's complaint.
func (p *Page) note(m message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch m.Method {
	case "Runtime.exceptionThrown", "Log.entryAdded":
		p.complaints = append(p.complaints, string(m.Params))
	case "Runtime.consoleAPICalled":
		var said struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(m.Params, &said) != nil || said.Type == "error" ||
			said.Type == "warning" || said.Type == "assert" {
			p.complaints = append(p.complaints, string(m.Params))
		}
	// Counted and not answered: a page of ours opens none, and a page that does hangs until the
	// test's deadline.
	case "Page.javascriptDialogOpening":
		p.dialogs++
	case "Network.requestWillBeSent":
		var sent struct {
			Request struct {
				URL string `json:"url"`
			} `json:"request"`
		}
		if json.Unmarshal(m.Params, &sent) == nil {
			p.requests = append(p.requests, sent.Request.URL)
		}
	}
}

// Complaints returns the complaints of the console, the page's own code and the browser so far, as
// JSON.
func (p *Page) Complaints() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.complaints)
}

// Dialogs returns how many times the page opened an alert, or the like.
func (p *Page) Dialogs() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dialogs
}

// Requests returns the addresses the page asked so far.
func (p *Page) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Close closes the tab.
func (p *Page) Close(ctx context.Context) error {
	err := p.call(ctx, "Page.close", nil, nil)
	p.browser.mu.Lock()
	defer p.browser.mu.Unlock()
	delete(p.browser.pages, p.session)
	return err
}
