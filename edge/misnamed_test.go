package edge

import (
	"bytes"
	"context"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/gate"
)

// TestWatchNames checks that the log names a rule asked for in vain, escaped, once a minute, and is
// silent otherwise.
func TestWatchNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		small := config.Default()
		small.Memory = 1 << 20
		e, err := NewGate(small, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		d := &Node{
			gate: e, room: ask.New(e, ask.TicketBytes),
			log: slog.New(slog.NewTextHandler(&out, nil)),
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go d.watchNames(ctx)
		for range 3 {
			_, _ = e.Lane(0).Decide(e.Now(), rand.Uint64(),
				gate.Ask{Op: gate.Check, Rule: []byte("per-\x1bup"), Key: []byte("a"), Cost: 1})
		}
		time.Sleep(10*watchNamesEvery + 1)
		synctest.Wait()
		got := out.String()
		if strings.Count(got, "\n") != 1 || !strings.Contains(got, "per-") ||
			!strings.Contains(got, "requests=3") || strings.Contains(got, "\x1b") {
			t.Errorf("log: %q", got)
		}
	})
}
