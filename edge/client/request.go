package client

import (
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/edge/wire"
)

// Request is a whole request, which the policies of the daemon decide. No value makes the question
// fail, since under FailOpen a failed question passes uncounted. A part too long for the question
// is left out, and a daemon whose policies look at the part denies the request, with Ground unfit:
// a path or a header above 4,096 bytes, or more than a datagram holds.
type Request struct {
	Method  string      // empty: GET
	Host    string      // as it was received
	Path    string      // with its query
	Client  netip.Addr  // the zero Addr: the sender
	Headers http.Header // those that policies look at, with names up to 64 bytes; see [SentHeaders]
	Country string      // ISO 3166, if it is known
	ASN     uint32      // 0: not known
	TLS     string      // the version, such as TLSv1.3
	Scheme  string
	Tier    string

	CanWait    bool // an Answer may have a Delay; else such a request is denied
	CanDeceive bool // an Answer may be Deceive; else such a request is denied
}

// SentHeaders are the headers taken by [RequestOf]. A Handler sends others, needed by policies,
// with [WithHeaders].
var SentHeaders = []string{
	"X-Api-Key", "Authorization", "User-Agent", "Cookie", "Origin",
	"Referer", "Content-Type",
}

// RequestOf describes r, which a server received, with the named headers, by default [SentHeaders].
// Client is the peer: see [ClientAddress] for servers behind proxies.
func RequestOf(r *http.Request, headers ...string) Request {
	if len(headers) == 0 {
		headers = SentHeaders
	}
	q := Request{
		Method: r.Method, Host: r.Host, Path: r.URL.RequestURI(),
		Client: ClientAddress(r, nil), Headers: pick(r.Header, headers), Scheme: "http",
	}
	if r.TLS != nil {
		q.Scheme = "https"
	}
	return q
}

// Bounds of the line of a request, in bytes.
const (
	mostText  = 256  // of a field that is neither path, host nor header, as it is sent
	mostName  = 64   // of the name of a header
	mostNames = 4096 // of the words naming the parts left out
	// A line has to fit a datagram, as a question is a packet and the answer another.
	mostLine = wire.MaxDatagram - 64 // the rest is for the id
)

// line is the line of a request, or of a report, being written.
type line struct {
	bytes []byte
	cut   []byte // words naming the parts left out
	names int    // bytes that cut may come to
}

// line returns the request line of r, without an id.
// ask host=example.org client=192.0.2.1 path=/v2/x header.x-api-key=k, for instance.
func (r Request) line() []byte {
	l := line{bytes: append(make([]byte, 0, 1024), "ask"...)}
	l.known(&r)
	l.reserve(r.Headers)
	l.path(r.Path)
	l.headers("header.", r.Headers, SentHeaders)
	return append(l.bytes, l.cut...)
}

// known appends the fields beside path and headers.
func (l *line) known(r *Request) {
	if host := hostOf(r.Host); host != "" {
		l.bytes, _ = wire.AppendField(l.bytes, "host", host, 3*mostText)
	}
	if r.Client.IsValid() {
		l.text("client", plain(r.Client).String())
	}
	if r.ASN > 0 {
		l.text("asn", strconv.FormatUint(uint64(r.ASN), 10))
	}
	for _, f := range [...][2]string{
		{"method", r.Method},
		{"country", r.Country},
		{"tls", r.TLS},
		{"scheme", r.Scheme},
		{"tier", r.Tier},
	} {
		if f[1] != "" {
			l.text(f[0], f[1])
		}
	}
	if r.CanWait {
		l.bytes = append(l.bytes, " delay=ok"...)
	}
	if r.CanDeceive {
		l.bytes = append(l.bytes, " deceive=ok"...)
	}
}

// reserve keeps room to name the parts left out. More headers come only from a program sending all
// of a visitor's headers: then the path and the header saying who the client is, at which policies
// nearly always look.
func (l *line) reserve(headers http.Header) {
	l.names = len(" cut=path")
	for name := range headers {
		if isName(name) {
			l.names += len(" cut=header.") + len(name) + 2*strings.Count(name, "%")
		}
	}
	if l.names > mostNames {
		l.names, l.cut = mostNames, []byte(" cut=path cut=header.x-forwarded-for")
	}
}

// text appends a field, cut if too long.
func (l *line) text(name, value string) {
	l.bytes, _ = wire.AppendField(l.bytes, name, value, mostText)
}

// path appends the path. A daemon needs a path, so of a too long path a part is sent.
func (l *line) path(path string) {
	sent := path[:min(len(path), wire.MaxValue)]
	var whole bool
	l.bytes, whole = wire.AppendField(l.bytes, "path", sent, l.room("path"))
	if !whole || len(sent) < len(path) {
		l.leave("path")
	}
}

