package grpc

import (
	"strconv"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door/verdict"
	"github.com/headgate-dev/headgate/edge/pb"
)

// Fields of a RateLimitResponse.
const (
	fieldRequestHeaders = 4
	fieldRawBody        = 5
	fieldMetadata       = 6
)

// tooManyRequests is the status with which Envoy denies unless configured otherwise.
const tooManyRequests = 429

// retryOfPools returns the seconds after which a request a pool denies may come again; 0: none
// does.
func (k *caller) retryOfPools() uint32 {
	for i := range k.parts {
		if k.parts[i].Why == ask.ByLoad {
			return ask.RetryShedSeconds
		}
	}
	return 0
}

// appendForm appends the form of a denial by the first descriptor a policy gives one: raw_body, and
// the status as dynamic_metadata, which a mapper of Envoy's local_reply_config can send.
// RateLimitResponse cannot name a status; Envoy's rate limit filter takes it from its own
// configuration.
func (k *caller) appendForm(b []byte) []byte {
	var body string
	status := tooManyRequests
	for i := range k.parts {
		p := &k.parts[i]
		if p.Deny && body == "" {
			body = p.Body
		}
		if p.Deny && status == tooManyRequests {
			status = p.Status
		}
	}
	if body != "" {
		b = pb.AppendBytes(b, fieldRawBody, append(k.values[:0], body...))
	}
	if status == tooManyRequests {
		return b
	}
	// beside that of appendMetadata: both are merged, as in protobuf
	b, at := pb.Begin(b, fieldMetadata)
	return pb.End(appendStruct(b, map[string]any{"status": float64(status)}), at)
}

// appendAdvice appends request_headers_to_add, for the backend of a passing request: to do nothing
// and answer as if all were well, to wait first, or that no lease was left. A deceived request goes
// alone: who pretends does not wait.
func (k *caller) appendAdvice(b []byte) []byte {
	for i := range k.parts {
		if k.parts[i].Deceive {
			return appendHeader(b, fieldRequestHeaders, "Headgate-Deceive", one)
		}
	}
	if delay := k.session.Delay(); delay > 0 {
		b = appendHeader(b, fieldRequestHeaders, "Headgate-Delay",
			strconv.AppendUint(k.values[:0], uint64(verdict.Millis(delay)), 10))
	}
	if k.session.Full() {
		b = appendHeader(b, fieldRequestHeaders, "Headgate-Full", one)
	}
	return b
}
