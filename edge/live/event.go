package live

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// MaxEvent is the most bytes of one event that a Scanner takes: a picture of 1,000 rules is below 1 MiB.
const MaxEvent = 8 << 20

// Beat is a frame that says nothing, for a stream on which nothing happens: who is between the two ends does not give it up,
// and a reader that is gone is noticed.
const Beat = ": beat\n\n"

// ErrTooLong says that an event is longer than MaxEvent.
var ErrTooLong = errors.New("live: an event of more than 8 MiB")

// Event is one event of a stream (text/event-stream).
type Event struct {
	ID   string // as sent last, perhaps with an earlier event; empty: none was
	Name string // "message" if the stream does not say
	Data []byte // lines end in LF, but for the last
}

// AppendEvent appends an event to dst: with a running number, unless id is 0, and data, of which every CR or LF comes out at
// the other end as LF. name holds neither.
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

// Scanner reads the events of a stream whose lines end in LF or CRLF. It is for one goroutine.
type Scanner struct {
	lines *bufio.Scanner
	id    string
}

// NewScanner returns a Scanner that reads from r.
func NewScanner(r io.Reader) *Scanner {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, MaxEvent)
	return &Scanner{lines: lines}
}

// Next returns the next event, when it is all there. At the end of the stream the error is io.EOF, whatever it ended amidst;
// an event that is too long is ErrTooLong, and then there is no going on.
func (s *Scanner) Next() (Event, error) {
	e, said := Event{Name: "message"}, false
	for s.lines.Scan() {
		line := s.lines.Bytes()
		if len(line) == 0 {
			if said {
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
			if said {
				e.Data = append(e.Data, '\n')
			}
			e.Data, said = append(e.Data, value...), true
		}
		if len(e.Data) > MaxEvent {
			return Event{}, ErrTooLong
		}
	}
	return Event{}, s.end()
}

// end says why there are no more lines.
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
