package gossip_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/headgate-dev/headgate/gossip"
)

// Two nodes on this machine: one joins the other, and gets a packet as soon as it is a member.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	key := bytes.Repeat([]byte("k"), gossip.KeyBytes) // not like this
	var lhr, ams *gossip.Node
	lhr, err := gossip.Open(gossip.Config{
		Name: "edge-1", Bind: "127.0.0.1:0", Key: key, Meta: gossip.Meta{PoP: "lhr"},
		Changed: func(members []gossip.Member) {
			for _, m := range members {
				if m.PoP == "ams" && m.State == gossip.Alive {
					lhr.Send(m.Name, []byte("welcome"))
				}
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ams, err = gossip.Open(gossip.Config{
		Name: "edge-2", Bind: "127.0.0.1:0", Key: key, Meta: gossip.Meta{PoP: "ams"},
		Join:    []string{lhr.Addr().String()},
		Receive: sync1(func(packet []byte) { fmt.Printf("%s\n", packet); cancel() }),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var wg sync.WaitGroup
	for _, n := range []*gossip.Node{lhr, ams} {
		wg.Go(func() { _ = n.Run(ctx) })
	}
	wg.Wait()
	// Output: welcome
}

// sync1 calls f once.
func sync1(f func([]byte)) func([]byte) {
	var once sync.Once
	return func(b []byte) { once.Do(func() { f(b) }) }
}
