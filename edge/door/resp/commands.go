package resp

import (
	"crypto/sha256"
	"crypto/subtle"
	"math"
	"time"
)

// command is a command of the protocol.
type command struct {
	name        string // in lower case
	least, most int    // arguments besides the name
	open        bool   // also before AUTH
	atOnce      bool   // also behind MULTI
	run         func(c *conn, args [][]byte)
}

// find returns the command called name, in lower case; nil: there is none. The first three are
// asked for; a table of 20 is searched faster than a map.
func (h *Door) find(name []byte) *command {
	for i := range h.commands {
		if h.commands[i].name == string(name) {
			return &h.commands[i]
		}
	}
	return nil
}

// many is any number of arguments.
const many = maxArgs

// allCommands returns all commands, those of every request first.
// Those behind the first three are sent by client libraries and redis-cli on their own when they
// connect: without an answer they would not go on.
func allCommands() []command {
	return []command{
		{name: "cl.throttle", least: 4, most: 5, run: (*conn).throttle},
		{name: "headgate.ask", least: 2, most: many, run: (*conn).ask},
		{name: "headgate.check", least: 2, most: 3, run: (*conn).check},
		{name: "headgate.report", least: 2, most: many, run: (*conn).report},
		{name: "headgate.acquire", least: 2, most: 3, run: (*conn).acquire},
		{name: "headgate.release", least: 2, most: 3, run: (*conn).release},
		{name: "headgate.renew", least: 2, most: 3, run: (*conn).renew},
		{name: "headgate.settle", least: 3, most: 3, run: (*conn).settle},
		{name: "headgate.limit", least: 2, most: 2, run: (*conn).limit},
		{name: "headgate.load", least: 2, most: 2, run: (*conn).load},
		{name: "ping", most: 1, run: (*conn).ping},
		{
			name: "echo", least: 1, most: 1,
			run: func(c *conn, args [][]byte) { bulk(&c.reply, args[0]) },
		},
		{name: "hello", most: many, open: true, run: (*conn).hello},
		{name: "auth", least: 1, most: 2, open: true, run: (*conn).auth},
		{name: "select", least: 1, most: 1, run: (*conn).choose},
		{name: "client", least: 1, most: many, run: (*conn).client},
		{name: "info", most: many, run: (*conn).info},
		{name: "command", most: many, run: (*conn).describe},
		{name: "multi", atOnce: true, run: (*conn).multi},
		{name: "exec", atOnce: true, run: (*conn).exec},
		{name: "discard", atOnce: true, run: (*conn).discard},
		{name: "reset", open: true, atOnce: true, run: (*conn).reset},
		{name: "quit", most: many, open: true, atOnce: true, run: (*conn).quit},
	}
}

// ping answers PONG, or its argument.
func (c *conn) ping(args [][]byte) {
	if len(args) == 1 {
		bulk(&c.reply, args[0])
		return
	}
	c.simple("PONG")
}

// choose takes database 0, the only one.
// Libraries send SELECT even for the default.
func (c *conn) choose(args [][]byte) {
	if string(args[0]) != "0" {
		c.wrong("ERR DB index is out of range")
		return
	}
	c.simple("OK")
}

// client takes the names clients give themselves. The names have no effect, and the answer is OK,
// as libraries end a connection whose CLIENT SETINFO fails.
func (c *conn) client(args [][]byte) {
	switch {
	case is(args[0], "ID"):
		c.integer(int64(c.ID & math.MaxInt64)) // 63 bits
	case is(args[0], "GETNAME") && len(c.name) == 0:
		c.null()
	case is(args[0], "GETNAME"):
		bulk(&c.reply, c.name)
	case is(args[0], "SETNAME") && len(args) == 2 && len(args[1]) <= maxName:
		c.name = append(c.name[:0], args[1]...)
		c.simple("OK")
	// redis-py and go-redis send these on each connection.
	case is(args[0], "SETINFO"), is(args[0], "NO-EVICT"), is(args[0], "NO-TOUCH"),
		is(args[0], "REPLY") && len(args) == 2 && is(args[1], "ON"):
		c.simple("OK")
	default:
		c.wrong("ERR unknown subcommand of CLIENT")
	}
}

