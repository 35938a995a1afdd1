package main

import (
	"errors"
	"strings"
	"testing"
)

func TestParseResponse(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     response
		ok       bool
		err      error
	}{
		{"no body", "HTTP/1.1 204 No Content\r\nDate: x\r\n\r\n", response{204, 36}, true, nil},
		{"body", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", response{200, 40}, true, nil},
		{
			"body to come", "HTTP/1.1 429 X\r\ncontent-LENGTH:  7 \r\n\r\n",
			response{429, 46},
			true, nil,
		},
		{"half a head", "HTTP/1.1 200 OK\r\nConte", response{}, false, nil},
		{"no length", "HTTP/1.1 200 OK\r\n\r\n", response{}, false, errNoLength},
		{
			"bad length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
			response{},
			false, errNoLength,
		},
		{
			"too large", "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n",
			response{},
			false, errTooLarge,
		},
		{"endless head", strings.Repeat("a", maxResponse), response{}, false, errTooLarge},
		{"another protocol", "SSH-2.0-x\r\n\r\n", response{}, false, errNotHTTP},
		{"strange status", "HTTP/1.1 999 X\r\n\r\n", response{}, false, errNotHTTP},
	} {
		got, ok, err := parseResponse([]byte(c.in))
		if ok != c.ok || !errors.Is(err, c.err) {
			t.Errorf("%s: ok %v, error %v; want %v, %v", c.name, ok, err, c.ok, c.err)
		}
		if ok && got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func FuzzParseResponse(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"))
	f.Add([]byte("HTTP/1.0 204 \r\n\r\n"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2147483647\r\n\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, ok, err := parseResponse(in)
		if ok && (err != nil || r.size > maxResponse || r.size < len("HTTP/1.1 204\r\n\r\n")) {
			t.Errorf("%+v, error %v", r, err)
		}
	})
}
