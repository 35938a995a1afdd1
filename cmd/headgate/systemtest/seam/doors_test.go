//go:build !race

package seam_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest/seam"
	"github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// goHandler is net/http with the handler of the client. The site is the handler behind.
func goHandler(t testing.TB, d *daemon) *seam.Column {
	t.Helper()
	c := &seam.Column{Seen: seam.Usual}
	gate, err := client.Dial("unix:"+filepath.Join(d.dir, "udp"),
		client.WithTimeout(edgetest.Patience))
	if err != nil {
		t.Fatal(err)
	}
	site := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		c.Note(seam.Received(r))
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: gate.Handler(site)} //nolint:gosec // of a test
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _, _ = server.Close(), gate.Close() })
	c.Send = seam.Sender(l.Addr().String())
	return c
}

// field returns a field of a message of protobuf.
func field(number int, parts ...string) string {
	content := strings.Join(parts, "")
	return string(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(number)<<3|2),
		uint64(len(content)))) + content
}

// envoy is a column without a proxy: what was asked is what would be served. ask returns the call's
// message, and whether an answer lets the request pass.
func envoy(
	method string, seen []string, message func(from string, r *seam.Request) string,
	passes func(answer string) bool,
) func(testing.TB, *daemon) *seam.Column {
	return func(t testing.TB, d *daemon) *seam.Column {
		t.Helper()
		var protocols http.Protocols
		protocols.SetUnencryptedHTTP2(true)
		transport := &http.Transport{Protocols: &protocols, DialContext: func(ctx context.Context,
			_, _ string,
		) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(d.dir, "grpc"))
		}}
		t.Cleanup(transport.CloseIdleConnections)
		c := &seam.Column{Seen: seen}
		c.Send = func(from string, r *seam.Request) int {
			text := message(from, r)
			call, err := http.NewRequestWithContext(context.Background(), http.MethodPost,
				"http://headgate"+method,
				strings.NewReader(string(binary.BigEndian.AppendUint32([]byte{0},
					uint32(len(text))))+text))
			if err != nil {
				t.Fatal(err)
			}
			call.Header.Set("Content-Type", "application/grpc")
			call.Header.Set("Te", "trailers")
			answer, err := transport.RoundTrip(call)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close() //nolint:errcheck // only read from
			body, _ := io.ReadAll(answer.Body)
			status := answer.Trailer.Get("Grpc-Status") + answer.Header.Get("Grpc-Status")
			// A proxy passes what fails: failure_mode_allow.
			if status == "0" && !passes(string(body[min(5, len(body)):])) {
				return http.StatusForbidden
			}
			c.Note(seam.Served{
				Row: r.Get("X-Row"), Method: r.Method, Target: r.Target,
				Headers: joined(r),
			})
			return http.StatusOK
		}
		return c
	}
}

// joined returns the headers as Envoy describes them: the values of one name are one, with commas
// between, and Host is the first.
func joined(r *seam.Request) (all []seam.Header) {
	for _, h := range r.Headers {
		name := strings.ToLower(h.Name)
		at := slices.IndexFunc(all, func(is seam.Header) bool { return is.Name == name })
		switch {
		case at < 0:
			all = append(all, seam.Header{Name: name, Value: h.Value})
		case name != "host":
			all[at].Value += "," + h.Value
		}
	}
	return all
}

// authz is the method that Envoy calls for ext_authz.
const authz = "/envoy.service.auth.v3.Authorization/Check"

// check is a CheckRequest as Envoy fills it.
func check(from string, r *seam.Request) string {
	all := []string{
		field(1, "id"), field(2, r.Method), field(4, r.Target),
		field(5, r.Get("Host")), field(6, "http"),
	}
	for _, h := range append(joined(r), seam.Header{Name: ":path", Value: r.Target},
		seam.Header{Name: ":method", Value: r.Method}, seam.Header{
			Name:  ":authority",
			Value: r.Get("Host"),
		}) {
		if h.Name != "host" {
			all = append(all, field(3, field(1, h.Name), field(2, h.Value)))
		}
	}
	return field(1, field(1, field(1, field(1, field(2, from)))), field(4, field(2, all...)))
}

// passesCheck reports whether a CheckResponse has the code OK: no denied response, which a code
// other than 0 comes with.
func passesCheck(answer string) bool { return !strings.HasPrefix(answer, "\x0a\x02\x08\x07") }

// limits is a RateLimitRequest with the descriptor of the file that init writes.
func limits(from string, r *seam.Request) string {
	entry := func(key, value string) string { return field(1, field(1, key), field(2, value)) }
	descriptor := entry("method", r.Method) + entry("path", r.Target) + entry("host", r.Get("Host"))
	for _, h := range joined(r) {
		if h.Name == "x-api-key" {
			descriptor += entry("header.x-api-key", h.Value)
		}
	}
	return field(1, "edge") + field(2, descriptor+entry("remote_address", from))
}

// passesLimits reports whether a RateLimitResponse has the code OK.
func passesLimits(answer string) bool { return !strings.HasPrefix(answer, "\x08\x02") }
