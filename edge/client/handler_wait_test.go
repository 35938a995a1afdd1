package client_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/client"
)

// scripted answers every question alike, and keeps what it was asked and told.
type scripted struct {
	client.Limiter
	answer  client.Answer
	queries []client.Query
	asked   []client.Request
	told    []client.Response
}

func (s *scripted) Batch(_ context.Context, queries []client.Query) ([]client.Answer, error) {
	s.queries = append(s.queries, queries...)
	return []client.Answer{s.answer}, nil
}

func (s *scripted) Ask(_ context.Context, r client.Request) (client.Answer, error) {
	s.asked = append(s.asked, r)
	return s.answer, nil
}

func (s *scripted) Report(_ context.Context, _ string, r client.Response) error {
	s.told = append(s.told, r)
	return nil
}

// TestHandlerWaits: what is allowed for later passes then, under a rule and by policies; the report
// of its response has the time without the wait. Without a wait the limiter is told that there is
// none.
func TestHandlerWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const delay, work = 1500 * time.Millisecond, 30 * time.Millisecond
		site := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(work)
			w.WriteHeader(http.StatusAccepted)
		})
		for name, tt := range map[string]struct {
			waits   bool
			options []client.HandlerOption
		}{
			"policies":          {true, nil},
			"rule":              {true, []client.HandlerOption{client.WithRule("line")}},
			"policies, no wait": {false, []client.HandlerOption{client.WithoutWait()}},
			"rule, no wait": {false, []client.HandlerOption{
				client.WithRule("line"),
				client.WithoutWait(),
			}},
		} {
			s := &scripted{answer: client.Answer{
				Delay: delay, Rule: "line",
				Ticket: "0123456789abcdef",
			}}
			began := time.Now()
			w := get(client.NewHandler(s, site, tt.options...), "192.0.2.1:1")
			if took := time.Since(began); took != delay+work || w.Code != http.StatusAccepted {
				t.Errorf("%s: %d after %v", name, w.Code, took)
			}
			if len(s.told) != 1 || s.told[0].Status != http.StatusAccepted ||
				s.told[0].Took != work {
				t.Errorf("%s: reported %+v", name, s.told)
			}
			if len(s.queries)+len(s.asked) != 1 ||
				len(s.queries) == 1 && s.queries[0].CanWait != tt.waits || len(s.asked) == 1 &&
				(s.asked[0].CanWait != tt.waits || s.asked[0].CanDeceive) {
				t.Errorf("%s: asked %+v %+v", name, s.queries, s.asked)
			}
		}
	})
}

// TestHandlerWaitEnds: whose context ends meanwhile does not pass, then or later, and what the
// request held is given back.
func TestHandlerWaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		site := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it passed") })
		for want, end := range map[int]func(context.Context) (context.Context, context.CancelFunc){
			499: func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, hangUp := context.WithCancel(ctx)
				time.AfterFunc(time.Second, hangUp)
				return ctx, hangUp
			},
			http.StatusServiceUnavailable: func(ctx context.Context) (context.Context,
				context.CancelFunc,
			) {
				return context.WithTimeout(ctx, time.Second)
			},
		} {
			for _, ticket := range []string{"", "0123456789abcdef"} {
				s := &scripted{answer: client.Answer{
					Delay: time.Minute,
					Rule:  "line", Ticket: ticket,
				}}
				ctx, cancel := end(t.Context())
				began, w := time.Now(), httptest.NewRecorder()
				client.NewHandler(s, site).ServeHTTP(w,
					httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx))
				cancel()
				if took := time.Since(began); took != time.Second || w.Code != want {
					t.Errorf("%d after %v, want %d", w.Code, took, want)
				}
				if ticket == "" && len(s.told) > 0 ||
					ticket != "" && (len(s.told) != 1 || s.told[0].Status != want) {
					t.Errorf("with ticket %q: reported %+v", ticket, s.told)
				}
			}
		}
	})
}

// TestHandlerDeceives: what a policy denies with deceive is answered as the program says, without a
// word of the limit, and the site does not see it. Without that option it is denied.
func TestHandlerDeceives(t *testing.T) {
	t.Parallel()
	eachLimiter(t, waitRules, func(t *testing.T, l client.Limiter) {
		served := 0
		site := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ })
		pretends := client.WithDeceive(http.HandlerFunc(func(w http.ResponseWriter,
			_ *http.Request,
		) {
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, "Thank you.")
		}))
		for n, tt := range []struct {
			options []client.HandlerOption
			status  int
			body    string
			limit   bool
		}{
			{[]client.HandlerOption{pretends}, http.StatusOK, "", true},
			{[]client.HandlerOption{pretends}, http.StatusCreated, "Thank you.", false},
			{nil, http.StatusTooManyRequests, "", true},
		} {
			w := httptest.NewRecorder()
			failed := client.WithErrorFunc(func(_ *http.Request, err error) { t.Error(err) })
			l.Handler(site, append(tt.options, failed)...).ServeHTTP(w,
				httptest.NewRequest(http.MethodPost, "/trap", nil))
			if w.Code != tt.status || tt.body != "" && w.Body.String() != tt.body ||
				(w.Header().Get("RateLimit") != "") != tt.limit {
				t.Errorf("request %d: %d %q %v", n+1, w.Code, w.Body, w.Header())
			}
		}
		if served != 1 {
			t.Errorf("the site saw %d requests", served)
		}
	})
}
