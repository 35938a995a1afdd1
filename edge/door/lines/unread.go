package lines

import (
	"bytes"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/wire"
)

const (
	unreadCodes = int(wire.Internal) + 1
	// the first bytes kept of a line, to find secrets in, and the most that are shown
	keptBytes, shownBytes = 512, 200
	// UnreadEvery is the least time between two lines of a code.
	UnreadEvery = time.Minute
)

// Unread keeps lines a door could not read: nothing was counted, and a proxy failing open lets
// such requests pass. The zero value is ready, and safe for concurrent use. No request waits for
// another here: of two at the same moment the second is counted only.
type Unread struct {
	reports, questions [unreadCodes]atomic.Uint64

	mu    sync.Mutex           // no other lock is taken under it
	first [2][unreadCodes]kept // of all but reports, and of reports
}

// kept is the first line of a code since the last Take.
type kept struct {
	line    [keptBytes]byte
	size    int
	pending uint64 // lines since then
	taken   time.Time
}

// UnreadLine is an unread line, without secrets, and escaped for logs.
type UnreadLine struct {
	Verb, Code, Line string
	Lines            uint64 // of that code since the last one
}

// Note notes a line answered with code; the line begins with the verb, if there is any.
func (u *Unread) Note(code wire.Code, line []byte) {
	kind := 0
	switch verbOf(line) {
	case "report":
		kind = 1
		u.reports[code].Add(1)
	case "ask", "check", "peek", "count", "acquire":
		u.questions[code].Add(1)
	}
	if !u.mu.TryLock() {
		return
	}
	defer u.mu.Unlock()
	k := &u.first[kind][code]
	if k.pending++; k.pending == 1 {
		k.size = copy(k.line[:], line)
	}
}

// Reports calls each with how many reports were answered with each code, if any.
func (u *Unread) Reports(each func(code string, n uint64)) {
	for code := range u.reports {
		if n := u.reports[code].Load(); n > 0 {
			each(wire.Code(code).String(), n)
		}
	}
}

// Totals returns how many reports there were, and how many questions.
func (u *Unread) Totals() (reports, questions uint64) {
	for code := range unreadCodes {
		reports += u.reports[code].Load()
		questions += u.questions[code].Load()
	}
	return reports, questions
}

// Take calls each with a line of each code, of reports and of others: the first at once, then one
// in UnreadEvery.
func (u *Unread) Take(now time.Time, each func(UnreadLine)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for n := range 2 * unreadCodes {
		code := n / 2
		k := &u.first[n%2][code]
		if k.pending == 0 || now.Sub(k.taken) < UnreadEvery {
			continue
		}
		line := k.line[:k.size]
		each(UnreadLine{verbOf(line), wire.Code(code).String(), shownLine(line), k.pending})
		k.pending, k.taken = 0, now
	}
}

// verbs are the first words of lines.
var verbs = [...]string{
	"ask", "report", "check", "peek", "count",
	"acquire", "release", "renew", "settle", "load", "ping",
}

// verbOf returns the verb of line: the first word, or the word behind an id or a syslog header; "":
// there is none.
func verbOf(line []byte) string {
	at := 0
	if line = line[:min(len(line), keptBytes)]; len(line) > 0 && line[0] == '<' {
		if colon := bytes.Index(line, []byte(": ")); colon > 0 {
			at = colon + len(": ")
		}
	} else if bytes.HasPrefix(line, []byte("id=")) {
		at = bytes.IndexByte(line, ' ') + 1
	}
	word, _, _ := bytes.Cut(line[at:], []byte{' '})
	for _, verb := range verbs {
		if verb == string(word) {
			return verb
		}
	}
	return ""
}

// shownLine returns line as a person may see it: escaped, at most shownBytes, and without values of
// headers, cookies and queries. Such a value goes on up to a known name: where a line cannot be
// read, a space may be the reason.
func shownLine(line []byte) string {
	var shown strings.Builder
	hidden := false
	for rest, more := line, true; more; {
		var word []byte
		word, rest, more = bytes.Cut(rest, []byte{' '})
		name, _, pair := bytes.Cut(word, []byte{'='})
		secret := hides(name)
		if hidden && (!pair || !secret && !isName(name)) {
			continue
		}
		before, _, query := bytes.Cut(word, []byte{'?'})
		if shown.Len() > 0 {
			shown.WriteByte(' ')
		}
		switch hidden = secret && pair || query; {
		case secret && pair:
			shown.WriteString(api.EscapeKey(name) + "=…")
		case query:
			shown.WriteString(api.EscapeKey(before) + "?…")
		default:
			shown.WriteString(api.EscapeKey(word))
		}
	}
	if text := shown.String(); len(text) > shownBytes {
		return strings.ToValidUTF8(text[:shownBytes], "") + "…"
	}
	return shown.String()
}

// hides reports whether the values of a field are not shown.
func hides(name []byte) bool {
	for _, kind := range [...]string{"header.", "cookie.", "query."} {
		if bytes.HasPrefix(name, []byte(kind)) {
			return true
		}
	}
	return false
}

// isName reports whether a line may have such a field.
func isName(name []byte) bool {
	switch string(name) {
	case "id", "ticket", "status", "cost", "ms", "s", "delay", "deceive", "rule", "key", "lease":
		return true
	}
	_, known := wire.FieldOf(name, true)
	return known
}
