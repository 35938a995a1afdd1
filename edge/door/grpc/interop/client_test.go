package interop

import (
	"context"
	"fmt"
	"os/exec"
	"sync"
	"testing"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const site = `
rules:
  - {name: login, limit: 5, window: 1m}
  - {name: many, limit: 1000000, window: 1h}
policies:
  - {name: scanners, match: {path: "/.env"}, deny: 403}
  - {name: posts, match: {method: POST}, key: client, limit: 2, window: 10s}
`

// describe returns a descriptor of keys and values.
func describe(pairs ...string) *ratelimit.RateLimitDescriptor {
	d := new(ratelimit.RateLimitDescriptor)
	for i := 0; i < len(pairs); i += 2 {
		d.Entries = append(d.Entries,
			&ratelimit.RateLimitDescriptor_Entry{Key: pairs[i], Value: pairs[i+1]})
	}
	return d
}

// TestRLS: grpc-go reads every field that Envoy uses as it was meant, compressed or not.
func TestRLS(t *testing.T) {
	c := rls.NewRateLimitServiceClient(dial(t, start(t, site).String()))
	for n := range 6 {
		var options []grpc.CallOption
		if n%2 == 1 {
			options = append(options, grpc.UseCompressor(gzip.Name))
		}
		own := describe("tenant", "t")
		own.Limit = &ratelimit.RateLimitDescriptor_RateLimitOverride{
			RequestsPerUnit: 100,
			Unit:            typev3.RateLimitUnit_HOUR, UnitMultiplier: wrapperspb.UInt32(2),
		}
		r, err := c.ShouldRateLimit(timeout(t),
			&rls.RateLimitRequest{
				Domain: "edge",
				Descriptors: []*ratelimit.RateLimitDescriptor{
					describe("rule", "login", "user", "anna"),
					own,
				},
			}, options...)
		if err != nil {
			t.Fatal(err)
		}
		want := rls.RateLimitResponse_OK
		if n == 5 {
			want = rls.RateLimitResponse_OVER_LIMIT
		}
		s := r.GetStatuses()[0]
		if r.GetOverallCode() != want || s.GetCode() != want ||
			s.GetLimitRemaining() != uint32(max(0, 4-n)) ||
			s.GetDurationUntilReset().AsDuration() < 50*time.Second {
			t.Errorf("%d: %v", n, r)
		}
		if l := s.GetCurrentLimit(); l.GetName() != "login" || l.GetRequestsPerUnit() != 5 ||
			l.GetUnit() != rls.RateLimitResponse_RateLimit_MINUTE {
			t.Errorf("%v", l)
		}
		if l := r.GetStatuses()[1].GetCurrentLimit(); l.GetRequestsPerUnit() != 100 ||
			l.GetUnit() != rls.RateLimitResponse_RateLimit_HOUR ||
			l.GetUnitMultiplier().GetValue() != 2 {
			t.Errorf("%v", l)
		}
		headers := r.GetResponseHeadersToAdd()
		if headers[0].GetKey() != "RateLimit-Policy" || headers[1].GetKey() != "RateLimit" ||
			(n == 5) != (len(headers) == 3 && headers[2].GetKey() == "Retry-After") {
			t.Errorf("%d: %v", n, headers)
		}
	}
	_, err := c.ShouldRateLimit(timeout(t),
		&rls.RateLimitRequest{
			Domain:      "edge",
			Descriptors: []*ratelimit.RateLimitDescriptor{describe("rule", "none", "k", "v")},
		})
	if status.Code(err) != codes.NotFound {
		t.Error(err)
	}
}

// TestAuthz: the same of external authorization.
func TestAuthz(t *testing.T) {
	c := auth.NewAuthorizationClient(dial(t, start(t, site).String()))
	check := func(method, path string) *auth.CheckResponse {
		t.Helper()
		r, err := c.Check(timeout(t), &auth.CheckRequest{Attributes: &auth.AttributeContext{
			Source: &auth.AttributeContext_Peer{Address: &core.Address{Address: &core.Address_SocketAddress{SocketAddress: &core.SocketAddress{Address: "203.0.113.5"}}}},
			Request: &auth.AttributeContext_Request{Http: &auth.AttributeContext_HttpRequest{
				Method: method, Path: path, Host: "example.com",
				Headers: map[string]string{":path": path, "user-agent": "x"},
			}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for range 2 {
		if r := check("POST", "/x"); r.GetStatus().GetCode() != 0 ||
			len(r.GetOkResponse().GetResponseHeadersToAdd()) != 2 {
			t.Errorf("%v", r)
		}
	}
	r := check("POST", "/x")
	denied := r.GetDeniedResponse()
	if codes.Code(r.GetStatus().GetCode()) != codes.PermissionDenied ||
		denied.GetStatus().GetCode() != 429 || denied.GetBody() == "" ||
		denied.GetHeaders()[0].GetHeader().GetKey() != "RateLimit-Policy" {
		t.Errorf("%v", r)
	}
	if r = check("GET", "/.env"); r.GetDeniedResponse().GetStatus().GetCode() != typev3.StatusCode_Forbidden {
		t.Errorf("%v", r)
	}
}

// TestHealth: as health probes ask.
func TestHealth(t *testing.T) {
	c := grpc_health_v1.NewHealthClient(dial(t, start(t, site).String()))
	r, err := c.Check(timeout(t),
		&grpc_health_v1.HealthCheckRequest{Service: "envoy.service.auth.v3.Authorization"})
	if err != nil || r.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("%v, %v", r, err)
	}
	if _, err = c.Check(timeout(t), &grpc_health_v1.HealthCheckRequest{Service: "x"}); status.Code(
		err) != codes.NotFound {
		t.Error(err)
	}
	stream, err := c.Watch(timeout(t), &grpc_health_v1.HealthCheckRequest{})
	if err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.Unimplemented {
		t.Error(err)
	}
}

// TestConcurrent: many callers on one connection, large and small, some of whom give up, get the
// answers that are theirs.
func TestConcurrent(t *testing.T) {
	c := rls.NewRateLimitServiceClient(dial(t, start(t, site).String()))
	var wait sync.WaitGroup
	for caller := range 32 {
		wait.Go(func() {
			for n := range 50 {
				value := fmt.Sprintf("%d", caller)
				d := []*ratelimit.RateLimitDescriptor{describe("rule", "many", "caller", value)}
				for range caller {
					d = append(d, describe("rule", "many", "other", value))
				}
				if n%10 == 9 {
					gone, cancel := context.WithTimeout(t.Context(), time.Microsecond)
					_, _ = c.ShouldRateLimit(gone,
						&rls.RateLimitRequest{Domain: "edge", Descriptors: d, HitsAddend: 1})
					cancel()
					continue
				}
				r, err := c.ShouldRateLimit(timeout(t),
					&rls.RateLimitRequest{Domain: "edge", Descriptors: d})
				if err != nil || len(r.GetStatuses()) != len(d) ||
					r.GetStatuses()[0].GetLimitRemaining() > 999_999-uint32(n)+5 {
					t.Errorf("caller %d: %v, %v", caller, r, err)
				}
			}
		})
	}
	wait.Wait()
}

// TestTLS: grpc-go over TLS with certificates on both sides.
func TestTLS(t *testing.T) {
	cert, key, client := edgetest.Certificate(t)
	addr := start(t, fmt.Sprintf("tls: {cert_file: %s, key_file: %s, client_ca_file: %s}\n", cert,
		key, cert))
	c, err := grpc.NewClient(addr.String(),
		grpc.WithTransportCredentials(credentials.NewTLS(client)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := grpc_health_v1.NewHealthClient(c).Check(timeout(t),
		new(grpc_health_v1.HealthCheckRequest)); err != nil {
		t.Error(err)
	}
}

// TestPython: gRPC's C core, by python3-grpcio, reads the answers; skipped where it is not
// installed.
func TestPython(t *testing.T) {
	const python = "/usr/bin/python3"
	if exec.Command(python, "-c", "import grpc").Run() != nil {
		t.Skip("python3-grpcio is not installed")
	}
	out, err := exec.CommandContext(timeout(t), python, "-c", script,
		start(t, site).String()).CombinedOutput()
	if err != nil || string(out) != "500 answers\n" {
		t.Errorf("%s, %v", out, err)
	}
}

// script asks 500 times at once, messages made by hand: domain d, rule many, key k.
const script = `
import grpc, sys
channel = grpc.insecure_channel(sys.argv[1])
call = channel.unary_unary('/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit', lambda b: b, lambda b: b)
def field(n, b): return bytes([n << 3 | 2, len(b)]) + b
entry = lambda k, v: field(1, field(1, k) + field(2, v))
message = field(1, b'd') + field(2, entry(b'rule', b'many') + entry(b'k', b'v'))
answers = [f.result(timeout=30) for f in [call.future(message) for _ in range(500)]]
assert all(a[:2] == b'\x08\x01' and b'many' in a for a in answers)
print(len(answers), 'answers')
`
