package interceptor

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/netip"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/headgate-dev/headgate/edge/client"
)

// requestOf describes a call.
func (l *limit) requestOf(ctx context.Context, method string) client.Request {
	// A call is a POST of its full method over HTTP/2: policies see /package.Service/Method as the
	// path.
	q := client.Request{
		Method: http.MethodPost, Path: method, Scheme: "http",
		Headers: http.Header{}, Client: clientOf(ctx, l.trusted), CanWait: !l.hurried,
	}
	sent, _ := metadata.FromIncomingContext(ctx)
	if host := sent[":authority"]; len(host) > 0 {
		q.Host = host[0]
	}
	for _, name := range l.headers {
		if values := sent[strings.ToLower(name)]; len(values) > 0 {
			q.Headers[http.CanonicalHeaderKey(name)] = values
		}
	}
	if from, ok := peer.FromContext(ctx); ok {
		if secured, ok := from.AuthInfo.(credentials.TLSInfo); ok {
			q.Scheme, q.TLS = "https", versionOf(secured.State.Version)
		}
	}
	return q
}

// versionOf returns the name of a version of TLS, as policies know it.
func versionOf(version uint16) string {
	switch version {
	case tls.VersionTLS12:
		return "TLSv1.2"
	case tls.VersionTLS13:
		return "TLSv1.3"
	}
	return ""
}

// clientOf returns the address of a call's client, as client.ClientAddress does for HTTP; the zero
// Addr where there is none. By a request of HTTP made for it, so that proxies are trusted by the
// same rules in both worlds.
func clientOf(ctx context.Context, trusted []netip.Prefix) netip.Addr {
	r := http.Request{Header: http.Header{}}
	if from, ok := peer.FromContext(ctx); ok && from.Addr.Network() != "unix" {
		r.RemoteAddr = from.Addr.String()
	}
	sent, _ := metadata.FromIncomingContext(ctx)
	if list := sent["x-forwarded-for"]; len(list) > 0 {
		r.Header["X-Forwarded-For"] = list
	}
	return client.ClientAddress(&r, trusted)
}

// codeOf returns the code of the error that a handler returned, as the server will send it.
// Handlers return a context's error as it is; grpc-go makes these codes of it once the interceptors
// have returned.
func codeOf(err error) codes.Code {
	switch {
	case errors.Is(err, context.Canceled):
		return codes.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	}
	return status.Code(err)
}

// statuses are those of HTTP by the code of gRPC that means the same.
// The table of google.rpc.Code, whose comments name a status for each.
var statuses = [...]int{
	codes.OK: 200, codes.Canceled: 499, codes.Unknown: 500, codes.InvalidArgument: 400,
	codes.DeadlineExceeded: 504, codes.NotFound: 404,
	codes.AlreadyExists: 409, codes.PermissionDenied: 403, codes.ResourceExhausted: 429,
	codes.FailedPrecondition: 400, codes.Aborted: 409,
	codes.OutOfRange: 400, codes.Unimplemented: 501, codes.Internal: 500, codes.Unavailable: 503,
	codes.DataLoss: 500, codes.Unauthenticated: 401,
}

// Status returns the status of HTTP by which policies count a response that ends with code; 500 for
// a code that is none.
func Status(code codes.Code) int {
	if int(code) < len(statuses) {
		return statuses[code]
	}
	return http.StatusInternalServerError
}
