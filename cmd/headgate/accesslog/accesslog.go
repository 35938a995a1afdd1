// Package accesslog reads access logs, line by line and in file order, for replay. Understood are
// the combined and common formats of Apache and nginx, JSON lines, the logs of HAProxy, Envoy, AWS
// load balancers and CloudFront, and a plain TSV; plain or gzipped, and behind the prefixes of
// syslog and container runtimes.
//
//	file ─► (gunzip) ─► line, at most 64 KiB ─► parser of the format ─► Record
//	                            └─ unreadable ─► Faults: counted, the first few kept
//
// A bad line never ends the reading and never becomes a Record: a log of a hundred million lines
// has some. The log writer's escapes are not undone, so a path is as in the log, and query strings
// are dropped, so all requests for a page have one path.
package accesslog

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// Record is a request of a log. Slices lie in the reader's buffers and are valid until the next
// Read.
type Record struct {
	Time   int64  // nanoseconds since 1970, UTC
	Digits int    // decimals of the second the log wrote, 0..9
	Client []byte // as logged, without a port; of JSON and TSV a name too; empty only with NoPeer
	Method []byte // empty if the log shows no request that can be split
	Path   []byte // without the query string; the whole request text if it cannot be split
	Status int    // 0: not a number
	// Forwarded is a list of the addresses that proxies saw, X-Forwarded-For; nil: none was logged
	Forwarded []byte
	NoPeer    bool // the log has Forwarded alone, and not who sent it
	// nanoseconds from the request to the end of the response; negative: the log does not have it
	Took int64
}

// Format is how a log writes its lines.
type Format uint8

// The formats. Auto is decided by the first line with text.
const (
	Auto       Format = iota
	Combined          // Apache's and nginx's combined and common log format
	JSON              // one JSON object a line
	TSV               // unix_seconds, client, method, path, status, separated by tabs
	HAProxy           // HAProxy's HTTP log
	Envoy             // Envoy's default
	ALB               // AWS application load balancers
	CloudFront        // CloudFront's standard log
)

// formats has each format's name and parser, and whether a line looks like it. A line that looks
// like none is taken as combined, which has the clearest errors.
var formats = [...]struct {
	name  string
	parse lineParser
	looks func(line []byte) bool
}{
	Auto:     {"auto", nil, func([]byte) bool { return false }},
	Combined: {"combined", parseCombined, func([]byte) bool { return false }},
	JSON:     {"json", parseJSON, func(line []byte) bool { return line[0] == '{' }},
	TSV: {"tsv", parseTSV, func(line []byte) bool {
		return startsWithDigit(line) && bytes.Count(line, []byte("\t")) >= tsvFields-1 &&
			!looksCloudFront(line)
	}},
	HAProxy: {"haproxy", parseHAProxy, func(line []byte) bool {
		_, rest, err := frontClient(line)
		// a time with milliseconds, and no zone
		end := bytes.IndexByte(rest, ']')
		return err == nil && end == len("[07/Mar/2026:10:00:01.655")
	}},
	Envoy: {"envoy", parseEnvoy, func(line []byte) bool {
		_, rest, _ := bytes.Cut(line, []byte("]"))
		return line[0] == '[' && bytes.HasPrefix(rest, []byte(` "`))
	}},
	ALB: {"alb", parseALB, func(line []byte) bool {
		kind, rest, _ := bytes.Cut(line, []byte(" "))
		return bytes.Contains([]byte(" http https h2 grpcs ws wss "),
			[]byte(" "+string(kind)+" ")) && startsWithDigit(rest)
	}},
	CloudFront: {"cloudfront", parseCloudFront, looksCloudFront},
}

// looksCloudFront reports whether a line is of CloudFront: a date, a tab and a time.
func looksCloudFront(line []byte) bool {
	_, err := time.Parse("2006-01-02\t15:04:05\t", string(line[:min(len(line), 20)]))
	return err == nil
}

// FormatNames returns the names of all formats, for people.
func FormatNames() string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}

// String returns the format's name.
func (f Format) String() string { return formats[f].name }

// ParseFormat returns the format called word.
func ParseFormat(word string) (Format, error) {
	for i := range formats {
		if formats[i].name == word {
			return Format(i), nil
		}
	}
	return Auto, fmt.Errorf("format %q is not one of %s", word, FormatNames())
}

// lineParser fills rec from a line without the line end. Nothing is kept; after a failure rec may
// be half filled.
type lineParser func(line []byte, rec *Record) error

// detect returns the format of a line.
func detect(line []byte) Format {
	for f := JSON; f <= CloudFront; f++ {
		if formats[f].looks(line) {
			return f
		}
	}
	return Combined
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
