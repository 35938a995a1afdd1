package wire

import (
	"bytes"
	"time"
)

// MaxValue is the most bytes of a field's value after decoding a door looks at. A line with a
// longer value is of the grammar: the visitor chose it, so the request is denied.
const MaxValue = 4096

// Pair is a field with a value, possibly empty.
type Pair struct {
	Field       Field
	Name, Value []byte // Name of FieldHeader and FieldResponse only
}

// Whole is a line about a whole request: ask, or report. Its slices lie in the line. The zero Whole
// is ready; it keeps its memory.
type Whole struct {
	Report bool
	Ticket uint64 // of a report; 0: none, or "-", which a proxy writes for an empty variable
	// nginx writes a variable with no value as "-"; the report then still says on a single request,
	// and not a further count.
	Ended bool // the report names a ticket, even if it is "-"
	// of a report: how long the request took, or NoTime or OddTime
	Took   time.Duration
	Status int // of a report, 100..999; 0: the response never came
	// of a report, as ParseCost has it; 0: not given
	Cost, Millionths uint32
	Delay            bool // the sender can wait before it lets a request pass
	Deceive          bool // the sender can pretend a denied request passed
	ID               []byte
	Pairs            []Pair // without repetition, except of headers

	next  Field  // behind the one that was read last: most senders write them in this order
	given uint16 // fields without a name of their own the line has, by their numbers
}

// IsWhole reports whether line may be for ParseWhole or ParseAct: ask, report, or a report behind
// the header that syslog senders put before it; acquire, release, renew, load or settle. By the
// first letter, as it is asked of each line; a check, a peek and a count begin with others.
func IsWhole(line []byte) bool {
	return len(line) > 0 && (line[0] == 'a' || line[0] == 'r' || line[0] == 'l' ||
		line[0] == 's' || line[0] == '<')
}

// ParseWhole parses an ask or a report, without the line feed. Values are percent-decoded in place,
// so line is changed. Nothing is allocated once w has been used.
//
// The code is NoError; UnknownField for a field of the request this version does not know; else
// BadRequest. With a code other than NoError only the ID of w holds. The number and length of
// fields is bounded by the line alone.
func ParseWhole(w *Whole, line []byte) Code {
	// The slice is kept across the clearing: a line's fields need no memory after the first.
	pairs := w.Pairs[:0]
	*w = Whole{}
	w.Pairs, w.Took = pairs, NoTime
	rest, more := valueOf(line, "ask ")
	if !more {
		if rest, more = valueOf(skipSyslog(line), "report "); !more {
			return BadRequest // the words alone too: both need a field
		}
		w.Report = true
	}
	var word []byte
	code, statusGiven := NoError, false
	for more {
		var c Code
		if at := quoteAt(rest); w.Report && at > 0 {
			rest, c = w.quoted(rest, at, &statusGiven)
			more = rest != nil
		} else if next, ok := w.plain(rest); ok {
			rest, more = next, next != nil
			continue
		} else {
			word, rest, more = cut(rest, ' ')
			c = w.take(word, &statusGiven)
		}
		// The first fault is told. The rest of the line is read all the same, for the id, possibly
		// at the end.
		if code == NoError {
			code = c
		}
	}
	if code == NoError {
		code = w.complete(statusGiven)
	}
	return code
}

// quoted reads a word whose "=" is at, and whose value is in quotes, and returns the rest.
func (w *Whole) quoted(word []byte, at int, statusGiven *bool) (rest []byte, code Code) {
	value, rest, code := unquote(word[at+len(`="`):])
	switch name := word[:at]; {
	case !all(name, inWord):
		return rest, BadRequest
	case code == NoError:
		code = w.value(name, value, true, statusGiven)
	}
	return rest, code
}

// complete returns the fault of a line whose words are all right. A path is what makes a request:
// for policies. A report without a ticket is the request once more, with the same needs.
func (w *Whole) complete(statusGiven bool) Code {
	path := w.has(FieldPath)
	switch {
	case !w.Report && !path, w.Report && !statusGiven, w.Report && !w.Ended && !path:
		return BadRequest
	}
	return NoError
}

// take reads a word of the line behind the first.
func (w *Whole) take(word []byte, statusGiven *bool) Code {
	name, value, ok := cut(word, '=')
	if !ok || len(name) == 0 || !all(word, inWord) {
		return BadRequest
	}
	return w.value(name, value, false, statusGiven)
}

