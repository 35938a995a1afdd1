package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/ring/minimal"
)

const (
	demoRingTries = 5                      // ports that are tried
	demoRingWait  = 5 * time.Second        // for memcached to answer, or to end
	demoRingPoll  = 10 * time.Millisecond  // while it is waited for
	demoRingAsk   = 500 * time.Millisecond // for one answer
	demoRingItems = 16                     // MiB
)

// demoRing is the ring of a PoP: one memcached, or the minimal server in its place.
type demoRing struct {
	address string // host:port, on loopback
	what    string // to people: "memcached 1.6.18", "stand-in"
	why     string // of the latter
	standIn *minimal.Server
	close   func() error
}

// openDemoRing returns a ring that answers: the memcached at the path program, or the minimal server if that is "" or does
// not start.
func openDemoRing(ctx context.Context, program string) (*demoRing, error) {
	why := "memcached is not in PATH"
	for range demoRingTries { // somebody else may take the port before memcached does
		if program == "" || ctx.Err() != nil {
			break
		}
		r, err := startMemcached(ctx, program)
		if err == nil {
			return r, nil
		}
		why = cli.Safe(fmt.Sprintf("%s does not start: %v", program, err))
	}
	if ctx.Err() != nil { // why it is missing does not matter to who asked to stop
		return nil, ctx.Err()
	}
	s, err := minimal.Open(ctx, time.Now)
	if err != nil {
		return nil, err
	}
	return &demoRing{address: s.Addr().String(), what: "stand-in", why: why, standIn: s, close: s.Close}, nil
}

// startMemcached runs memcached on a port that was free a moment ago.
func startMemcached(ctx context.Context, program string) (*demoRing, error) {
	at, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(at)
	//nolint:gosec // found in PATH
	cmd := exec.Command(program, "-l", "127.0.0.1", "-p", port, "-U", "0", "-m", strconv.Itoa(demoRingItems), "-t", "1")
	tame(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it was told to end, or is found missing
	}()
	r := &demoRing{address: at, close: func() error { return endChild(cmd.Process, ended) }}
	version, err := awaitMemcached(ctx, at, ended)
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	r.what = "memcached " + version
	return r, nil
}

// freeAddress returns an address on loopback that nobody listens at.
func freeAddress(ctx context.Context) (string, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}

// endChild ends a process and returns when it is gone.
func endChild(child *os.Process, ended <-chan struct{}) error {
	_ = child.Signal(syscall.SIGTERM) // it may be gone
	late := time.NewTimer(demoRingWait)
	defer late.Stop()
	select {
	case <-ended:
		return nil
	case <-late.C:
	}
	err := child.Kill()
	<-ended
	return err
}

// awaitMemcached returns the version of the memcached at an address, as soon as it says it.
func awaitMemcached(ctx context.Context, at string, ended <-chan struct{}) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, demoRingWait)
	defer cancel()
	again := time.NewTicker(demoRingPoll)
	defer again.Stop()
	for {
		if version, err = askVersion(ctx, at); err == nil {
			return version, nil
		}
		select {
		case <-ended:
			return "", errors.New("it ended at once")
		case <-ctx.Done():
			return "", fmt.Errorf("it does not answer: %w", err)
		case <-again.C:
		}
	}
}

// askVersion asks a memcached for its version.
func askVersion(ctx context.Context, at string) (string, error) {
	conn, err := (&net.Dialer{Timeout: demoRingAsk}).DialContext(ctx, "tcp", at)
	if err != nil {
		return "", err
	}
	defer conn.Close() //nolint:errcheck // the answer is here or it is not
	if err := conn.SetDeadline(time.Now().Add(demoRingAsk)); err != nil {
		return "", err
	}
	if _, err := conn.Write([]byte("version\r\n")); err != nil {
		return "", err
	}
	line, err := bufio.NewReaderSize(conn, minimal.MaxLine).ReadSlice('\n')
	if err != nil {
		return "", err
	}
	version, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "VERSION ")
	if !ok {
		return "", fmt.Errorf("it says %s, which no memcached does", cli.Quote(string(line)))
	}
	return cli.Safe(version), nil
}

// String returns the ring's kind and address.
func (r *demoRing) String() string {
	text := r.what + " " + r.address
	if r.why != "" {
		text += " (" + r.why + ")"
	}
	return text
}

// full returns for how many counters there was no room; a memcached keeps that to itself.
func (r *demoRing) full() uint64 {
	if r.standIn == nil {
		return 0
	}
	return r.standIn.Full()
}
