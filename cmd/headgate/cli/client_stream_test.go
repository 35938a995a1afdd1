package cli

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestEventsHaveToBegin: a daemon that takes the question and says nothing is not waited for.
func TestEventsHaveToBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := NewClient("127.0.0.1:1", "")
		if err != nil {
			t.Fatal(err)
		}
		here, there := net.Pipe()
		c.http.Transport.(*http.Transport).DialContext = func(context.Context, string,
			string,
		) (net.Conn, error) {
			return here, nil
		}
		go func() { _, _ = io.Copy(io.Discard, there) }() // until the client has had enough
		began := time.Now()
		_, err = c.Stream(t.Context(), "/v1/events")
		if took := time.Since(began); err == nil ||
			err.Error() != "no answer from 127.0.0.1:1 in time" || took != adminTimeout {
			t.Errorf("%v, after %v", err, took)
		}
	})
}
