package resp

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/budget"
	"github.com/headgate-dev/headgate/edge/door/stream"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/window"
)

// conn is a connection, for a single goroutine.
type conn struct {
	*stream.Conn
	reply
	door    *Door
	lane    *gate.Lane
	peer    netip.Addr
	session *ask.Session

	in     stream.Input
	p      parser
	d      gate.Decision
	batch  gate.Batch
	now    window.Instant // of the batch
	last   bool           // the connection ends when out is sent
	authed bool           // or no password is asked for
	name   []byte         // by CLIENT SETNAME
	turns  uint64
	text64 [64]byte // of an address, or of a lease
	wrongs int      // commands in a row that were wrong
	denied int      // passwords that were wrong
	queue  queue    // behind MULTI
}

// serve answers a connection until its end.
func (h *Door) serve(s *stream.Conn) {
	if !h.guard.Admits(s) {
		return
	}
	c := &conn{
		Conn: s, door: h, lane: h.lanes[s.ID%uint64(len(h.lanes))], peer: s.Peer(),
		in: stream.Input{Loan: budget.Loan{From: h.budget}, Most: maxCommand + 1},
	}
	c.authed, c.queue.loan.From = !h.secured(), h.budget
	defer c.in.Loan.Return()
	defer c.queue.end()
	c.Feed(c)
}

// send sends the answers so far, and reports whether that worked.
func (c *conn) send() (ok bool) {
	// until an answer is in the kernel's hands
	c.out, ok = c.Send(c.out, 10*time.Second)
	return ok
}

// Room is memory for the next bytes.
func (c *conn) Room() []byte { return c.in.Room() }

// Patience is how long they may take.
// A command that has begun gets little time, since its bytes are kept meanwhile; an idle connection
// keeps none.
func (c *conn) Patience() time.Duration {
	// for the next command; pools of clients keep idle connections that long
	wait := 30 * time.Minute
	if len(c.in.Received()) > 0 || c.queue.open {
		// for the rest of a command
		wait = 10 * time.Second
	}
	if !c.authed && !c.Shown() {
		// from the begin of the connection to AUTH, where a password is asked for
		wait = min(wait, c.Left(5*time.Second))
	}
	return wait
}

// Take answers the commands read so far, and goes on unless that was the end.
func (c *conn) Take(n int, _ error) bool {
	if n == 0 {
		return false
	}
	c.in.Arrived(n)
	for c.answer() {
		if !c.send() {
			return false
		}
	}
	if !c.last && !c.in.Fit() {
		c.fail("ERR busy")
		c.Fault()
		c.last = true
	}
	return c.send() && !c.last
}

// answer answers the commands that are there, at a single reading of the clock. It reports whether
// there are more, and answers to be sent first: a client that asks without end and reads nothing is
// stopped by its own socket, and not by memory here.
func (c *conn) answer() (more bool) {
	// The parser knows how long the command is: a command in a thousand packets is not parsed a
	// thousand times.
	if len(c.in.Received()) < c.p.need {
		return false
	}
	c.now = c.door.gate.Now()
	c.batch = c.lane.Batch(c.now, rand.Uint64)
	if c.door.room != nil {
		c.session = c.door.room.Borrow(ask.RESP, c.ID)
	}
	at, more := c.commands()
	if c.session != nil {
		c.session.Return()
	}
	c.batch.End()
	c.in.Use(at)
	// By the connection's number too, or connections asking once would never be measured.
	if c.turns++; (c.ID+c.turns)%door.LatencyEvery == 0 {
		c.door.latency.Note(c.door.gate.Now().Sub(c.now))
	}
	return more
}

// commands answers whole commands and returns where they end, and whether there can be more. A
// panic is an error in place of the answer to its command, and ends the connection.
func (c *conn) commands() (at int, full bool) {
	answered := len(c.out)
	defer func() {
		if fault := recover(); fault != nil {
			c.door.panics.Note(fault)
			c.out, c.last = c.out[:answered], true
			c.fail("ERR internal")
		}
	}()
	for in := c.in.Received(); !c.last && at < len(in); {
		answered = len(c.out)
		size, is := c.p.take(in[at:])
		if is == more {
			break
		}
		if is == broken {
			c.door.broken.Add(1)
			c.Fault()
			c.fail("ERR Protocol error")
			c.last = true
			break
		}
		at += size
		if c.p.n > 0 {
			c.door.requests.Add(1)
			c.command(in[at-size : at])
		}
		if len(c.out) >= stream.Answers {
			return at, !c.last
		}
	}
	return at, false
}

// maxName is the longest name of a command.
const maxName = 32

// command answers the command in text, taken by the parser.
func (c *conn) command(text []byte) {
	var lower [maxName]byte
	name := lowered(&lower, c.p.args[0])
	known := c.door.find(name)
	n := c.p.n - 1
	switch {
	case known == nil && ofHTTP(name):
		c.door.broken.Add(1)
		c.fail("ERR this is no HTTP")
		c.Fault()
		c.last = true
	case known == nil:
		c.queue.spoiled = true
		c.wrong("ERR unknown command '" + shown(c.p.args[0]) + "'")
	case !c.authed && !known.open:
		c.wrong("NOAUTH Authentication required.")
	// Behind the password: who has none learns of a command it is there, and no more.
	case n < known.least || n > known.most:
		c.queue.spoiled = true
		c.wrong("ERR wrong number of arguments")
	case c.queue.open && !known.atOnce:
		c.enqueue(text)
	default:
		before := c.wrongs
		if known.run(c, c.p.args[1:min(c.p.n, len(c.p.args))]); c.wrongs == before {
			c.wrongs = 0
		}
	}
	if c.authed {
		c.Show()
	}
}

// ofHTTP reports whether a line begins with name in a request of HTTP a page can have a browser
// send. The next line could be a command.
func ofHTTP(name []byte) bool {
	switch string(name) {
	case "post", "put", "options", "host:":
		return true
	}
	return false
}

// maxWrongs is how many commands in a row may be wrong before the connection ends. A program
// speaking another protocol is cut off by it; a client with a mistake is not.
const maxWrongs = 1000

// wrong answers a command with a fault of the client's.
func (c *conn) wrong(text string) {
	c.door.malformed.Add(1)
	c.fail(text)
	if c.wrongs++; c.wrongs == maxWrongs {
		c.door.broken.Add(1)
		c.Fault()
		c.last = true
	}
}

// is reports whether an argument is word, which is in upper case, in any case.
func is(arg []byte, word string) bool { return bytes.EqualFold(arg, []byte(word)) }

// shown returns name as an answer may have it: at most 64 bytes, all of them visible.
func shown(name []byte) string {
	text := bytes.Clone(name[:min(len(name), 64)])
	for i, b := range text {
		if b <= ' ' || b >= 0x7f {
			text[i] = '?'
		}
	}
	return string(text)
}

// lowered returns name in lower case, in the bytes of to; empty if name is too long for a command.
// strings.ToLower would allocate.
func lowered(to *[maxName]byte, name []byte) []byte {
	if len(name) > maxName {
		return nil
	}
	for i, b := range name {
		if 'A' <= b && b <= 'Z' {
			b |= 0x20
		}
		to[i] = b
	}
	return to[:len(name)]
}
