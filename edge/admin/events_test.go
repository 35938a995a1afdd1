package admin_test

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
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/live"
)

// TestEvents follows a flag from when it is set until it is lifted, by a key that would do harm.
func TestEvents(t *testing.T) {
	var log bytes.Buffer
	o := admin.Options{
		PoP: "lhr", Build: api.Build{Version: "v1"},
		Log: slog.New(slog.NewJSONHandler(&log, nil)),
	}
	inBubble(t, o, func(t *testing.T, a *node, p *pipes) {
		f := follow(t, p.dial, "")
		if hello := eventOf[api.HelloView](f, api.EventHello); hello != (api.HelloView{
			Node: "test",
			PoP:  "lhr", Version: "v1",
		}) {
			t.Errorf("%+v", hello)
		}
		a.mustSet(t, `{"rule":"shed","shown":"`+strings.ReplaceAll(
			api.EscapeKey([]byte(gatetest.HostileKey)), `\`, `\\`)+
			`","action":"block","reason":"a\u003cb","by":"kim"}`)
		e := f.next(api.EventFlagSet)
		var set api.MitigationView
		if err := json.Unmarshal(e.Data, &set); err != nil {
			t.Fatal(err)
		}
		if set.Rule != "shed" || set.Key != api.EscapeKey([]byte(gatetest.HostileKey)) ||
			set.Action != "block" || set.Source != "manual:kim" || set.Reason != "a<b" {
			t.Errorf("%+v", set)
		}
		if e.ID != "1" || bytes.ContainsAny(e.Data, "<>\x1b\r\x00\xff") {
			t.Errorf("id %s: %q", e.ID, e.Data)
		}
		a.mustSet(t, `{"rule":"shed","shown":"`+strings.ReplaceAll(set.Key, `\`, `\\`)+
			`","action":"allow","ttl":"1m"}`)
		if v := eventOf[api.MitigationView](f, api.EventFlagChanged); v.Action != "allow" ||
			v.Key != set.Key {
			t.Errorf("%+v", v)
		}
		if w := a.serve(newRequest("DELETE", "/v1/mitigations?rule=shed&shown="+
			url.QueryEscape(set.Key), "")); w.Code != http.StatusNoContent {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
		if e = f.next(api.EventFlagCleared); e.ID != "3" {
			t.Errorf("id %s", e.ID)
		}
	})
	lines := 0
	for line := range strings.Lines(log.String()) {
		var v struct{ Msg, Key, Rule string }
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Errorf("%v: %s", err, line)
		}
		if strings.HasPrefix(v.Msg, "mitigation ") &&
			v.Key == api.EscapeKey([]byte(gatetest.HostileKey)) && v.Rule == "shed" {
			lines++
		}
	}
	if lines != 3 {
		t.Errorf("%d lines of events in\n%s", lines, &log)
	}
}

// TestEventsLast checks that a stream outlives the deadlines of answers that end, while hardly
// anything happens.
func TestEventsLast(t *testing.T) {
	inBubble(t, admin.Options{}, func(t *testing.T, a *node, p *pipes) {
		f := follow(t, p.dial, "")
		f.next(api.EventHello)
		for n := range 3 {
			time.Sleep(20 * writeTimeout)
			a.mustSet(t, fmt.Sprintf(`{"rule":"shed","key":"k%d","action":"block","ttl":"720h"}`,
				n))
			f.next(api.EventFlagSet)
		}
	})
}

// TestEventsLive checks the pictures: at once, and then each second.
func TestEventsLive(t *testing.T) {
	inBubble(t, admin.Options{PoP: "lhr"}, func(t *testing.T, a *node, p *pipes) {
		a.refuse("block", "203.0.113.7")
		plain := follow(t, p.dial, "?live=0")
		plain.next(api.EventHello)
		began := time.Now()
		f := follow(t, p.dial, "?live=1")
		f.next(api.EventHello)
		v := eventOf[api.LiveView](f, api.EventLive)
		if took := time.Since(began); took > liveEvery/10 {
			t.Errorf("the first picture came after %v", took)
		}
		if len(v.Rules) != 4 || v.Rules[1].Flags != 1 || v.Rules[1].Suspects != 1 ||
			v.Rules[1].Denied != 2 || v.Viewers != 2 {
			t.Errorf("%+v", v)
		}
		if v.Flags != (api.FlagCountsView{Total: 1, Block: 1}) || len(v.Mitigations) != 1 ||
			v.Mitigations[0].Key != "203.0.113.7" {
			t.Errorf("%+v, %+v", v.Flags, v.Mitigations)
		}
		if len(v.Top) != 1 || v.Top[0].State != "block" || v.Cluster.PoP != "lhr" ||
			len(v.Sketches) != 1 || v.Degraded == nil || len(v.Degraded) != 0 {
			t.Errorf("%+v", v)
		}
		f.next(api.EventFlagSet)
		for range 30 {
			was := v.Now
			if v = eventOf[api.LiveView](f, api.EventLive); v.Now.Sub(was) < liveEvery/2 ||
				v.Now.Sub(was) > 2*liveEvery {
				t.Errorf("%v after %v", v.Now, was)
			}
		}
		plain.next(api.EventFlagSet)
	})
}

// TestEventsCutTheSlow checks that a reader that takes nothing is cut, and that others are not held
// up by it.
func TestEventsCutTheSlow(t *testing.T) {
	inBubble(t, admin.Options{}, func(t *testing.T, a *node, p *pipes) {
		stuck, _ := p.dial(t.Context(), "", "")
		defer func() { _ = stuck.Close() }()
		if _, err := io.WriteString(stuck, "GET /v1/events?live=1 HTTP/1.1\r\nHost: "+
			"localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		f := follow(t, p.dial, "?live=1")
		f.next(api.EventHello)
		f.next(api.EventLive)
		began := time.Now()
		for viewers(t, a) == 2 {
			f.next(api.EventLive)
		}
		if took := time.Since(began); took > writeTimeout+2*liveEvery {
			t.Errorf("cut after %v", took)
		}
		for range 5 {
			was := time.Now()
			if f.next(api.EventLive); time.Since(was) > 2*liveEvery {
				t.Errorf("a picture came after %v", time.Since(was))
			}
		}
	})
}

// TestEventsStopWithStuckReaders checks that readers who take nothing do not hold up the end.
// inBubble measures.
func TestEventsStopWithStuckReaders(t *testing.T) {
	inBubble(t, admin.Options{}, func(t *testing.T, a *node, p *pipes) {
		for range live.MaxReaders {
			c, _ := p.dial(t.Context(), "", "")
			t.Cleanup(func() { _ = c.Close() })
			if _, err := io.WriteString(c, "GET /v1/events?live=1 HTTP/1.1\r\nHost: "+
				"localhost\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if n := viewers(t, a); n != live.MaxReaders {
			t.Errorf("%d streams", n)
		}
		response, err := (&http.Transport{DialContext: p.dial, DisableKeepAlives: true}).RoundTrip(
			httptest.NewRequest("GET", "http://localhost/v1/events", nil))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		w := httptest.NewRecorder()
		w.Code = response.StatusCode
		maps.Copy(w.Header(), response.Header)
		_, _ = io.Copy(w.Body, response.Body)
		checkProblem(t, w, http.StatusServiceUnavailable, "request")
	})
}

// TestEventsRefused checks requests that get no stream.
func TestEventsRefused(t *testing.T) {
	t.Parallel()
	a := newNode(t, admin.Options{Local: true})
	checkProblem(t, a.ask("GET", "/v1/events?live=2", ""), http.StatusBadRequest, "live")
	checkProblem(t, a.ask("GET", "/v1/events?rule=shed", ""), http.StatusBadRequest, "rule")
	checkProblem(t, a.ask("GET", "/v1/events", "", "Sec-Fetch-Site", "cross-site"),
		http.StatusForbidden, "Sec-Fetch-Site")
	checkProblem(t, a.ask("GET", "/v1/events", ""), http.StatusNotImplemented, "connection")
	if w := a.ask("HEAD", "/v1/events", ""); w.Code != http.StatusOK ||
		w.Header().Get("Content-Type") != "text/event-stream" {
		t.Errorf("status %d, %v", w.Code, w.Header())
	}
	far := newNode(t, admin.Options{Token: "secret"})
	checkProblem(t, far.ask("GET", "/v1/events", ""), http.StatusUnauthorized, "Authorization")
}

// TestEventsEnd checks that all streams end in form when the node stops. inBubble measures how
// soon: in time that stands still while anybody has something to do, because the last bytes of a
// stream have a deadline.
func TestEventsEnd(t *testing.T) {
	inBubble(t, admin.Options{}, func(t *testing.T, _ *node, p *pipes) {
		for range live.MaxReaders {
			f := follow(t, p.dial, "")
			f.next(api.EventHello)
			t.Cleanup(func() {
				if _, more := <-f.events; more || !errors.Is(f.ended, io.EOF) {
					t.Errorf("ended with %v", f.ended)
				}
			})
		}
	})
}

// TestEventsLeaveNothing checks on a real listener that streams end at once when the node stops,
// and leave nothing behind.
func TestEventsLeaveNothing(t *testing.T) { // not parallel: it looks for goroutines left
	left := goleak.IgnoreCurrent()
	edgetest.Within(t, "a node with readers stops", time.Second,
		func() time.Duration { return stopWithReaders(t) })
	goleak.VerifyNone(t, left)
}

// stopWithReaders stops a node whose events are read by three, and by one that went before, and
// returns how long that took.
func stopWithReaders(t *testing.T) time.Duration {
	t.Helper()
	a := newNode(t, admin.Options{Local: true})
	ln := listen(t, config.Address{Host: "127.0.0.1"})
	stop := serve(t, a, ln)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, ln.Addr().Network(), ln.Addr().String())
	}
	var all []*follower
	for range 4 {
		f := follow(t, dial, "")
		f.next(api.EventHello)
		all = append(all, f)
	}
	all[0].close() // one that goes is noticed though nothing happens
	doortest.WaitFor(t, func() bool { return viewers(t, a) == len(all)-1 })
	began := time.Now()
	if err := stop(); err != nil {
		t.Error(err)
	}
	took := time.Since(began)
	for _, f := range all[1:] {
		if _, more := <-f.events; more || !errors.Is(f.ended, io.EOF) {
			t.Errorf("ended with %v", f.ended)
		}
	}
	return took
}
