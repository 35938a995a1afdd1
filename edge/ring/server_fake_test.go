package ring

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fake is a memcached for the tests: honest but for the faults that are set. It speaks the few
// commands of this package.
type fake struct {
	classic bool // meta commands are an ERROR
	hangUp  bool // and what is more, they close the connection
	// says something instead of the answer; true: and closes the connection
	lie  func(command string) (string, bool)
	wait func(conn net.Conn, i int, a string) // before the answer i of a connection, which is a

	mu       sync.Mutex
	counters map[string]uint64
	asked    int
	serving  sync.WaitGroup
}

// inBubble runs a test with the fake in a bubble, which all that serves must leave.
func inBubble(t *testing.T, f *fake, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(f.serving.Wait)
		test(t)
	})
}

// reply answers one command; data is the line after an add.
func (f *fake) reply(words []string, data func() string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.counters == nil {
		f.counters = map[string]uint64{}
	}
	switch words[0] {
	case "mn":
		return "MN\r\n"
	case "ma":
		return f.meta(words[1], words[2:])
	case "incr":
		old, ok := f.counters[words[1]]
		if !ok {
			return "NOT_FOUND\r\n"
		}
		delta, _ := strconv.ParseUint(words[2], 10, 64)
		f.counters[words[1]] = old + delta
		return fmt.Sprintf("%d\r\n", old+delta)
	case "add":
		value, _ := strconv.ParseUint(data(), 10, 64)
		if _, ok := f.counters[words[1]]; ok {
			return "NOT_STORED\r\n"
		}
		f.counters[words[1]] = value
		return "STORED\r\n"
	}
	return "ERROR\r\n"
}

func (f *fake) meta(key string, flags []string) string {
	values := map[byte]string{}
	for _, flag := range flags {
		values[flag[0]] = flag[1:]
	}
	total, ok := f.counters[key]
	delta, _ := strconv.ParseUint(values['D'], 10, 64)
	switch {
	case ok:
		total += delta
	case values['N'] != "":
		total, _ = strconv.ParseUint(values['J'], 10, 64)
	default:
		return "NF O" + values['O'] + "\r\n"
	}
	f.counters[key] = total
	text := strconv.FormatUint(total, 10)
	return fmt.Sprintf("VA %d O%s\r\n%s\r\n", len(text), values['O'], text)
}

// questions returns how many commands came, probes apart.
func (f *fake) questions() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

// serve answers a connection until either side closes it.
func (f *fake) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	// a system would keep as much, so that neither side waits for the other to read
	lines := make(chan string, 1<<14)
	f.serving.Go(func() {
		defer close(lines)
		for in := bufio.NewScanner(conn); in.Scan(); {
			lines <- in.Text()
		}
	})
	i := -1
	for line := range lines {
		i++
		words := strings.Fields(line)
		said, end := f.says(words, func() string { return <-lines })
		if f.wait != nil && words[0] != "mn" {
			f.wait(conn, i, said)
		}
		if _, err := conn.Write([]byte(said)); err != nil || end {
			return
		}
	}
}

// says returns the answer to a command, and whether that is the last.
func (f *fake) says(words []string, data func() string) (said string, end bool) {
	if f.classic && strings.HasPrefix(words[0], "m") {
		return "ERROR\r\n", f.hangUp
	}
	if words[0] != "mn" {
		f.mu.Lock()
		f.asked++
		f.mu.Unlock()
		if f.lie != nil {
			return f.lie(strings.Join(words, " "))
		}
	}
	return f.reply(words, data), false
}

// pipe is Config.Dial to the fake without a network, which works in synctest's bubbles too.
func (f *fake) pipe(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	f.serving.Go(func() { f.serve(there) })
	return here, nil
}

// listen makes the fake a server on a port of its own until the test ends.
func (f *fake) listen(t testing.TB) Server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go f.serve(conn)
		}
	}()
	return Server{Host: "127.0.0.1", Port: uint16(ln.Addr().(*net.TCPAddr).Port), Weight: 1}
}

// after waits in a fake: the time of a bubble, or real time.
func after(d time.Duration) { <-time.After(d) }
