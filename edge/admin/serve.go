package admin

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

// Bounds of the admin listener. A connection holds 4 KiB to read into and 4 KiB to write from. The
// largest answer, the metrics of 1,000 rules, is about 1.5 MiB.
const (
	// for people, a scraper and probes: a dozen in use
	maxAdminConns    = 256
	maxAdminHeaders  = 16 << 10 // bytes, of a request
	maxAdminBody     = 64 << 10 // bytes
	maxBatchBody     = 1 << 20  // of limits by hand
	maxAdminQuery    = 4 << 10  // a key of 256 bytes, percent-encoded, is 768
	maxAdminRows     = 1000     // of a listing
	maxAdminListings = 2        // at once; others wait
	maxAdminScrapes  = 2        // at once; others are answered 503

	adminWriteTimeout = 5 * time.Second // to write an answer that ends
	adminDrainTimeout = 5 * time.Second // for answers in progress when the node stops
)

// Serve answers on every listener until ctx ends. It then gives answers in progress 5 s to
// complete, closes all other connections and returns nil. Streams end at once. It closes the
// listeners. If a listener fails for good it returns early with the error. Without listeners it
// waits for ctx. It must be called once only.
func (a *Door) Serve(ctx context.Context, listeners ...net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	server := a.server()
	failed := make(chan error, len(listeners))
	var serving sync.WaitGroup
	serving.Go(func() { a.live.run(ctx) })
	for _, ln := range listeners {
		serving.Go(func() {
			// Places are taken at Accept, before a goroutine or a buffer is spent on the
			// connection.
			err := server.Serve(a.places.Listener(ln))
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
	// ctx has ended: the rest has another time limit.
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), adminDrainTimeout)
	defer cancel()
	if server.Shutdown(drain) != nil {
		_ = server.Close() // the listeners are closed by now
	}
	serving.Wait()
	return err
}

// server returns the HTTP server with bounds, for HTTP/1 only.
func (a *Door) server() *http.Server {
	s := &http.Server{
		Handler: a,
		// to read the headers of a request: under a flood of all doors headers may wait for a
		// second
		ReadHeaderTimeout: 2 * time.Second,
		// to read a whole request
		ReadTimeout:  5 * time.Second,
		WriteTimeout: adminWriteTimeout,
		// between two requests of a connection
		IdleTimeout:    30 * time.Second,
		MaxHeaderBytes: maxAdminHeaders,
		ErrorLog:       slog.NewLogLogger(a.log.Handler(), slog.LevelWarn),
		Protocols:      new(http.Protocols),
		BaseContext:    listenerContext,
		ConnContext:    seatContext,
	}
	s.Protocols.SetHTTP1(true)
	return s
}
