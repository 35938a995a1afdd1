package interceptor_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/client/interceptor"
)

// scripted answers every question alike, and keeps whether it was told that the caller can wait,
// and the reports.
type scripted struct {
	client.Limiter
	answer client.Answer
	waits  []bool
	told   []client.Response
}

func (s *scripted) Batch(_ context.Context, queries []client.Query) ([]client.Answer, error) {
	s.waits = append(s.waits, queries[0].CanWait)
	return []client.Answer{s.answer}, nil
}

func (s *scripted) Ask(_ context.Context, r client.Request) (client.Answer, error) {
	s.waits = append(s.waits, r.CanWait)
	return s.answer, nil
}

func (s *scripted) Report(_ context.Context, _ string, r client.Response) error {
	s.told = append(s.told, r)
	return nil
}

// silentStream is a stream whose headers nobody sees.
type silentStream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // for as long as the stream
}

func (s silentStream) Context() context.Context  { return s.ctx }
func (silentStream) SetHeader(metadata.MD) error { return nil }
func (silentStream) SetTrailer(metadata.MD)      {}

// calls are a unary call and a stream that l is asked about; work is their handler.
func calls(
	l client.Limiter, work func(), options ...interceptor.Option,
) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"unary": func(ctx context.Context) error {
			_, err := interceptor.Unary(l, options...)(ctx, nil,
				&grpc.UnaryServerInfo{FullMethod: "/a.B/C"}, func(context.Context, any) (any,
					error,
				) {
					work()
					return nil, nil //nolint:nilnil // nobody reads the reply
				})
			return err
		},
		"stream": func(ctx context.Context) error {
			return interceptor.Stream(l, options...)(nil, silentStream{ctx: ctx},
				&grpc.StreamServerInfo{FullMethod: "/a.B/C"}, func(any, grpc.ServerStream) error {
					work()
					return nil
				})
		},
	}
}

// TestWaits: a call that is allowed for later waits before its handler, by the policies and by a
// rule; its report has the time without the wait. Without a wait the limiter is told that there is
// none.
func TestWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const delay, lasts = 1500 * time.Millisecond, 30 * time.Millisecond
		for waits, options := range map[bool][][]interceptor.Option{
			true: {nil, {interceptor.WithRule("line")}},
			false: {
				{interceptor.WithoutWait()},
				{interceptor.WithRule("line"), interceptor.WithoutWait()},
			},
		} {
			for _, options := range options {
				s := &scripted{answer: client.Answer{
					Delay: delay, Rule: "line",
					Ticket: "0123456789abcdef",
				}}
				for name, call := range calls(s, func() { time.Sleep(lasts) }, options...) {
					s.waits, s.told = nil, nil
					began := time.Now()
					if err := call(t.Context()); err != nil || time.Since(began) != delay+lasts {
						t.Errorf("%s: %v after %v", name, err, time.Since(began))
					}
					if len(s.waits) != 1 || s.waits[0] != waits || len(s.told) != 1 ||
						s.told[0].Took != lasts || s.told[0].Status != 200 {
						t.Errorf("%s: waits %v, want %v; reported %+v", name,
							s.waits, waits, s.told)
					}
				}
			}
		}
	})
}

// TestWaitEnds: who leaves meanwhile, or whose time is over, does not pass, then or later, and what
// the call held is given back.
func TestWaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: client.Answer{
			Delay: time.Minute, Rule: "line",
			Ticket: "0123456789abcdef",
		}}
		for name, call := range calls(s, func() { t.Error("it passed") }) {
			ctx, leave := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, leave)
			late, cancel := context.WithTimeout(t.Context(), time.Second)
			for code, ctx := range map[codes.Code]context.Context{
				codes.Canceled:         ctx,
				codes.DeadlineExceeded: late,
			} {
				s.told = nil
				if err := call(ctx); status.Code(err) != code {
					t.Errorf("%s: %v, want %v", name, err, code)
				}
				if len(s.told) != 1 || s.told[0].Status != interceptor.Status(code) {
					t.Errorf("%s: reported %+v", name, s.told)
				}
			}
			leave()
			cancel()
		}
	})
}
