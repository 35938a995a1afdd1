package edge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Bounds of the admin listener. A connection holds 4 KiB to read into and 4 KiB to write from, and an
// answer of the greatest size, 1,000 rules in metrics, is about 1.5 MiB.
const (
	maxAdminConns    = 256
	maxAdminHeaders  = 16 << 10
	maxAdminBody     = 64 << 10
	maxAdminQuery    = 4 << 10 // a key of 256 bytes, percent-encoded, is 768
	maxAdminRows     = 1000    // of one listing
	maxAdminListings = 2       // at once; others wait
	maxAdminScrapes  = 2       // at once; others are answered 503

	adminHeaderTimeout = time.Second
	adminReadTimeout   = 5 * time.Second
	adminWriteTimeout  = 5 * time.Second
	adminIdleTimeout   = 30 * time.Second
	adminDrainTimeout  = 5 * time.Second
)

// Serve answers on every listener until ctx ends, then lets what is under way end within 5 s, cuts the
// rest and returns nil. It closes the listeners. It returns early, with the error, if a listener fails
// for good. Without listeners it waits for ctx. Streams, which would never end, end at once. Serve is for once.
func (a *Admin) Serve(ctx context.Context, listeners ...net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	server, places := a.server(), make(chan struct{}, maxAdminConns)
	failed := make(chan error, len(listeners))
	var serving sync.WaitGroup
	serving.Go(func() { a.live.run(ctx) })
	for _, ln := range listeners {
		serving.Go(func() {
			err := server.Serve(&boundedListener{ln, places})
			if !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("admin: serve on %s: %w", ln.Addr(), err)
			}
		})
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	stop()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), adminDrainTimeout)
	defer cancel()
	if server.Shutdown(drain) != nil {
		_ = server.Close() // the listeners are closed by now
	}
	serving.Wait()
	return err
}

func (a *Admin) server() *http.Server {
	s := &http.Server{
		Handler:           a,
		ReadHeaderTimeout: adminHeaderTimeout,
		ReadTimeout:       adminReadTimeout,
		WriteTimeout:      adminWriteTimeout,
		IdleTimeout:       adminIdleTimeout,
		MaxHeaderBytes:    maxAdminHeaders,
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelWarn),
		Protocols:         new(http.Protocols),
	}
	s.Protocols.SetHTTP1(true)
	return s
}

// boundedListener closes at once what comes in while every place is taken: a client that is told so can
// say so, one that waits cannot.
type boundedListener struct {
	net.Listener
	places chan struct{}
}

func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.places <- struct{}{}:
			return &boundedConn{Conn: c, leave: sync.OnceFunc(func() { <-l.places })}, nil
		default:
			_ = c.Close()
		}
	}
}

// boundedConn gives its place back when it is closed.
type boundedConn struct {
	net.Conn
	leave func()
}

func (c *boundedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
