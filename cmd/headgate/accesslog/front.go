package accesslog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/headgate-dev/headgate/edge/request"
)

// Collectors of logs put things before a line, and formats differ in their first fields. All are
// read here, so no time, host or site can be taken for a client.

var (
	errPart  = errors.New("only a part of a line: the container's runtime cut it")
	errOuter = errors.New("not an object of docker's json-file")
)

// peel returns line without what collectors put before it: docker's json-file, CRI, and syslog in
// the forms of RFC 3164, RFC 5424 and rsyslog.
func peel(line []byte) ([]byte, error) {
	if bytes.HasPrefix(line, []byte(`{"log":`)) {
		var outer struct {
			Log string `json:"log"`
		}
		if json.Unmarshal(line, &outer) != nil {
			return nil, errOuter
		}
		if line = []byte(outer.Log); !bytes.HasSuffix(line, []byte("\n")) {
			return nil, errPart
		}
		return peel(bytes.TrimRight(line, "\r\n"))
	}
	if bytes.HasPrefix(line, []byte("<")) {
		end := bytes.IndexByte(line, '>')
		if end < 2 || end > 4 || number(line[1:end]) < 0 {
			return line, nil
		}
		if line = line[end+1:]; bytes.HasPrefix(line, []byte("1 ")) {
			return bytes.TrimPrefix(structured(line), []byte("\uFEFF")), nil
		}
	}
	if rest, ok := traditional(line); ok {
		return tagged(rest), nil
	}
	stamp, rest, _ := bytes.Cut(line, []byte(" "))
	if len(stamp) < len(time.DateOnly+"T") || stamp[len(time.DateOnly)] != 'T' {
		return line, nil // nearly all are
	}
	if _, err := time.Parse(time.RFC3339Nano, string(stamp)); err != nil {
		return line, nil
	}
	stream, message, _ := bytes.Cut(rest, []byte(" "))
	if s := string(stream); s == "stdout" || s == "stderr" {
		flag, text, _ := bytes.Cut(message, []byte(" "))
		if flag, _, _ = bytes.Cut(flag, []byte(":")); string(flag) != "F" {
			return nil, errPart
		}
		return text, nil
	}
	return tagged(rest), nil
}

// traditional cuts a time as `Mar  7 10:00:01 ` off.
func traditional(line []byte) (rest []byte, ok bool) {
	const form = "Jan _2 15:04:05"
	if len(line) <= len(form) || line[len(form)] != ' ' || line[3] != ' ' {
		return nil, false
	}
	_, err := time.Parse(form, string(line[:len(form)]))
	return line[len(form)+1:], err == nil
}

// tagged returns what follows `host tag[pid]: ` or `tag: `, and all of rest without a tag.
func tagged(rest []byte) []byte {
	for at, words := rest, 0; words < 2; words++ {
		word, after, more := bytes.Cut(at, []byte(" "))
		if !more {
			break
		}
		if bytes.HasSuffix(word, []byte(":")) {
			return bytes.TrimLeft(after, " ")
		}
		at = after
	}
	return rest
}

// structured returns the message of RFC 5424: after version, time, host, application, process,
// identifier and structured data.
func structured(line []byte) []byte {
	for range 6 {
		_, line, _ = bytes.Cut(line, []byte(" "))
	}
	for bytes.HasPrefix(line, []byte("[")) {
		end := 1
		for quoted := false; end < len(line) && (quoted || line[end] != ']'); end++ {
			switch line[end] {
			case '\\':
				end++
			case '"':
				quoted = !quoted
			}
		}
		line = line[min(end+1, len(line)):]
	}
	_, message, _ := bytes.Cut(line, []byte(" "))
	return message
}

// frontClient returns the client at the front of a line, and what follows: an address, with or
// without a port, "-", or such behind a host. A host may be an address: with a port or brackets it
// is one where an address follows, and without them it may be a proxy before X-Forwarded-For.
func frontClient(line []byte) (client, rest []byte, err error) {
	field, rest, _ := bytes.Cut(line, []byte(" "))
	second, after, _ := bytes.Cut(rest, []byte(" "))
	first, isFirst := address(field)
	client, isSecond := address(second)
	switch {
	case isFirst && isSecond && len(first) == len(field):
		return nil, nil, fmt.Errorf("the line has two clients, %s and %s",
			describe(field), describe(second))
	case isSecond && (isFirst || isHost(field)):
		return client, after, nil
	case isFirst || string(field) == "-":
		return first, rest, nil
	}
	return nil, nil, fmt.Errorf("the first field %s is no address", describe(field))
}

// address returns field without a port, and whether it is an address.
func address(field []byte) (client []byte, ok bool) {
	if _, ok = request.ParseAddress(field); !ok {
		return field, false
	}
	if field[0] == '[' {
		return field[1:bytes.IndexByte(field, ']')], true
	}
	if bytes.Count(field, []byte(":")) == 1 {
		return field[:bytes.IndexByte(field, ':')], true
	}
	return field, true
}

// isHost reports whether field can be a site: a name, with or without a port, "-" or "_".
func isHost(field []byte) bool {
	name, port, found := bytes.Cut(field, []byte(":"))
	if len(name) == 0 || found && number(port) < 0 {
		return false
	}
	for _, c := range name {
		if c != '.' && c != '-' && c != '_' && c != '*' && (c|0x20 < 'a' || c|0x20 > 'z') &&
			(c < '0' || c > '9') {
			return false
		}
	}
	return true
}
