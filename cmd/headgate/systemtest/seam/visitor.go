package seam

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"time"
)

// answerTime is how long a visitor waits for an answer. One that comes later is none for the
// visitor, but what the site served is judged whenever that was.
const answerTime = 500 * time.Millisecond

// Visitor sends requests from an address, byte for byte, over a connection that is kept where the
// proxy keeps it.
type Visitor struct {
	from, to string
	conn     net.Conn
	in       *bufio.Reader
}

// send sends r and returns the status, or 0 where no answer came.
func (v *Visitor) send(r *Request) int {
	if v.conn == nil {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(v.from)}, Timeout: answerTime}
		conn, err := dialer.Dial("tcp", v.to)
		if err != nil {
			return 0
		}
		v.conn, v.in = conn, bufio.NewReader(conn)
	}
	_ = v.conn.SetDeadline(time.Now().Add(answerTime))
	_, _ = io.WriteString(v.conn, r.Bytes()) // an answer may come to half a request
	status, kept := v.receive(r.Method)
	if !kept || r.last() {
		v.hangUp()
	}
	return status
}

// receive reads the answer, and reports whether the connection can be used again.
func (v *Visitor) receive(method string) (status int, kept bool) {
	for {
		//nolint:bodyclose // it is read to its end, or the connection ends
		answer, err := http.ReadResponse(v.in, &http.Request{Method: method})
		if err != nil {
			return 0, false
		}
		if answer.StatusCode >= http.StatusContinue && answer.StatusCode < http.StatusOK &&
			answer.StatusCode != http.StatusSwitchingProtocols {
			continue
		}
		_, err = io.Copy(io.Discard, answer.Body)
		return answer.StatusCode, err == nil && !answer.Close && v.in.Buffered() == 0
	}
}

func (v *Visitor) hangUp() {
	if v.conn != nil {
		_ = v.conn.Close()
		v.conn = nil
	}
}

// Sender returns a function that sends requests to an address, each visitor's over a connection of
// its own.
func Sender(to string) func(from string, r *Request) int {
	visitors := map[string]*Visitor{}
	return func(from string, r *Request) int {
		v := visitors[from]
		if v == nil {
			v = &Visitor{from: from, to: to}
			visitors[from] = v
		}
		return v.send(r)
	}
}
