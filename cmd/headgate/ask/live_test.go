package ask

import (
	"context"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
)

func TestNextDrawing(t *testing.T) {
	tick := make(chan time.Time, 1)
	keys := make(chan byte, 2)
	order := "offered"
	keys <- 'x'
	keys <- 'q'
	if nextDrawing(t.Context(), nil, keys, &order) {
		t.Error("q does not quit")
	}
	tick <- clitest.Noon
	if !nextDrawing(t.Context(), tick, nil, &order) || order != "offered" {
		t.Error("a tick does not draw")
	}
	for key, want := range map[byte]string{
		'o': "offered", 'a': "admitted", 'S': "share",
		'r': "rule",
	} {
		keys <- key
		if !nextDrawing(t.Context(), nil, keys, &order) || order != want {
			t.Errorf("%c sorts by %s, want %s at once", key, order, want)
		}
	}
	close(keys)
	tick <- clitest.Noon
	if !nextDrawing(t.Context(), tick, keys, &order) {
		t.Error("a terminal without keys ends it")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // whichever comes first
		ticks := make(chan time.Time, 1)
		ticks <- clitest.Noon
		if nextDrawing(ctx, nil, nil, &order) || nextDrawing(ctx, ticks, nil, &order) {
			t.Fatal("goes on after the end")
		}
	}
}