// value reads a name and a value, which stood in quotes or may be percent-encoded.
func (w *Whole) value(name, value []byte, quoted bool, statusGiven *bool) Code {
	switch string(name) {
	case "id":
		if !validID(value) {
			return BadRequest
		}
		w.ID = value
		return NoError
	case "delay", "deceive":
		// A proxy's log line may have such constants.
		if w.Report {
			return NoError
		}
		on := string(value) == "ok"
		if name[2] == 'l' {
			w.Delay = on
		} else {
			w.Deceive = on
		}
		return NoError
	}
	if w.Report {
		if len(value) == 0 || string(value) == "-" {
			if code, known := w.absent(name, statusGiven); known {
				return code
			}
		}
		if code, known := w.ofResponse(name, value, statusGiven); known {
			return code
		}
	}
	return w.field(name, value, quoted)
}

// absent reads a word of a report without a value, as proxies write an empty variable: a word that
// is not there, and of the status that there was no response.
func (w *Whole) absent(name []byte, statusGiven *bool) (code Code, known bool) {
	switch string(name) {
	case "cost", "ms", "s":
		return NoError, true
	case "status":
		return w.ofResponse(name, []byte("-"), statusGiven)
	}
	return NoError, bytes.HasPrefix(name, []byte("response.header."))
}

// ofResponse reads a word of reports only.
func (w *Whole) ofResponse(name, value []byte, statusGiven *bool) (code Code, known bool) {
	var ok bool
	switch string(name) {
	case "ticket":
		ok, w.Ended = !w.Ended, true
		if string(value) != "-" {
			var good bool
			w.Ticket, good = parseTicket(value)
			ok = ok && good
		}
	case "status":
		first := !*statusGiven
		*statusGiven = true
		w.Status, ok = ParseStatus(value)
		ok = ok && first
	case "cost":
		w.Cost, w.Millionths, ok = ParseCost(value)
	case "ms", "s":
		first := w.Took == NoTime
		w.Took, ok = ParseTook(name, value)
		ok = ok && first
	default:
		return NoError, false
	}
	if !ok {
		return BadRequest, true
	}
	return NoError, true
}

// ParseStatus reads the status of a response, 100 to 999, as in reports. 0 if the client left
// before the response: nginx writes 000 or -, HAProxy -1.
func ParseStatus(b []byte) (status int, ok bool) {
	switch string(b) {
	case "-", "-1", "0", "000":
		return 0, true
	}
	n, ok := parseUint(b, 999)
	return int(n), ok && n >= 100 // at most 999
}

// TicketDigits is the length of a ticket in hexadecimal. 64 bits, so nobody finds a ticket by
// trials.
const TicketDigits = 16

// parseTicket reads TicketDigits hexadecimal digits. Zero stands for "none" where tickets are kept,
// so 0 is read as 1: neither is ever given out, and a report of either is late.
func parseTicket(b []byte) (n uint64, ok bool) {
	if len(b) != TicketDigits {
		return 0, false
	}
	for _, c := range b {
		v := unhex[c]
		if v > 15 {
			return 0, false
		}
		n = n<<4 | uint64(v)
	}
	return max(n, 1), true
}

// ParseTicket reads a ticket of answers.
func ParseTicket(b []byte) (ticket uint64, ok bool) { return parseTicket(b) }

// AppendTicket appends a ticket in hexadecimal.
func AppendTicket(dst []byte, ticket uint64) []byte {
	const hex = "0123456789abcdef"
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, hex[ticket>>shift&15])
	}
	return dst
}

// skipSyslog returns line without the header of RFC 3164 that nginx puts before each line of a log:
// "<190>Nov 22 07:28:50 name: ", with or without a host. A line without one is returned as it is.
// nginx can send its access log by UDP, in this form only: so a report needs no module.
func skipSyslog(line []byte) []byte {
	const stamp = "Nov 22 07:28:50 "
	if len(line) == 0 || line[0] != '<' {
		return line
	}
	end := bytes.IndexByte(line[:min(len(line), len("<191>"))], '>')
	if end < 2 || len(bytes.Trim(line[1:end], "0123456789")) > 0 || len(line) < end+1+len(stamp) {
		return line
	}
	rest := line[end+1+len(stamp):]
	_, message, ok := bytes.Cut(rest, []byte(": "))
	if !ok || !bytes.HasPrefix(message, []byte("report ")) {
		return line
	}
	return bytes.TrimRight(message, " \r")
}
