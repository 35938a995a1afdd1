package edge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/live"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// pipes is a listener without a network, for bubbles of virtual time. Nothing is buffered on the way.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	p.accept <- theirs
	return ours, nil
}

// follower is a client of a stream that reads whatever comes.
type follower struct {
	t      *testing.T
	body   io.ReadCloser
	events chan live.Event
	ended  error // once events is closed
}

// follow opens a stream over connections that dial makes.
func follow(t *testing.T, dial func(context.Context, string, string) (net.Conn, error), query string) *follower {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/v1/events"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Transport{DialContext: dial}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	if ct := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || ct != "text/event-stream" {
		t.Fatalf("status %d, %s", response.StatusCode, ct)
	}
	f := &follower{t: t, body: response.Body, events: make(chan live.Event, 1000)}
	var reading sync.WaitGroup
	reading.Go(f.read)
	t.Cleanup(func() {
		f.close()
		reading.Wait()
	})
	return f
}

func (f *follower) read() {
	defer close(f.events)
	for s := live.NewScanner(f.body); ; {
		e, err := s.Next()
		if err != nil {
			f.ended = err
			return
		}
		f.events <- e
	}
}

func (f *follower) close() { _ = f.body.Close() }

// next returns the next event, which must be called name.
func (f *follower) next(name string) live.Event {
	f.t.Helper()
	e, more := <-f.events
	if !more || e.Name != name {
		f.t.Fatalf("event %q %s, %v; want %s", e.Name, e.Data, f.ended, name)
	}
	return e
}

// eventOf returns the data of the next event, which must be called name.
func eventOf[T any](f *follower, name string) (v T) {
	f.t.Helper()
	e := f.next(name)
	if err := json.Unmarshal(e.Data, &v); err != nil {
		f.t.Fatalf("%s: %v", e.Data, err)
	}
	return v
}

// inBubble serves an admin on pipes in virtual time, which passes as test has it, and ends it.
func inBubble(t *testing.T, o AdminOptions, test func(t *testing.T, a *Admin, p *pipes)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o.Local = true
		a, p := newTestAdmin(t, o), newPipes()
		stop := serveAdmin(t, a, p)
		test(t, a, p)
		began := time.Now()
		if err := stop(); err != nil || time.Since(began) > 2*streamLastWord {
			t.Errorf("%v, stopped after %v", err, time.Since(began))
		}
	})
}

