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
	ringTimeout = 5 * time.Second        // for memcached to answer, or to end
	askTimeout  = 500 * time.Millisecond // for an answer
)

// nodeRing is the ring of a PoP: a memcached, or the minimal server instead.
type nodeRing struct {
	Address string // host:port, on loopback
	Kind    string // for people: "memcached 1.6.18", "stand-in"
	Reason  string // why it is a stand-in, else ""

	standIn *minimal.Server
	close   func() error
}

// openRing returns an answering ring: the memcached at the path program, or the minimal server if
// program is "" or does not start.
func openRing(ctx context.Context, program string) (*nodeRing, error) {
	reason := "memcached is not in PATH"
	// that are tried
	for range 5 { // another program may take the port before memcached does
		if program == "" || ctx.Err() != nil {
			break
		}
		r, err := startMemcached(ctx, program)
		if err == nil {
			return r, nil
		}
		reason = cli.Safe(fmt.Sprintf("%s does not start: %v", program, err))
	}
	if ctx.Err() != nil { // the demo is being stopped, which may be why it did not start
		return nil, ctx.Err()
	}
	s, err := minimal.Open(ctx, time.Now)
	if err != nil {
		return nil, err
	}
	return &nodeRing{
		Address: s.Addr().String(), Kind: "stand-in", Reason: reason, standIn: s,
		close: s.Close,
	}, nil
}

// Close ends the ring and returns afterwards.
func (r *nodeRing) Close() error { return r.close() }

// startMemcached runs memcached on a port free a moment ago.
func startMemcached(ctx context.Context, program string) (*nodeRing, error) {
	at, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(at)
	//nolint:gosec // found in PATH
	cmd := exec.Command(program, "-l", "127.0.0.1", "-p", port, "-U", "0", "-m",
		// MiB
		strconv.Itoa(16), "-t", "1")
	tame(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it ends by endChild, or awaitMemcached reports that it has
	}()
	r := &nodeRing{Address: at, close: func() error { return endChild(cmd.Process, ended) }}
	version, err := awaitMemcached(ctx, at, ended)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.Kind = "memcached " + version
	return r, nil
}

// freeAddress returns an address on loopback at which no program listens.
func freeAddress(ctx context.Context) (string, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}

// endChild ends a process and returns afterwards.
func endChild(child *os.Process, ended <-chan struct{}) error {
	_ = child.Signal(syscall.SIGTERM) // it may be gone
	late := time.NewTimer(ringTimeout)
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

// awaitMemcached returns the version of the memcached at an address, as soon as it does.
func awaitMemcached(
	ctx context.Context, at string, ended <-chan struct{},
) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, ringTimeout)
	defer cancel()
	// between two tries
	again := time.NewTicker(10 * time.Millisecond)
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

// askVersion asks a memcached for the version.
func askVersion(ctx context.Context, at string) (string, error) {
	conn, err := (&net.Dialer{Timeout: askTimeout}).DialContext(ctx, "tcp", at)
	if err != nil {
		return "", err
	}
	defer conn.Close() //nolint:errcheck // the answer is read by then
	if err := conn.SetDeadline(time.Now().Add(askTimeout)); err != nil {
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
		return "", fmt.Errorf("it answers %s, which no memcached does", cli.Quote(string(line)))
	}
	return cli.Safe(version), nil
}

// String returns the ring's kind and address.
func (r *nodeRing) String() string {
	text := r.Kind + " " + r.Address
	if r.Reason != "" {
		text += " (" + r.Reason + ")"
	}
	return text
}

// Full returns the number of counters for which a stand-in had no room; 0 for a memcached, without
// such a report.
func (r *nodeRing) Full() uint64 {
	if r.standIn == nil {
		return 0
	}
	return r.standIn.Full()
}
