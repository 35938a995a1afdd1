package head

import (
	"bytes"
	"net/http"

	"github.com/headgate-dev/headgate/edge/api"
)

// Bounds of a head.
const (
	// MaxTarget is the most bytes of a request target; longer: 414.
	MaxTarget = 4 << 10
	// MaxHeaders is the most bytes of headers; more: 431. Generous, because a proxy forwards the
	// cookies of the client, which this door ignores.
	MaxHeaders = 64 << 10
)

// Chunked stands for the length of a body in chunks, which is not announced.
const Chunked = -1

// mediaJSON is the only content type of request bodies.
const mediaJSON = "application/json"

// Malformed answers a malformed head, with the fault.
func Malformed(detail string) *api.Problem { return api.BadParameter("request", detail) }

// tooLarge answers headers above MaxHeaders, or a header beyond the buffer.
func tooLarge() *api.Problem {
	return api.NewProblem(http.StatusRequestHeaderFieldsTooLarge, "headers",
		"exceed 64 KiB")
}

// LongTarget answers a request target above MaxTarget.
func LongTarget() *api.Problem {
	return api.NewProblem(http.StatusRequestURITooLong, "uri", "exceeds 4096 bytes")
}

// isJSON reports whether a content type is application/json. Parameters are ignored, since JSON is
// UTF-8 whatever a charset says.
func isJSON(contentType []byte) bool {
	media, _, _ := bytes.Cut(contentType, []byte{';'})
	return bytes.EqualFold(bytes.TrimSpace(media), []byte(mediaJSON))
}
