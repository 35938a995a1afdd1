package interceptor

import (
	"net/http"
	"strconv"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/headgate-dev/headgate/edge/client"
)

// metadataOf returns what the caller learns of its limit: ratelimit, and denied, retry-after in
// seconds. The trailer grpc-retry-pushback-ms has gRPC's own retries wait as long.
func metadataOf(a *client.Answer) (header, trailer metadata.MD) {
	header, trailer = metadata.MD{}, metadata.MD{}
	if value := a.RateLimit(); value != "" {
		header.Set("ratelimit", value)
	}
	if !a.Allowed() && a.Retry > 0 {
		header.Set("retry-after", strconv.FormatInt(int64(a.Retry.Seconds()), 10))
		trailer.Set("grpc-retry-pushback-ms", strconv.FormatInt(a.Retry.Milliseconds(), 10))
	}
	return header, trailer
}

// denial returns the error of a call that is denied: RESOURCE_EXHAUSTED, or as a policy's status
// says. Without a verdict it is UNAVAILABLE, which clients may retry: nothing is known against the
// caller.
func denial(a *client.Answer) error {
	if a.Err != nil {
		return status.Error(codes.Unavailable, "the rate limiter gives no verdict")
	}
	is := status.New(denialCode(a), "denied by a limit")
	if a.Rule == "" && a.Retry == 0 { // a policy denies, or the limit is not announced
		return is.Err()
	}
	retry := &errdetails.RetryInfo{RetryDelay: durationpb.New(a.Retry)}
	if a.Rule == "" {
		return withDetails(is, retry)
	}
	// The subject is the rule and not the key, which may be somebody's address or a secret.
	return withDetails(is, retry, &errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{
		{Subject: a.Rule, Description: "the limit of this rule is used up: " + a.Why.String()},
	}})
}

// denialCode returns the code of a denial.
// The reverse of Status for the few statuses that policies deny with; all others are a limit.
func denialCode(a *client.Answer) codes.Code {
	switch a.HTTP {
	case http.StatusUnauthorized:
		return codes.Unauthenticated
	case http.StatusForbidden:
		return codes.PermissionDenied
	case http.StatusNotFound:
		return codes.NotFound
	}
	return codes.ResourceExhausted
}

// withDetails returns the error of is with details.
func withDetails(is *status.Status, details ...protoadapt.MessageV1) error {
	with, err := is.WithDetails(details...)
	if err != nil { // only OK takes none
		return is.Err()
	}
	return with.Err()
}