// info says as much as clients look for before their first command.
// redis-benchmark and health checks look for loading:0 and role:master. The version says which
// protocol is spoken.
func (c *conn) info([][]byte) {
	bulk(&c.reply, "# Server\r\nredis_version:7.0.0\r\nredis_mode:standalone\r\n# "+
		"Persistence\r\nloading:0\r\n# Replication\r\nrole:master\r\n")
}

// describe answers COMMAND: its number of commands, or none of their descriptions.
// redis-cli asks for it to complete names; none is a valid answer.
func (c *conn) describe(args [][]byte) {
	switch {
	case len(args) > 0 && is(args[0], "COUNT"):
		c.integer(int64(len(c.door.commands)))
	case len(args) > 0 && is(args[0], "DOCS") && c.v3:
		c.head('%', 0)
	default:
		c.list(0)
	}
}

// reset puts the connection back to its begin.
func (c *conn) reset([][]byte) {
	c.v3, c.name, c.authed = false, c.name[:0], !c.door.secured()
	c.queue.end()
	c.simple("RESET")
}

// quit ends the connection.
func (c *conn) quit([][]byte) {
	c.last = true
	c.simple("OK")
}

// The third wrong password ends the connection, and its place is free deniedPause later: guesses
// are few.
const (
	maxDenied   = 3
	deniedPause = time.Second
)

// auth takes a password, with or without the name of the default user before it.
func (c *conn) auth(args [][]byte) {
	if c.login(args) {
		c.simple("OK")
	}
}

// login compares a password, and answers if it is wrong.
func (c *conn) login(args [][]byte) bool {
	password := c.door.password.Load()
	if password == nil {
		c.wrong("ERR AUTH called without any password configured for the default user")
		return false
	}
	// Digests are of a length, so the comparison tells nothing of the password's.
	given := sha256.Sum256(args[len(args)-1])
	// There is a user, as in Redis without ACLs.
	user := len(args) == 1 || string(args[0]) == "default"
	if subtle.ConstantTimeCompare(given[:], password[:]) != 1 || !user {
		c.door.denied.Add(1)
		c.wrong("WRONGPASS invalid username-password pair or user is disabled.")
		if c.denied++; c.denied == maxDenied {
			c.FaultFor(deniedPause)
			c.last = true
		}
		return false
	}
	c.authed = true
	return true
}

// hello takes the version of the protocol, and with it a password and a name: HELLO [version [AUTH
// user password] [SETNAME name]].
// All of it or nothing: the version changes only once the rest was right, as in Redis.
func (c *conn) hello(args [][]byte) {
	v3 := c.v3
	if len(args) > 0 {
		if v3 = string(args[0]) == "3"; !v3 && string(args[0]) != "2" {
			c.wrong("NOPROTO unsupported protocol version")
			return
		}
		args = args[1:]
	}
	for len(args) > 0 {
		switch {
		case is(args[0], "AUTH") && len(args) >= 3:
			if !c.login(args[1:3]) {
				return
			}
			args = args[3:]
		case is(args[0], "SETNAME") && len(args) >= 2 && len(args[1]) <= maxName:
			c.name = append(c.name[:0], args[1]...)
			args = args[2:]
		default:
			c.wrong("ERR syntax error in HELLO")
			return
		}
	}
	if !c.authed {
		c.wrong("NOAUTH HELLO must be called with the client already authenticated, or with AUTH " +
			"<user> <password>")
		return
	}
	c.v3 = v3
	c.greet()
}

// greet answers HELLO.
// A map in RESP3, a list of names and values in RESP2: beginMap knows.
func (c *conn) greet() {
	at := c.beginMap()
	bulk(&c.reply, "server")
	bulk(&c.reply, "redis")
	bulk(&c.reply, "version")
	bulk(&c.reply, "7.0.0")
	bulk(&c.reply, "proto")
	c.integer(map[bool]int64{false: 2, true: 3}[c.v3])
	bulk(&c.reply, "id")
	c.integer(int64(c.ID & math.MaxInt64)) // 63 bits
	bulk(&c.reply, "mode")
	bulk(&c.reply, "standalone")
	bulk(&c.reply, "role")
	bulk(&c.reply, "master")
	bulk(&c.reply, "modules")
	c.list(0)
	c.endMap(at, 7)
}
