package http

import (
	"bufio"
	"io"
	"testing"

	"github.com/headgate-dev/headgate/edge/door/doortest"
)

const jsonHead = "POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"

const oneCheckBody = `{"rule":"login","key":"a"}`

// ambiguousLengths are requests whose end two readers may see in two places (RFC 9112, 6.1 and
// 6.3): whoever stands in front of the door may have seen the other one.
var ambiguousLengths = []badInput{
	{"length, then chunked", jsonHead + "Content-Length: 26\r\nTransfer-Encoding: " +
		"chunked\r\n\r\n1a\r\n" + oneCheckBody + "\r\n0\r\n\r\n", "request", 400},
	{"chunked, then length", jsonHead + "Transfer-Encoding: chunked\r\nContent-Length: " +
		"26\r\n\r\n1a\r\n" + oneCheckBody + "\r\n0\r\n\r\n", "request", 400},
	{
		"chunked and length, mixed case",
		jsonHead + "transfer-ENCODING: Chunked\r\ncontent-LENGTH: 5\r\n\r\n0\r\n\r\n", "request",
		400,
	},
	{"identity", jsonHead + "Transfer-Encoding: identity\r\nContent-Length: 26\r\n\r\n" +
		oneCheckBody, "request", 400},
	{
		"identity without a length",
		"GET /v1/check?rule=login&key=a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: identity\r\n\r\n",
		"request", 400,
	},
	{
		"gzip, chunked", jsonHead + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "request",
		400,
	},
	{"chunked twice", jsonHead + "Transfer-Encoding: chunked\r\nTransfer-Encoding: " +
		"chunked\r\n\r\n0\r\n\r\n", "request", 400},
	{"chunked in HTTP/1.0", "POST /v1/check HTTP/1.0\r\nTransfer-Encoding: " +
		"chunked\r\n\r\n0\r\n\r\n", "request", 400},
	{"one length twice", jsonHead + "Content-Length: 26\r\nContent-Length: 26\r\n\r\n" +
		oneCheckBody, "request", 400},
	{
		"two lengths in a list",
		jsonHead + "Content-Length: 26, 26\r\n\r\n" + oneCheckBody,
		"request",
		400,
	},
	{"length with a sign", jsonHead + "Content-Length: +26\r\n\r\n" + oneCheckBody, "request", 400},
	{"length beyond numbers", jsonHead + "Content-Length: 18446744073709551642\r\n\r\n" +
		oneCheckBody, "request", 400},
	{
		"chunked on a second line", jsonHead + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
		"request", 400,
	},
	{
		"chunked behind a tab", jsonHead + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
		"request", 400,
	},
}

// TestHTTPAmbiguousLength checks that such a request is refused, counts nothing and is the last of
// its connection.
func TestHTTPAmbiguousLength(t *testing.T) {
	t.Parallel()
	for _, tt := range ambiguousLengths {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			checkRefusedForGood(t, tt)
		})
	}
}

// checkRefusedForGood sends tt and a good request behind it: the first is refused, nothing reaches
// the gate, and the connection ends.
func checkRefusedForGood(t *testing.T, tt badInput) {
	t.Helper()
	j := newFakeDecider()
	d := openDoor(t, j, testLimits())
	c := d.dial(t)
	if _, err := io.WriteString(c, tt.raw+okRequest); err != nil {
		t.Fatal(err)
	}
	br := bufio.NewReader(c)
	checkProblem(t, doortest.ReadReply(t, br), tt.status, tt.parameter)
	checkClosed(t, c, br, true)
	if asked := j.queries(); len(asked) != 0 {
		t.Errorf("the gate was asked %d times: %v", len(asked), asked)
	}
}
