// Package accesslog reads access logs, line by line and in file order, for replay. Understood are
// the combined and common formats of Apache and nginx, JSON lines, and a plain TSV; plain or
// gzipped.
//
//	file ─► (gunzip) ─► line, at most 64 KiB ─► parser of the format ─► Record
//	                            └─ unreadable ─► Faults: counted, the first few kept
//
// A bad line never ends the reading and never becomes a Record: a log of a hundred million lines
// has some. The log writer's escapes are not undone, so a path is as in the log, and query strings
// are dropped, so two requests for a page are a path.
package accesslog

import (
	"bytes"
	"fmt"
)

// Record is a request of a log. Slices lie in the reader's buffers and are valid until the next
// Read.
type Record struct {
	Time   int64  // nanoseconds since 1970, UTC
	Digits int    // decimals of the second the log wrote, 0..9
	Client []byte // as logged: an address or a name, never empty
	Method []byte // empty if the log shows no request that can be split
	Path   []byte // without the query string; the whole request text if it cannot be split
	Status int    // 0: not a number
	// nanoseconds from the request to the end of the response; negative: the log does not have it
	Took int64
}

// Format is how a log writes its lines.
type Format uint8

// The formats. Auto is decided by the first line with text.
const (
	Auto     Format = iota
	Combined        // Apache's and nginx's combined and common log format
	JSON            // one JSON object a line
	TSV             // unix_seconds, client, method, path, status, separated by tabs
)

var formatNames = [...]string{Auto: "auto", Combined: "combined", JSON: "json", TSV: "tsv"}

// ParseFormat returns the format called word.
func ParseFormat(word string) (Format, error) {
	for i, name := range formatNames {
		if name == word {
			return Format(i), nil
		}
	}
	return Auto, fmt.Errorf("format %q is not one of auto, combined, json, tsv", word)
}

// lineParser fills rec from a line without the line end. Nothing is kept; after a failure rec may
// be half filled.
type lineParser func(line []byte, rec *Record) error

// parser returns the parser of f for a log whose first line is first.
func (f Format) parser(first []byte) lineParser {
	switch f {
	case Combined:
		return parseCombined
	case JSON:
		return parseJSON
	case TSV:
		return parseTSV
	default:
		return detect(first).parser(first)
	}
}

// detect returns the format of a line. A line fitting none is taken as combined, which has the
// clearest errors.
func detect(line []byte) Format {
	switch {
	case bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("{")):
		return JSON
	case bytes.Count(line, []byte("\t")) >= tsvFields-1 && startsWithDigit(line):
		return TSV
	default:
		return Combined
	}
}

func startsWithDigit(b []byte) bool { return len(b) > 0 && '0' <= b[0] && b[0] <= '9' }

// withoutQuery cuts a request target at the query string.
func withoutQuery(target []byte) []byte {
	path, _, _ := bytes.Cut(target, []byte("?"))
	return path
}

// parseStatus reads a status code; text, as in logs of other protocols, reads as 0.
func parseStatus(b []byte) int {
	if len(b) != 3 {
		return 0
	}
	status := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0
		}
		status = status*10 + int(c-'0')
	}
	return status
}

// setRequest splits `METHOD target PROTOCOL` into rec; the protocol may be missing. A request
// without parts, such as the bytes of a TLS hello on a plain port, is kept whole as the path: the
// client sent a request all the same.
func setRequest(request []byte, rec *Record) {
	method, rest, found := bytes.Cut(request, []byte(" "))
	if !found || len(method) == 0 {
		rec.Method, rec.Path = request[:0], request
		return
	}
	target := rest
	if cut := bytes.LastIndexByte(rest, ' '); cut > 0 {
		target = rest[:cut]
	}
	rec.Method, rec.Path = method, withoutQuery(target)
}
