package client

import (
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/edge/wire"
)

// Request is a whole request, which the policies of the daemon decide. No value of it makes the
// question fail, since under FailOpen a failed one passes uncounted: what does not fit is cut.
type Request struct {
	Method  string      // empty: GET
	Host    string      // left out unless it can be a host
	Path    string      // with its query; at most 4,096 bytes of it are sent
	Client  netip.Addr  // the zero Addr: the sender
	Headers http.Header // those that policies look at; see [SentHeaders]. 1,024 bytes of each are sent
	Country string      // ISO 3166, if it is known
	ASN     uint32      // 0: not known
	TLS     string      // the version, such as TLSv1.3
	Scheme  string
	Tier    string

	CanWait    bool // an Answer may have a Delay; else such a request is denied
	CanDeceive bool // an Answer may be Deceive; else such a request is denied
}

// SentHeaders are the headers that [RequestOf] takes from a request. A Handler sends others, that its
// policies look at, with [WithHeaders].
var SentHeaders = []string{"X-Api-Key", "Authorization", "User-Agent", "Cookie", "Origin", "Referer", "Content-Type"}

// RequestOf describes r, which a server received, with the headers that are named, by default
// [SentHeaders]. Its Client is the peer: see [ClientAddress] for servers behind proxies.
func RequestOf(r *http.Request, headers ...string) Request {
	if len(headers) == 0 {
		headers = SentHeaders
	}
	q := Request{Method: r.Method, Host: r.Host, Path: r.URL.RequestURI(), Client: ClientAddress(r, nil), Headers: pick(r.Header, headers), Scheme: "http"}
	if r.TLS != nil {
		q.Scheme = "https"
	}
	return q
}

// Bounds of the line of a request, in bytes as they are sent.
const (
	mostPath   = 4096
	mostHeader = 1024
	mostText   = 256
	// A line has to fit one datagram, as a question is one packet and its answer another.
	mostLine = wire.MaxDatagram - 64 // the rest is for the id
)

// Sent returns r as a daemon receives it: the path begins with a slash, a method or a host that cannot
// be one is left out, and what is too long is cut. The headers are those of r: see [Client.Ask].
func (r Request) Sent() Request {
	r.Path = cutTo(pathOf(r.Path), mostPath)
	if !isToken(r.Method) {
		r.Method = ""
	}
	if !isHost(r.Host) {
		r.Host = ""
	}
	r.Client = plain(r.Client)
	r.Country, r.TLS, r.Scheme, r.Tier = cutTo(r.Country, mostText), cutTo(r.TLS, mostText), cutTo(r.Scheme, mostText), cutTo(r.Tier, mostText)
	return r
}

// cutTo returns text up to most bytes.
func cutTo(text string, most int) string { return text[:min(most, len(text))] }

// line returns the request line of r, without an id.
// ask path=/v2/x method=GET host=example.org client=192.0.2.1 header.x-api-key=k, for instance.
func (r Request) line() []byte {
	r = r.Sent()
	b := wire.AppendField([]byte("ask"), "path", r.Path, mostPath)
	if r.Method != "" {
		b = wire.AppendField(b, "method", r.Method, mostText)
	}
	if r.Host != "" {
		b = wire.AppendField(b, "host", r.Host, mostText)
	}
	if r.Client.IsValid() {
		b = wire.AppendField(b, "client", r.Client.String(), mostText)
	}
	if r.ASN > 0 {
		b = wire.AppendField(b, "asn", strconv.FormatUint(uint64(r.ASN), 10), mostText)
	}
	for _, f := range [...][2]string{{"country", r.Country}, {"tls", r.TLS}, {"scheme", r.Scheme}, {"tier", r.Tier}} {
		if f[1] != "" {
			b = wire.AppendField(b, f[0], f[1], mostText)
		}
	}
	if r.CanWait {
		b = append(b, " delay=ok"...)
	}
	if r.CanDeceive {
		b = append(b, " deceive=ok"...)
	}
	return appendHeaders(b, "header.", r.Headers, SentHeaders)
}

// appendHeaders appends the fields of the headers that there is room for: first the names in first, so
// that no header that a visitor adds displaces a key.
func appendHeaders(b []byte, prefix string, headers http.Header, first []string) []byte {
	// Half of the fields that a daemon reads: the other half is for those of the request itself.
	left := 64
	add := func(name string) {
		for _, value := range headers[name] {
			if len(b)+len(" =")+len(prefix)+len(name)+mostHeader > mostLine || left == 0 || !isToken(name) {
				return
			}
			b, left = wire.AppendField(b, prefix+strings.ToLower(name), value, mostHeader), left-1
		}
	}
	for _, name := range first {
		add(name)
	}
	// Sorted, so that of too many headers the same ones are sent each time.
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if !slices.Contains(first, name) {
			add(name)
		}
	}
	return b
}

// pathOf returns path as a request line takes it.
func pathOf(path string) string {
	if path == "" || path[0] != '/' && path != "*" {
		return "/" + path
	}
	return path
}

// isToken reports whether text can be a method or the name of a header.
// RFC 9110, 5.6.2, but for %, which begins an encoded byte in a line.
func isToken(text string) bool {
	for i := range len(text) {
		c := text[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if !letter && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 || c == '%' {
			return false
		}
	}
	return text != "" && len(text) <= mostText
}

// isHost reports whether the daemon takes text for a host.
// name, name:80, [::1] and [::1]:80 can be one; a name may have bytes that DNS does not have, such as _.
func isHost(text string) bool {
	name, port, found := text, "", false
	if !strings.HasPrefix(text, "[") {
		name, port, found = strings.Cut(text, ":")
	} else if end := strings.IndexByte(text, ']'); end > 0 {
		name, port, found = text[:end+1], strings.TrimPrefix(text[end+1:], ":"), true
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("/?#@%", c) >= 0 {
			return false
		}
	}
	if found && port != "" {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return false
		}
	}
	return name != "" && len(text) <= mostText
}

// Response is what is known of a response, for [Client.Report].
type Response struct {
	Status int           // 100..999
	Cost   uint32        // the actual cost, where that is known now; 0: as it was asked
	Took   time.Duration // 0: not known

	Headers http.Header // those that policies look at, such as a cost; 1,024 bytes of each are sent
}

// line returns the report of r.
func (r Response) line(ticket string) []byte {
	b := wire.AppendField([]byte("report"), "ticket", ticket, mostText)
	b = wire.AppendField(b, "status", strconv.Itoa(min(max(r.Status, 100), 999)), mostText)
	if r.Cost > 0 {
		b = wire.AppendField(b, "cost", strconv.FormatUint(uint64(min(r.Cost, wire.MaxCost)), 10), mostText)
	}
	if r.Took > 0 {
		b = wire.AppendField(b, "ms", strconv.FormatInt(r.Took.Milliseconds(), 10), mostText)
	}
	return appendHeaders(b, "response.header.", r.Headers, nil)
}

// wholeAnswerOf returns the answer that a reply line gives to an Ask.
func wholeAnswerOf(line []byte) Answer {
	var a wire.WholeAnswer
	if wire.ParseWholeAnswer(&a, line) != nil {
		return Answer{Err: wire.ErrReply}
	}
	is := answerOf(wire.Check, a.Answer)
	if is.Err != nil {
		return is
	}
	// Copied as strings: the line lies in a buffer that the next reply is read into.
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
