package resp

import (
	"bytes"

	"github.com/headgate-dev/headgate/edge/wire"
)

// code answers an uncounted request.
// The texts are those of the line protocol: ERR unknown-rule.
func (c *conn) code(code wire.Code) {
	switch code {
	case wire.UnknownRule:
		c.door.unknown.Add(1)
	case wire.TooLong:
		c.door.tooLong.Add(1)
		c.noteUnread(code)
	default:
		c.door.malformed.Add(1)
		c.noteUnread(code)
	}
	c.fail("ERR " + code.String())
}

// noteUnread notes the command, HEADGATE.ASK or HEADGATE.CHECK, as the line of the same meaning.
func (c *conn) noteUnread(code wire.Code) {
	args := c.p.args[:min(c.p.n, len(c.p.args))]
	line := bytes.TrimPrefix(bytes.ToLower(args[0]), []byte("headgate."))
	fields := string(line) == "ask" || string(line) == "report"
	for i, arg := range args[1:] {
		sign := byte(' ')
		if i%2 == 1 && fields {
			sign = '='
		}
		line = append(append(line, sign), arg...)
	}
	c.door.unread.Note(code, line)
}
