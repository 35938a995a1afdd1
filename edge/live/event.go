package live

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// MaxEvent is the most bytes of an event a Scanner accepts. A picture of 1,000 rules takes less
// than 1 MiB.
const MaxEvent = 8 << 20

// Beat is an empty frame for a stream without events. It keeps proxies from closing an idle
// connection, and lets the server notice a reader gone.
const Beat = ": beat\n\n"

// ErrTooLong means that an event is longer than MaxEvent.
var ErrTooLong = errors.New("live: an event of more than 8 MiB")

// Event is an event of a stream (text/event-stream).
type Event struct {
	ID   string // the last one sent, perhaps with an earlier event; empty: none
	Name string // "message" if the stream names none
	Data []byte // lines end in LF, but for the last
}

// AppendEvent appends an event to dst and returns it. id is a running number, left out if 0. A CR
// or LF in data arrives at the other end as LF. name must hold neither.
func AppendEvent(dst []byte, id uint64, name string, data []byte) []byte {
	if id != 0 {
		dst = append(strconv.AppendUint(append(dst, "id: "...), id, 10), '\n')
	}
	dst = append(append(append(dst, "event: "...), name...), '\n')
	for more := true; more; {
		line := data
		end := bytes.IndexAny(data, "\r\n")
		if more = end >= 0; more {
			line, data = data[:end], data[end+1:]
		}
		dst = append(append(append(dst, "data: "...), line...), '\n')
	}
	return append(dst, '\n')
}

// Scanner reads the events of a stream whose lines end in LF or CRLF. It is for a single goroutine.
type Scanner struct {
	lines *bufio.Scanner
	id    string
}

// NewScanner returns a Scanner reading from r.
func NewScanner(r io.Reader) *Scanner {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, MaxEvent)
	return &Scanner{lines: lines}
}

// Next returns the next event once it is complete. At the end of the stream the error is io.EOF,
// even within an event. It is ErrTooLong for an event that is too long; the Scanner cannot continue
// after that.
func (s *Scanner) Next() (Event, error) {
	e, hasData := Event{Name: "message"}, false
	for s.lines.Scan() {
		line := s.lines.Bytes()
		if len(line) == 0 {
			if hasData {
				e.ID = s.id
				return e, nil
			}
			e.Name = "message"
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) { // "": a comment
		case "id":
			s.id = string(value)
		case "event":
			e.Name = string(value)
		case "data":
			if hasData {
				e.Data = append(e.Data, '\n')
			}
			e.Data, hasData = append(e.Data, value...), true
		}
		if len(e.Data) > MaxEvent {
			return Event{}, ErrTooLong
		}
	}
	return Event{}, s.end()
}

// end returns the reason why there are no more lines.
func (s *Scanner) end() error {
	switch err := s.lines.Err(); {
	case err == nil:
		return io.EOF
	case errors.Is(err, bufio.ErrTooLong):
		return ErrTooLong
	default:
		return fmt.Errorf("live: read the stream: %w", err)
	}
}
