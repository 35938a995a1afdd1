package xds

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"
)

const method = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"

// stream is a call of gRPC: messages of five bytes, a flag and their length, and their content.
type stream struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	out    *io.PipeWriter
	in     io.Reader
	answer *http.Response // nil before the first bytes of the server
	opened func()         // when there is a connection
	first  chan opening

	running sync.WaitGroup
}

// opening is the outcome of the request's head.
type opening struct {
	answer *http.Response
	err    error
}

func newStream(
	ctx context.Context, cancel context.CancelCauseFunc, opened func(),
) *stream {
	return &stream{ctx: ctx, cancel: cancel, opened: opened, first: make(chan opening, 1)}
}

// open sends the head of the call and the first request. It does not wait for the server, which may
// have nothing to say for days.
func (s *stream) open(transport *http.Transport, server string, o *Options) error {
	var body *io.PipeReader
	body, s.out = io.Pipe()
	// The transport waits for the body, and does not look at the context meanwhile.
	context.AfterFunc(s.ctx, func() { _ = s.out.CloseWithError(context.Cause(s.ctx)) })
	ctx := httptrace.WithClientTrace(s.ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { s.opened() },
	})
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, server+method, body)
	if err != nil {
		return err
	}
	if o.Headers != nil {
		headers, err := o.Headers()
		if err != nil {
			return err
		}
		for name, value := range headers {
			q.Header.Set(name, value)
		}
	}
	q.Header.Set("Content-Type", "application/grpc")
	q.Header.Set("Te", "trailers")
	q.Header.Set("User-Agent", "headgate/"+o.Node.Version)
	s.running.Go(func() {
		answer, err := transport.RoundTrip(q) //nolint:bodyclose // close does
		if err != nil {
			_ = body.CloseWithError(err) // whoever writes learns of it
		}
		s.first <- opening{answer, err}
	})
	return s.send(firstRequest(o))
}

// close ends the call.
func (s *stream) close() {
	s.cancel(nil)
	s.running.Wait()
	select {
	case is := <-s.first:
		if is.answer != nil {
			_ = is.answer.Body.Close()
		}
	default:
	}
}

// send sends a message.
func (s *stream) send(message []byte) error {
	defer s.within(messageTime, "a request was not read")()
	head := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))) // of a few KiB
	if _, err := s.out.Write(append(head, message...)); err != nil {
		return s.begin() // else the end of the answer says why
	}
	return nil
}

// within ends the stream unless the returned function is called within d.
func (s *stream) within(d time.Duration, why string) (done func() bool) {
	return time.AfterFunc(d, func() { s.cancel(fmt.Errorf("%s within %v", why, d)) }).Stop
}

// receive returns the next message.
func (s *stream) receive() ([]byte, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	var head [5]byte
	if _, err := io.ReadFull(s.in, head[:1]); err != nil {
		return nil, s.ended(err)
	}
	defer s.within(messageTime, "a response did not end")()
	if _, err := io.ReadFull(s.in, head[1:]); err != nil {
		return nil, s.ended(err)
	}
	size := binary.BigEndian.Uint32(head[1:])
	switch {
	case head[0] != 0:
		return nil, errors.New("a response is compressed, which was not asked for")
	case size > MaxResponse:
		return nil, fmt.Errorf("a response has %d bytes, more than %d", size, MaxResponse)
	}
	var message bytes.Buffer // grows as bytes come, whatever the head promises
	if _, err := io.CopyN(&message, s.in, int64(size)); err != nil {
		return nil, s.ended(err)
	}
	return message.Bytes(), nil
}

// begin waits for the head of the server's answer.
func (s *stream) begin() error {
	if s.in != nil {
		return nil
	}
	is := <-s.first
	s.first <- is
	if is.err != nil {
		return is.err
	}
	s.answer = is.answer
	if s.answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answers HTTP status %d", s.answer.StatusCode)
	}
	if s.answer.Header.Get("Grpc-Status") != "" {
		return grpcError(s.answer.Header)
	}
	s.in = s.answer.Body
	return nil
}

// ended returns why the server's answer ended.
func (s *stream) ended(err error) error {
	if errors.Is(err, io.EOF) && s.answer.Trailer.Get("Grpc-Status") != "" {
		return grpcError(s.answer.Trailer)
	}
	return fmt.Errorf("the stream ended: %w", err)
}

func grpcError(h http.Header) error {
	return fmt.Errorf("the server ended the stream: grpc-status %.3s %q", h.Get("Grpc-Status"),
		h.Get("Grpc-Message"))
}
