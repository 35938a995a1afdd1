//go:build linux && !race

package life

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// keepSilent keeps so many connections open to a door, which say nothing, until the test ends.
// Whichever is closed is opened again after a while.
func keepSilent(t testing.TB, at string, count int) {
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for range count {
		all.Go(func() {
			for ctx.Err() == nil {
				c, err := net.Dial("tcp", at)
				if err != nil {
					continue
				}
				end := context.AfterFunc(ctx, func() { _ = c.Close() })
				_, _ = io.Copy(io.Discard, c)
				end()
				_ = c.Close()
				select {
				case <-ctx.Done():
				case <-time.After(500 * time.Millisecond):
				}
			}
		})
	}
	t.Cleanup(func() {
		stop()
		all.Wait()
	})
}

// TestSilentConnections: beside more connections than a door has places for, which say nothing, a
// client is served each time it comes, and one that stays goes on: over gRPC with certificates of
// clients, over RESP, plain, and over SPOP.
func TestSilentConnections(t *testing.T) {
	cert, key, client := edgetest.Certificate(t)
	n := startDoors(t, fmt.Sprintf("tls: {cert_file: %[1]s, key_file: %[2]s, "+
		"client_ca_file: %[1]s}\n", cert, key))
	plain := startAllDoors(t)
	for door, at := range map[string]string{
		"grpc": n.at["grpc"], "spop": n.at["spop"],
		"resp": plain.at["resp"],
	} {
		t.Run(door, func(t *testing.T) {
			dial := func() net.Conn {
				var c net.Conn
				var err error
				if door == "grpc" {
					own := client.Clone()
					own.NextProtos = []string{"h2"}
					c, err = tls.Dial("tcp", at, own)
				} else {
					c, err = net.Dial("tcp", at)
				}
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
			stays := greet(t, door, dial())
			keepSilent(t, at, map[string]int{"grpc": 400, "spop": 1600, "resp": 1200}[door])
			daemon := map[bool]*doorsNode{false: n, true: plain}[door == "resp"]
			systemtest.Await(t, "all places are taken",
				func() bool { return daemon.displaced(door) > 0 })
			for range 24 {
				c := dial()
				greet(t, door, c)
				_ = c.Close()
			}
			stays.asks(t)
		})
	}
}

// displaced returns how many connections of a door have given way.
func (n *doorsNode) displaced(door string) float64 {
	name := "headgate_" + door + "_displaced_total"
	if door == "resp" { // whose keys and numbers may be displaced too
		return n.Metrics(name)[name+`{what="connection"}`]
	}
	return n.Metrics(name)[name]
}
