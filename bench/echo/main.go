// Command echo serves the bare minimum, to measure the cost of the machine, the kernel and the
// language before any deciding is done: datagrams that come back as they are, 204 to every HTTP
// request, and a prototype of the decision listener on either HTTP library.
//
//	load ─► socket ─► (nothing) ─► socket ─► load
//
// It has a module of its own, so that its dependencies never enter headgate's.
package main

import (
	"fmt"
	"net"
	"os"
	"strings"
)

// server is one way to serve; it returns only with an error.
type server struct {
	name, summary string
	serve         func(addr string) error
}

// From the least to the most: each row adds one thing to those above it, and the difference of two
// is its price.
func servers() []server {
	return []server{
		{"udp", "datagrams, one read and one write each", echoUDP},
		{"udp-batch", "datagrams, golang.org/x/net ReadBatch and WriteBatch", echoUDPBatch},
		{"unixgram", "unix datagrams, one read and one write each", echoUnix},
		{"http-std", "204 by net/http", http204Std},
		{"http-fast", "204 by fasthttp", http204Fast},
		{"check-std", "prototype of the decision listener on net/http", checkStd},
		{"check-fast", "the same on fasthttp", func(a string) error { return checkFast(a, false) }},
		{
			"check-fast-lean", "the same on fasthttp with ReduceMemoryUsage",
			func(a string) error { return checkFast(a, true) },
		},
	}
}

// Two arguments and no flags: bench's scripts start it on a core of its own.
func main() {
	if len(os.Args) == 3 {
		for _, s := range servers() {
			if s.name == os.Args[1] {
				fmt.Fprintf(os.Stderr, "echo %s: %v\n", s.name, s.serve(os.Args[2]))
				os.Exit(1)
			}
		}
	}
	fmt.Fprintln(os.Stderr, "usage: echo SERVER HOST:PORT|unix:PATH")
	for _, s := range servers() {
		fmt.Fprintf(os.Stderr, "  %-16s %s\n", s.name, s.summary)
	}
	os.Exit(2)
}

// listen opens a TCP or unix stream listener.
func listen(addr string) (net.Listener, error) {
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		return net.Listen("unix", path)
	}
	return net.Listen("tcp", addr)
}
