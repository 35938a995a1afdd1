package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"time"

	"github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/wire"
)

func ExampleDial() {
	// in production: "127.0.0.1:4290"
	address, stop := startNode("[{name: login, limit: 5, window: 1m}]")
	defer stop()

	c, err := client.Dial(address, client.WithTimeout(time.Second),
		client.WithFailMode(client.FailClosed))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = c.Close() }()

	answer, err := c.Check(context.Background(), "login", "203.0.113.7", 2)
	fmt.Println(answer.Allowed(), answer.Remaining, answer.Reset, answer.View, err)
	// Output: true 3 1m0s node <nil>
}

func ExampleClient_Allow() {
	address, stop := startNode("[{name: login, limit: 2, window: 1m}]")
	defer stop()
	c, err := client.Dial(address, client.WithTimeout(time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = c.Close() }()

	for range 3 {
		fmt.Println(c.Allow(context.Background(), "login", "203.0.113.7"))
	}
	// Output:
	// true <nil>
	// true <nil>
	// false <nil>
}

// Without a daemon the answer is that of the FailMode, here FailOpen.
func ExampleClient_Check() {
	address, stop := startNode("[{name: login, limit: 1, window: 1m}]")
	c, err := client.Dial(address, client.WithTimeout(time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = c.Close() }()

	for range 2 {
		answer, _ := c.Check(context.Background(), "login", "203.0.113.7", 1)
		fmt.Println(answer.Status, answer.Why, answer.Retry)
	}
	stop()
	answer, err := c.Check(context.Background(), "login", "203.0.113.7", 1)
	fmt.Println(answer.Status, errors.Is(err, client.ErrNoDaemon), c.Stats().Unanswered)
	// Output:
	// allow  0s
	// deny limit 1m0s
	// allow true 1
}

// Many queries take few datagrams. A Count is for what is known only after the response.
func ExampleClient_Batch() {
	address, stop := startNode("[{name: login, limit: 2, window: 1m}, {name: per-ip, limit: 100, " +
		"window: 10s}]")
	defer stop()
	c, err := client.Dial(address, client.WithTimeout(time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = c.Close() }()

	answers, err := c.Batch(context.Background(), []client.Query{
		{Rule: "per-ip", Key: "203.0.113.7"},
		{Op: wire.Count, Rule: "login", Key: "203.0.113.7", Cost: 2},
		{Op: wire.Peek, Rule: "login", Key: "203.0.113.7"},
	})
	for _, a := range answers {
		fmt.Println(a.Status, a.Remaining)
	}
	fmt.Println(err)
	// Output:
	// allow 99
	// ok 0
	// deny 0
	// <nil>
}

func ExampleClient_Handler() {
	address, stop := startNode("[{name: login, limit: 1, window: 1m}]")
	defer stop()
	c, err := client.Dial(address, client.WithTimeout(time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = c.Close() }()

	login := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_,
			_ = fmt.Fprintln(w, "welcome")
	})
	mux := http.NewServeMux()
	mux.Handle("POST /login", c.Handler(login, client.WithRule("login"),
		client.WithPolicy(1, time.Minute),
		client.WithTrustedProxies(netip.MustParsePrefix("10.0.0.0/8"))))

	for range 2 {
		r := httptest.NewRequest(http.MethodPost, "/login", nil)
		r.RemoteAddr = "10.0.0.1:51234" // the load balancer
		r.Header.Set("X-Forwarded-For", "203.0.113.7")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Printf("%d %s %s %q\n", w.Code, w.Header().Get("RateLimit-Policy"),
			w.Header().Get("RateLimit"), w.Header().Get("Retry-After"))
	}
	// Output:
	// 200 "login";q=1;w=60 "login";r=0;t=60 ""
	// 429 "login";q=1;w=60 "login";r=0;t=60 "60"
}