// headers appends the headers with room: first the names in first, so no header a visitor adds
// displaces a key.
func (l *line) headers(prefix string, headers http.Header, first []string) {
	for _, name := range first {
		l.header(prefix, name, headers[name])
	}
	// Sorted, so of too many headers the same are sent each time.
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if !slices.Contains(first, name) {
			l.header(prefix, name, headers[name])
		}
	}
}

// header appends the values of a header, as far as fitting.
func (l *line) header(prefix, name string, values []string) {
	if len(values) == 0 || !isName(name) {
		return
	}
	field, whole := prefix+strings.ToLower(name), true
	for _, value := range values {
		for more := true; more; {
			var piece string
			piece, value, more = cutPiece(name, value)
			whole = l.value(field, piece) && whole
		}
	}
	if !whole {
		l.leave(field)
	}
}

// cutPiece cuts a Cookie too long for a field between two cookies.
func cutPiece(name, value string) (piece, rest string, more bool) {
	if name == "Cookie" && len(value) > wire.MaxValue {
		if end := strings.LastIndexByte(value[:wire.MaxValue+1], ';'); end >= 0 {
			return value[:end], value[end+1:], true
		}
	}
	return value, "", false
}

// value appends a value of a header and reports whether there was room. A part would be another
// value.
func (l *line) value(field, value string) bool {
	if len(value) > wire.MaxValue || l.room(field) < 0 {
		return false
	}
	b, whole := wire.AppendField(l.bytes, field, value, l.room(field))
	if whole {
		l.bytes = b
	}
	return whole
}

// room returns how many bytes of the value of field fit, as sent.
func (l *line) room(field string) int {
	return mostLine - len(l.bytes) - l.names - len(" =") - len(field)
}

// leave notes field as not sent whole.
func (l *line) leave(field string) {
	if cut, whole := wire.AppendField(l.cut, "cut", field, l.names-len(l.cut)-len(" cut=")); whole {
		l.cut = cut
	}
}

// isName reports whether text can be the name of a header policies look at (RFC 9110, 5.6.2).
func isName(text string) bool {
	for i := range len(text) {
		c := text[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if !letter && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return text != "" && len(text) <= mostName
}

// hostOf returns host, a host longer than a line's room as read by the daemon.
func hostOf(host string) string {
	if len(host) <= mostText {
		return host
	}
	var read request.Reader
	var r request.Request
	read.Begin(&r, new(request.Clients), netip.Addr{})
	read.Host([]byte(host))
	return string(r.Host)
}

// Response is what is known of a response, for [Client.Report].
type Response struct {
	Status int // 100..999; 0: there was no response, as with 499
	// the actual cost, where that is known now; 0: as it was asked. Millionths as of a [Query]
	Cost, Millionths uint32
	Took             time.Duration // 0: not known

	// headers for policies, such as a cost; a value above 4,096 bytes is not sent
	Headers http.Header
}

// StatusCode returns the status for policies: 100..999, or 0 where there was no response.
func (r Response) StatusCode() int {
	if r.Status <= 0 {
		return 0
	}
	return min(max(r.Status, 100), 999)
}

// line returns the report of r.
func (r Response) line(ticket string) []byte {
	l := line{bytes: []byte("report")}
	l.text("ticket", ticket)
	l.text("status", strconv.Itoa(r.StatusCode()))
	if r.Cost > 0 || r.Millionths > 0 {
		most := uint32(wire.MaxCost)
		q := wire.Query{Cost: min(r.Cost, most), Millionths: min(r.Millionths, most)}
		l.text("cost", string(q.AppendCost(nil)))
	}
	if r.Took > 0 {
		l.text("ms", strconv.FormatInt(r.Took.Milliseconds(), 10))
	}
	l.headers("response.header.", r.Headers, nil)
	return l.bytes
}

// wholeAnswerOf returns a reply line's answer to an Ask.
func wholeAnswerOf(line []byte) Answer {
	var a wire.WholeAnswer
	if wire.ParseWholeAnswer(&a, line) != nil {
		return Answer{Err: wire.ErrReply}
	}
	is := answerOf(wire.Check, a.Answer)
	if is.Err != nil {
		return is
	}
	// Copied as strings: the line lies in a buffer the next reply is read into.
	is.Rule, is.Ground, is.Deceive = string(a.Rule), string(a.Ground), a.Deceive
	if a.Ticket != 0 {
		is.Ticket = string(wire.AppendTicket(nil, a.Ticket))
	}
	if is.Status == wire.Deny {
		if is.HTTP = a.HTTP; a.HTTP == 0 {
			is.HTTP = http.StatusTooManyRequests
		}
		if a.Retry == 0 && is.Rule == "" {
			is.Retry = 0 // a policy denies, and will again; or the answer is silent
		}
	}
	return is
}
