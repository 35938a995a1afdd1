package resp

import "github.com/headgate-dev/headgate/edge/door/budget"

// The bounds of the commands behind MULTI.
const (
	maxQueued   = 64
	queuedBytes = 16 << 10
)

// queue holds the commands behind MULTI as they came. Client libraries send several commands so;
// commands of other connections may come between.
type queue struct {
	open     bool
	spoiled  bool // a command was wrong: EXEC runs none
	n        int
	commands []byte
	loan     budget.Loan
}

// end empties the queue.
func (q *queue) end() {
	q.loan.Return()
	*q = queue{loan: q.loan}
}

// multi has the commands that follow wait for EXEC.
func (c *conn) multi([][]byte) {
	if c.queue.open {
		c.wrong("ERR MULTI calls can not be nested")
		return
	}
	c.queue.open, c.queue.spoiled = true, false
	c.simple("OK")
}

// enqueue keeps a whole command for EXEC.
func (c *conn) enqueue(command []byte) {
	q := &c.queue
	if q.commands == nil && q.loan.Add(queuedBytes) {
		q.commands = make([]byte, 0, queuedBytes)
	}
	if q.n == maxQueued || len(command) > cap(q.commands)-len(q.commands) {
		q.spoiled = true
		c.wrong("ERR no room for more commands behind MULTI")
		return
	}
	q.n++
	q.commands = append(q.commands, command...)
	c.simple("QUEUED")
}

// exec answers the commands that waited.
func (c *conn) exec([][]byte) {
	q := c.queue
	defer c.queue.end()
	switch c.queue.open = false; {
	case !q.open:
		c.wrong("ERR EXEC without MULTI")
		return
	case q.spoiled:
		c.fail("EXECABORT Transaction discarded because of previous errors.")
		return
	}
	c.list(q.n)
	for at := 0; at < len(q.commands); {
		size, _ := c.p.take(q.commands[at:]) // whole, as when it came
		at += size
		c.command(q.commands[at-size : at])
	}
}

// discard forgets the commands that waited.
func (c *conn) discard([][]byte) {
	if !c.queue.open {
		c.wrong("ERR DISCARD without MULTI")
		return
	}
	c.queue.end()
	c.simple("OK")
}
