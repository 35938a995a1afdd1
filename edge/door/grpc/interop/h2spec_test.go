package interop

import (
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/summerwind/h2spec/config"
	"github.com/summerwind/h2spec/generic"
	"github.com/summerwind/h2spec/hpack"
	"github.com/summerwind/h2spec/http2"
	"github.com/summerwind/h2spec/spec"
)

// TestH2Spec: the door passes every generic, http2 and hpack test of h2spec. Of grpc-go in the same
// run see TestH2SpecBeside.
func TestH2Spec(t *testing.T) {
	node := h2spec(t, start(t, ""))
	if len(node.failed) > 0 || node.skipped > 0 || node.passed < 145 {
		t.Errorf("%d passed, %d skipped, failed: %q", node.passed, node.skipped, node.failed)
	}
}

// outcome is what h2spec says of a server.
type outcome struct {
	passed, skipped int
	failed          []string
}

// h2spec runs h2spec against the server at addr.
func h2spec(t *testing.T, addr net.Addr) (out outcome) {
	t.Helper()
	tcp := addr.(*net.TCPAddr) //nolint:forcetypeassert // it is one
	stdout := os.Stdout
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout = w // h2spec prints as it goes
	go func() { _, _ = io.Copy(io.Discard, r) }()
	defer func() { os.Stdout = stdout; _ = w.Close() }()
	c := &config.Config{
		Host: "127.0.0.1", Port: tcp.Port, Path: "/",
		Timeout: 2 * time.Second, MaxHeaderLen: 4000,
	}
	for _, group := range []*spec.TestGroup{generic.Spec(), http2.Spec(), hpack.Spec()} {
		group.Test(c)
		out.add(group)
	}
	return out
}

// add adds the results of a group and of those in it.
func (o *outcome) add(group *spec.TestGroup) {
	for _, test := range group.Tests {
		switch {
		case test.Result == nil:
		case test.Result.Skipped:
			o.skipped++
		case test.Result.Failed:
			o.failed = append(o.failed, group.ID()+" "+strings.TrimSpace(test.Desc))
		default:
			o.passed++
		}
	}
	for _, g := range group.Groups {
		o.add(g)
	}
}
