package http

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/door/doortest"
)

// cutBodies are bodies whose end never comes, each of which would be a good check if it had ended
// there.
var cutBodies = map[string]string{
	"after a chunk": jsonHead + "Transfer-Encoding: chunked\r\n\r\n1a\r\n" +
		oneCheckBody + "\r\n",
	"within a chunk's end": jsonHead + "Transfer-Encoding: chunked\r\n\r\n1a\r\n" +
		oneCheckBody,
	"within the last chunk": jsonHead + "Transfer-Encoding: chunked\r\n\r\n1a\r\n" +
		oneCheckBody + "\r\n0",
	"before the trailer's end": jsonHead + "Transfer-Encoding: chunked\r\n\r\n1a\r\n" +
		oneCheckBody + "\r\n0\r\n",
	"within the trailer": jsonHead + "Transfer-Encoding: chunked\r\n\r\n1a\r\n" +
		oneCheckBody + "\r\n0\r\nX: y\r\n",
	"short of a length": jsonHead + "Content-Length: 40\r\n\r\n" + oneCheckBody,
	"short of a large length": jsonHead + "Content-Length: 40000\r\n\r\n" +
		oneCheckBody + strings.Repeat(" ", 30000),
}

// TestHTTPBodyCutShort checks that a body whose client is gone before its end does not count.
func TestHTTPBodyCutShort(t *testing.T) {
	t.Parallel()
	for name, raw := range cutBodies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newFakeDecider()
			c := openDoor(t, j, testLimits()).dial(t)
			if _, err := io.WriteString(c, raw); err != nil {
				t.Fatal(err)
			}
			if err := c.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			br := bufio.NewReader(c)
			if r := doortest.ReadReply(t, br); r.StatusCode != http.StatusBadRequest {
				t.Errorf("status %d: %s", r.StatusCode, r.Text)
			}
			checkClosed(t, c, br, true)
			if asked := j.queries(); len(asked) != 0 {
				t.Errorf("the gate was asked %d times", len(asked))
			}
		})
	}
}
