package http

import (
	"testing"
	"testing/synctest"
	"time"
)

// The timeouts of the door here.
const (
	timedRead = 2 * time.Second
	timedIdle = 30 * time.Second
)

// TestHTTPPatience: one time for all of a request, however many reads it takes, and none for the
// first request beyond that; the wait for the next request begins anew with each answer.
func TestHTTPPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDoor(newFakeDecider(),
			limits{read: timedRead, write: timedRead, idle: timedIdle, drain: timedRead, conns: 1})
		c := connOn(t, h, discard{})
		check := func(want time.Duration) {
			t.Helper()
			if got := c.Patience(); got != want {
				t.Errorf("waits %v, want %v", got, want)
			}
		}
		take := func(part string) {
			t.Helper()
			if !c.Take(copy(c.Room(), part), nil) {
				t.Fatal("ended")
			}
		}
		const parts = 9
		check(timedRead)
		for n := range 3 {
			for i := range parts {
				time.Sleep(timedRead / parts / 2)
				take(okRequest[i : i+1])
				if n > 0 { // the time begins with the first byte
					check(timedRead - time.Duration(i)*(timedRead/parts/2))
				} else {
					check(timedRead - time.Duration(i+1)*(timedRead/parts/2))
				}
			}
			take(okRequest[parts:])
			check(timedIdle)
			time.Sleep(timedIdle / 2)
			check(timedIdle)
		}
	})
}