func (a *Admin) mustSet(t *testing.T, body string) {
	t.Helper()
	if w := a.ask("POST", "/v1/mitigations", body); w.Code != http.StatusCreated {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
}

// TestEvents follows a flag from when it is set until it is lifted, by a key that would do harm.
func TestEvents(t *testing.T) {
	var log bytes.Buffer
	o := AdminOptions{PoP: "lhr", Build: Build{Version: "v1"}, Log: slog.New(slog.NewJSONHandler(&log, nil))}
	inBubble(t, o, func(t *testing.T, a *Admin, p *pipes) {
		f := follow(t, p.dial, "")
		if hello := eventOf[HelloView](f, EventHello); hello != (HelloView{"test", "lhr", "v1"}) {
			t.Errorf("%+v", hello)
		}
		a.mustSet(t, `{"rule":"shed","shown":"`+strings.ReplaceAll(EscapeKey([]byte(hostileKey)), `\`, `\\`)+`","action":"block","reason":"a\u003cb","by":"kim"}`)
		e := f.next(EventFlagSet)
		var set MitigationView
		if err := json.Unmarshal(e.Data, &set); err != nil {
			t.Fatal(err)
		}
		if set.Rule != "shed" || set.Key != EscapeKey([]byte(hostileKey)) || set.Action != "block" || set.Source != "manual:kim" || set.Reason != "a<b" {
			t.Errorf("%+v", set)
		}
		if e.ID != "1" || bytes.ContainsAny(e.Data, "<>\x1b\r\x00\xff") {
			t.Errorf("id %s: %q", e.ID, e.Data)
		}
		a.mustSet(t, `{"rule":"shed","shown":"`+strings.ReplaceAll(set.Key, `\`, `\\`)+`","action":"allow","ttl":"1m"}`)
		if v := eventOf[MitigationView](f, EventFlagChanged); v.Action != "allow" || v.Key != set.Key {
			t.Errorf("%+v", v)
		}
		if w := a.serve(adminRequest("DELETE", "/v1/mitigations?rule=shed&shown="+url.QueryEscape(set.Key), "")); w.Code != http.StatusNoContent {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
		if e = f.next(EventFlagCleared); e.ID != "3" {
			t.Errorf("id %s", e.ID)
		}
	})
	lines := 0
	for line := range strings.Lines(log.String()) {
		var v struct{ Msg, Key, Rule string }
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Errorf("%v: %s", err, line)
		}
		if strings.HasPrefix(v.Msg, "event: flag-") && v.Key == EscapeKey([]byte(hostileKey)) && v.Rule == "shed" {
			lines++
		}
	}
	if lines != 3 {
		t.Errorf("%d lines of events in\n%s", lines, &log)
	}
}

// TestEventsLast checks that a stream outlives the deadlines of answers that end, while hardly anything happens.
func TestEventsLast(t *testing.T) {
	inBubble(t, AdminOptions{}, func(t *testing.T, a *Admin, p *pipes) {
		f := follow(t, p.dial, "")
		f.next(EventHello)
		for n := range 3 {
			time.Sleep(20 * adminWriteTimeout)
			a.mustSet(t, fmt.Sprintf(`{"rule":"shed","key":"k%d","action":"block","ttl":"720h"}`, n))
			f.next(EventFlagSet)
		}
	})
}

// TestEventsLive checks the pictures: at once, and then each second.
func TestEventsLive(t *testing.T) {
	inBubble(t, AdminOptions{PoP: "lhr"}, func(t *testing.T, a *Admin, p *pipes) {
		a.refuse("block", "203.0.113.7")
		plain := follow(t, p.dial, "?live=0")
		plain.next(EventHello)
		began := time.Now()
		f := follow(t, p.dial, "?live=1")
		f.next(EventHello)
		v := eventOf[LiveView](f, EventLive)
		if took := time.Since(began); took > liveEvery/10 {
			t.Errorf("the first picture came after %v", took)
		}
		if len(v.Rules) != 4 || v.Rules[1].Flags != 1 || v.Rules[1].Suspects != 1 || v.Rules[1].Denied != 2 || v.Viewers != 2 {
			t.Errorf("%+v", v)
		}
		if v.Flags != (FlagCountsView{Total: 1, Block: 1}) || len(v.Mitigations) != 1 || v.Mitigations[0].Key != "203.0.113.7" {
			t.Errorf("%+v, %+v", v.Flags, v.Mitigations)
		}
		if len(v.Top) != 1 || v.Top[0].State != "block" || v.Cluster.PoP != "lhr" || len(v.Sketches) != 1 || v.Degraded == nil || len(v.Degraded) != 0 {
			t.Errorf("%+v", v)
		}
		f.next(EventFlagSet)
		for range 30 {
			was := v.Now
			if v = eventOf[LiveView](f, EventLive); v.Now.Sub(was) < liveEvery/2 || v.Now.Sub(was) > 2*liveEvery {
				t.Errorf("%v after %v", v.Now, was)
			}
		}
		plain.next(EventFlagSet)
	})
}

// TestEventsCutTheSlow checks that a reader that takes nothing is cut, and that others are not held up by it.
func TestEventsCutTheSlow(t *testing.T) {
	inBubble(t, AdminOptions{}, func(t *testing.T, a *Admin, p *pipes) {
		stuck, _ := p.dial(t.Context(), "", "")
		defer func() { _ = stuck.Close() }()
		if _, err := io.WriteString(stuck, "GET /v1/events?live=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		f := follow(t, p.dial, "?live=1")
		f.next(EventHello)
		f.next(EventLive)
		began := time.Now()
		for a.live.hub.Stats().Readers == 2 {
			f.next(EventLive)
		}
		if took := time.Since(began); took > 2*streamWriteTimeout {
			t.Errorf("cut after %v", took)
		}
		for range 5 {
			was := time.Now()
			if f.next(EventLive); time.Since(was) > 2*liveEvery {
				t.Errorf("a picture came after %v", time.Since(was))
			}
		}
	})
}

// TestEventsStopWithStuckReaders checks that readers who take nothing do not hold up the end. inBubble measures.
func TestEventsStopWithStuckReaders(t *testing.T) {
	inBubble(t, AdminOptions{}, func(t *testing.T, a *Admin, p *pipes) {
		for range live.MaxReaders {
			c, _ := p.dial(t.Context(), "", "")
			t.Cleanup(func() { _ = c.Close() })
			if _, err := io.WriteString(c, "GET /v1/events?live=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if s := a.live.hub.Stats(); s.Readers != live.MaxReaders {
			t.Errorf("%+v", s)
		}
		response, err := (&http.Transport{DialContext: p.dial, DisableKeepAlives: true}).RoundTrip(
			httptest.NewRequest("GET", "http://localhost/v1/events", nil))
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		w.Code = response.StatusCode
		maps.Copy(w.Header(), response.Header)
		_, _ = io.Copy(w.Body, response.Body)
		checkAdminProblem(t, w, http.StatusServiceUnavailable, "request")
	})
}

// TestEventsRefused checks what is no stream.
func TestEventsRefused(t *testing.T) {
	t.Parallel()
	a := newTestAdmin(t, AdminOptions{Local: true})
	checkAdminProblem(t, a.ask("GET", "/v1/events?live=2", ""), http.StatusBadRequest, "live")
	checkAdminProblem(t, a.ask("GET", "/v1/events?rule=shed", ""), http.StatusBadRequest, "rule")
	checkAdminProblem(t, a.ask("GET", "/v1/events", "", "Sec-Fetch-Site", "cross-site"), http.StatusForbidden, "Sec-Fetch-Site")
	checkAdminProblem(t, a.ask("GET", "/v1/events", ""), http.StatusNotImplemented, "connection")
	if w := a.ask("HEAD", "/v1/events", ""); w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/event-stream" {
		t.Errorf("status %d, %v", w.Code, w.Header())
	}
	far := newTestAdmin(t, AdminOptions{Token: "secret"})
	checkAdminProblem(t, far.ask("GET", "/v1/events", ""), http.StatusUnauthorized, "Authorization")
}

// TestEventsEnd checks on a real listener that streams end in form when the node stops, at once, and leave nothing behind.
func TestEventsEnd(t *testing.T) { // not parallel: it looks for what is left
	left := goleak.IgnoreCurrent()
	a := newTestAdmin(t, AdminOptions{Local: true})
	ln := adminListener(t, config.Address{Host: "127.0.0.1"})
	stop := serveAdmin(t, a, ln)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, ln.Addr().Network(), ln.Addr().String())
	}
	var all []*follower
	for range live.MaxReaders {
		f := follow(t, dial, "")
		f.next(EventHello)
		all = append(all, f)
	}
	all[0].close() // one that goes is noticed though nothing happens
	waitFor(t, func() bool { return a.live.hub.Stats().Readers == live.MaxReaders-1 })
	began := time.Now()
	if err := stop(); err != nil || time.Since(began) > time.Second {
		t.Errorf("%v, after %v", err, time.Since(began))
	}
	for _, f := range all[1:] {
		if _, more := <-f.events; more || !errors.Is(f.ended, io.EOF) {
			t.Errorf("ended with %v", f.ended)
		}
	}
	goleak.VerifyNone(t, left)
}

// TestEventsAreBounded checks that a flood of flags is told in part, what is set by hand first, and the rest counted; and that
// the log gets a few lines.
func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		a := NewAdmin(newTestEdge(t, 16<<20, shedRule, blockRule), AdminOptions{Local: true, Log: slog.New(slog.NewJSONHandler(&log, nil))})
		reader, err := a.live.hub.Join(false, func() {})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 500 {
			a.refuse("block", fmt.Sprint(n))
		}
		a.mustSet(t, `{"rule":"shed","key":"by hand","action":"block"}`)
		log.Reset()
		a.live.turn(1, a.edge.Now())
		var lost LostView
		events := live.NewScanner(bytes.NewReader(<-reader.Frames()))
		for n := range maxEvents {
			e, err := events.Next()
			if err != nil || e.Name != EventFlagSet || n == 0 != bytes.Contains(e.Data, []byte("by hand")) {
				t.Fatalf("event %d: %q %s, %v", n, e.Name, e.Data, err)
			}
		}
		if e, err := events.Next(); err != nil || e.Name != EventLost || json.Unmarshal(e.Data, &lost) != nil {
			t.Fatalf("%q %s, %v", e.Name, e.Data, err)
		}
		if flags := a.edge.flags.Stats(); int64(lost.Events) < flags.Flags-maxEvents || a.live.dropped.Load() != lost.Events || a.live.sent.Load() != maxEvents {
			t.Errorf("lost %+v of %+v", lost, flags)
		}
		if lines := strings.Count(log.String(), "\n"); lines != maxEventLines || !strings.Contains(log.String(), fmt.Sprintf(`"events":%d`, lost.Events+maxEvents-maxEventLines+1)) {
			t.Errorf("%d lines:\n%s", lines, &log)
		}
	})
}

// TestEventsOfAKeyAreOne checks what several changes of one flag within a turn come to.
func TestEventsOfAKeyAreOne(t *testing.T) {
	t.Parallel()
	block := `{"rule":"shed","key":"k","action":"block"}`
	for _, tt := range []struct {
		name   string
		before func(a *Admin)
		then   func(a *Admin)
		want   string
	}{
		{"set twice", nil, func(a *Admin) { a.ask("POST", "/v1/mitigations", block); a.ask("POST", "/v1/mitigations", block) }, EventFlagSet},
		{"set and lifted", nil, func(a *Admin) {
			a.ask("POST", "/v1/mitigations", block)
			a.ask("DELETE", "/v1/mitigations?rule=shed&key=k", "")
		}, EventFlagCleared},
		{"set again", byHand("shed", "allow"), byHand("shed", "block"), EventFlagChanged},
		{"a reload that moves it", byHand("shed", "block"), func(a *Admin) {
			a.edge.setRules([]mitigation.Rule{{Name: "shed", Limit: 3, Window: 20 * time.Second}})
		}, ""},
		{"its rule is gone", byHand("shed", "block"), func(a *Admin) { a.edge.setRules(nil) }, EventFlagCleared},
		{"nothing", byHand("shed", "block"), func(*Admin) {}, ""},
		{"it expired", byHand("shed", "block"), func(a *Admin) {
			time.Sleep(time.Hour)
			a.edge.flags.Sweep(a.edge.Now(), func(*mitigation.Flag) bool { return true })
		}, EventFlagCleared},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := newTestAdmin(t, AdminOptions{Local: true})
				if tt.before != nil {
					tt.before(a)
					a.live.tell(a.edge.Now())
				}
				reader, err := a.live.hub.Join(false, func() {})
				if err != nil {
					t.Fatal(err)
				}
				tt.then(a)
				a.live.tell(a.edge.Now())
				a.live.tell(a.edge.Now())
				a.live.hub.Close()
				var got []string
				for frame := range reader.Frames() {
					for s := live.NewScanner(bytes.NewReader(frame)); ; {
						e, err := s.Next()
						if err != nil {
							break
						}
						got = append(got, e.Name)
					}
				}
				if strings.Join(got, " ") != tt.want {
					t.Errorf("%q, want %q", got, tt.want)
				}
			})
		})
	}
}

// TestRatiosDoNotFlood checks that a key whose ratio sways is told of once.
func TestRatiosDoNotFlood(t *testing.T) {
	t.Parallel()
	a := newTestAdmin(t, AdminOptions{Local: true})
	for n := range mitigation.Ratio(50) {
		a.flagRatio("shed", mitigation.MaxRatio/2+n%2*mitigation.RatioStep/2)
		a.edge.askAt(a.edge.Now(), wire.Check, "shed", "k", 1)
		a.live.tell(a.edge.Now())
	}
	if sent := a.live.sent.Load(); sent != 1 {
		t.Errorf("%d events", sent)
	}
}
