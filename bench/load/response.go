package main

import (
	"bytes"
	"errors"
	"strconv"
)

// maxResponse bounds one HTTP answer, headers and body, in bytes.
// an answer of a thousand checks is larger than any other
const maxResponse = 64 << 10

var (
	errNotHTTP  = errors.New("answer is not HTTP/1")
	errTooLarge = errors.New("answer is larger than 64 KiB")
	errNoLength = errors.New("answer has no Content-Length")
)

// response is the part of an HTTP answer that the load reads.
// No header but the length is looked at: the load is not to cost more than the server.
type response struct {
	status int
	size   int // headers and body, in bytes
}

// parseResponse reads an HTTP/1 answer from the start of b. ok is false while its headers are not
// complete; the body may still be missing: the answer is whole when len(b) >= size.
// 204 and 304 have no body (RFC 9112, 6.3). Chunked answers are not read: no server here sends one
// to a GET of known size.
func parseResponse(b []byte) (r response, ok bool, err error) {
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		if len(b) >= maxResponse {
			return r, false, errTooLarge
		}
		return r, false, nil
	}
	if r.status, err = parseStatus(b); err != nil {
		return r, false, err
	}
	r.size = end + len("\r\n\r\n")
	if r.status == 204 || r.status == 304 {
		return r, true, nil
	}
	length, err := contentLength(b[:end])
	r.size += length
	if err == nil && r.size > maxResponse {
		err = errTooLarge
	}
	return r, err == nil, err
}

// parseStatus reads NNN of "HTTP/1.x NNN".
// 1xx never comes: it would need an Expect in the request.
func parseStatus(b []byte) (int, error) {
	const at = len("HTTP/1.1 ")
	if len(b) < at+3 || !bytes.HasPrefix(b, []byte("HTTP/1.")) {
		return 0, errNotHTTP
	}
	status, err := strconv.Atoi(string(b[at : at+3]))
	if err != nil || status < 200 || status > 599 {
		return 0, errNotHTTP
	}
	return status, nil
}

// contentLength finds the header among the lines of head; the name is matched in any case.
// Answers without one would have to be read to the end of the connection, which is the end of a
// measurement.
func contentLength(head []byte) (int, error) {
	const name = "Content-Length:"
	for len(head) > 0 {
		line := head
		if eol := bytes.IndexByte(head, '\n'); eol >= 0 {
			line, head = head[:eol], head[eol+1:]
		} else {
			head = nil
		}
		if len(line) > len(name) && bytes.EqualFold(line[:len(name)], []byte(name)) {
			n, err := strconv.ParseUint(string(bytes.TrimSpace(line[len(name):])), 10, 31)
			if err != nil {
				return 0, errNoLength
			}
			return int(n), nil
		}
	}
	return 0, errNoLength
}
