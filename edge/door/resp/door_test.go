package resp_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/door/doortest"
)

// TestCheck: HEADGATE.CHECK asks a rule, as a line does.
func TestCheck(t *testing.T) {
	t.Parallel()
	n := open(t, "", 0)
	n.want("HEADGATE.CHECK login k", "[verdict allow rule login remaining 1 reset 60 view node]")
	n.want("HELLO 3", "{server redis version 7.0.0 proto 3 id 1 mode standalone role master "+
		"modules []}")
	n.want("HEADGATE.CHECK login k", "{verdict allow rule login remaining 0 reset 60 view node}")
	n.want(
		"HEADGATE.CHECK login k",
		"{verdict deny rule login remaining 0 reset 60 view node why limit retry 60}",
	)
	n.wants(`
		HEADGATE.CHECK shy k 1 → {verdict allow rule shy remaining 0 reset 60 view node}
		HEADGATE.CHECK shy k 1 → {verdict allow rule shy remaining 0 reset 60 view node shadow deny}
		HEADGATE.CHECK logout k → ERR unknown-rule
		HEADGATE.CHECK login k 0 → ERR bad-request
		HEADGATE.CHECK login → ERR wrong number of arguments
	`)
	if got := n.do("HEADGATE.CHECK", "login", strings.Repeat("k", 257)); got != "ERR too-long" {
		t.Error(got)
	}
	if s := n.door.Stats(); s.UnknownRule != 1 || s.TooLong != 1 || s.Malformed != 2 {
		t.Errorf("%+v", s)
	}
}

// TestAsk: HEADGATE.ASK has the policies decide.
func TestAsk(t *testing.T) {
	t.Parallel()
	n := open(t, "", 0)
	n.wants(`
		HEADGATE.ASK path / → [verdict allow why none]
		HEADGATE.ASK path /.env client 192.0.2.1 → [verdict deny why policy status 403]
		HEADGATE.ASK path /.env path / → ERR bad-request
		HEADGATE.ASK path / header.x 1 header.x 2 → [verdict allow why none]
	`)
	n.want(
		"HEADGATE.ASK method GET path /v2/x header.X-Plan gold client 192.0.2.1",
		"[verdict allow rule api remaining 0 reset 60 view node]",
	)
	denied := n.do("HEADGATE.ASK", "method", "GET", "path", "/v2/x", "header.X-Plan", "gold",
		"client", "192.0.2.1", "delay", "ok")
	if want := "[verdict deny rule api remaining 0 reset 60 view node why limit retry " +
		"60]"; !doortest.SameButRetry(denied, want) {
		t.Errorf("%s, want %s", denied, want)
	}
	if got := n.do("HEADGATE.ASK", "path", "/login", "client", "192.0.2.1"); !strings.HasPrefix(got,
		"[verdict allow rule failures remaining 1 reset 0 view node ticket ") || len(got) != 83 {
		t.Errorf("%d %s", len(got), got)
	}
	// 16 arguments beside the name, and one pair more
	seven := strings.Repeat(" header.x 1", 7)
	n.want("HEADGATE.ASK"+seven+" path /", "[verdict allow why none]")
	n.want("HEADGATE.ASK"+seven+" path / method GET", "ERR wrong number of arguments")
	n.wants(`
		HEADGATE.ASK path /quiet → [verdict allow]
		HEADGATE.ASK path /quiet → [verdict deny why limit status 503]
		HEADGATE.ASK path /trap → [verdict allow rule trap remaining 0 reset 60 view node]
		HEADGATE.ASK path /trap deceive ok → [verdict allow deceive 1]
		HEADGATE.ASK path / colour red → ERR unknown-field
		HEADGATE.ASK method GET → ERR bad-request
		HEADGATE.ASK path / host → ERR bad-request
		HEADGATE.ASK path / asn x → [verdict allow why none]
	`)
	if got := n.do("HEADGATE.ASK", "path", "/"+strings.Repeat("t", 8192)); got != "[verdict deny "+
		"why unfit status 414]" {
		t.Error(got)
	}
}

// TestConnection: the commands by which clients begin.
func TestConnection(t *testing.T) {
	t.Parallel()
	n := open(t, "", 0)
	n.wants(`
		PING → PONG
		ping hi → hi
		ECHO x → x
		SELECT 0 → OK
		SELECT 1 → ERR DB index is out of range
		CLIENT SETINFO LIB-NAME x → OK
		CLIENT GETNAME → null
		CLIENT SETNAME me → OK
		CLIENT GETNAME → me
		CLIENT ID → 1
		CLIENT KILL x → ERR unknown subcommand of CLIENT
		COMMAND → []
		COMMAND COUNT → 23
		COMMAND DOCS → []
		HELLO 4 → NOPROTO unsupported protocol version
		HELLO 3 SETNAME I → {server redis version 7.0.0 proto 3 id 1 mode standalone role master modules []}
		CLIENT GETNAME → I
		COMMAND DOCS → {}
		HELLO → {server redis version 7.0.0 proto 3 id 1 mode standalone role master modules []}
		HELLO 3 LATER → ERR syntax error in HELLO
		RESET → RESET
		CLIENT GETNAME → null
		AUTH x → ERR AUTH called without any password configured for the default user
		GET x → ERR unknown command 'GET'
		PING a b → ERR wrong number of arguments
	`)
	n.want(strings.Repeat("x\x7f", 33), "ERR unknown command '"+strings.Repeat("x?", 32)+"'")
	if got := n.do("INFO"); !strings.Contains(got, "redis_version:7.0.0") ||
		!strings.Contains(got, "loading:0") {
		t.Error(got)
	}
	n.want("QUIT", "OK")
	if got := n.receive(); got != "closed" {
		t.Error(got)
	}
}

// TestPassword: with a password nothing but a greeting is answered before it.
func TestPassword(t *testing.T) {
	t.Parallel()
	n := open(t, "", 1<<20)
	n.door.SetPassword([]byte("secret"))
	n.connect()
	n.wants(`
		PING → NOAUTH Authentication required.
		CL.THROTTLE k 1 1 1 → NOAUTH Authentication required.
		AUTH wrong → WRONGPASS invalid username-password pair or user is disabled.
		AUTH admin secret → WRONGPASS invalid username-password pair or user is disabled.
	`)
	n.want("HELLO 3", "NOAUTH HELLO must be called with the client already authenticated, or with "+
		"AUTH <user> <password>")
	n.wants(`
		AUTH secret → OK
		PING → PONG
		RESET → RESET
		PING → NOAUTH Authentication required.
		AUTH default secret → OK
		PING → PONG
	`)
	n.connect()
	if got := n.do("HELLO", "3", "AUTH", "default", "secret", "SETNAME",
		"me"); !strings.HasPrefix(got, "{server redis") {
		t.Error(got)
	}
	if s := n.door.Stats(); s.Denied != 2 {
		t.Errorf("%+v", s)
	}
}

// TestThreePasswords: the third wrong password ends the connection, which keeps its place for a
// second.
func TestThreePasswords(t *testing.T) {
	t.Parallel()
	n := open(t, "", 1<<20)
	n.door.SetPassword([]byte("secret"))
	n.connect()
	n.wants(`
		AUTH wrong → WRONGPASS invalid username-password pair or user is disabled.
		HELLO 3 AUTH default no → WRONGPASS invalid username-password pair or user is disabled.
	`)
	began := time.Now()
	n.wants(`
		AUTH worse → WRONGPASS invalid username-password pair or user is disabled.
		AUTH secret → closed
	`)
	doortest.WaitFor(t, func() bool { return n.door.Stats().Open == 1 })
	if kept := time.Since(began); kept < time.Second {
		t.Errorf("the place was kept for %v", kept)
	}
}

// TestPipelines: commands of one write are answered in order, in parts or in lines that a person
// types, and empty ones by nothing.
func TestPipelines(t *testing.T) {
	t.Parallel()
	n := open(t, "", 1<<20)
	n.send("\r\n*0\r\n*-1\r\n" + command("ECHO", "1") + "ECHO 2\r\n" + "  echo   3\n" +
		command("ECHO", "4")[:9])
	for i := range 3 {
		if got := n.receive(); got != fmt.Sprint(i+1) {
			t.Errorf("%d: %s", i+1, got)
		}
	}
	n.send(command("ECHO", "4")[9:])
	if got := n.receive(); got != "4" {
		t.Error(got)
	}
	for range 3 { // more than the buffers hold, answered while it still comes
		go func() {
			_, _ = io.WriteString(n.Conn,
				strings.Repeat(command("ECHO", strings.Repeat("x", 1000)), 200))
		}()
		for range 200 {
			if got := n.receive(); len(got) != 1000 {
				t.Fatalf("%d bytes", len(got))
			}
		}
	}
	if got := n.do("ECHO", strings.Repeat("x", 60_000)); len(got) != 60_000 {
		t.Errorf("%d bytes", len(got))
	}
	many := make([]string, 100)
	if got := n.do(many...); got != "ERR unknown command ''" {
		t.Error(got)
	}
}

// TestBroken: where the next command begins is lost, the connection ends, and only that.
func TestBroken(t *testing.T) {
	t.Parallel()
	n := open(t, "", 1<<20)
	began := time.Now()
	for i, send := range []string{
		"*1000000000\r\n", "*99999999999999999999\r\n", "*x\r\n", "*1\r\nPING\r\n", "*1\r\n$x\r\n",
		"*1\r\n$-1\r\n", "*1\r\n$65537\r\n", "*1\r\n$4\r\nPINGxx",
		"*1\r\n$65536\r\n", strings.Repeat("x", 65_600),
		"*2\r\n$40000\r\n" + strings.Repeat("x", 40_000) + "\r\n$40000\r\n",
	} {
		began = time.Now()
		n.connect()
		n.send(send)
		if got := n.receive(); got != "ERR Protocol error" {
			t.Errorf("%d: %s", i, got)
		}
	}
	if s := n.door.Stats(); s.Broken != 11 {
		t.Errorf("%+v", s)
	}
	n.held(began, 1)
}

// TestStop: connections end when the door does.
func TestStop(t *testing.T) {
	t.Parallel()
	n := open(t, "", 0)
	n.want("PING", "PONG")
	n.stop()
	if got := n.receive(); got != "closed" {
		t.Error(got)
	}
}

// TestAllocations: a warm connection answers without allocating.
func TestAllocations(t *testing.T) {
	n := open(t, "", 1<<20)
	request := []byte(command("CL.THROTTLE", "user", "15", "30", "60") + command("HEADGATE.CHECK",
		"shy", "k") + command("HEADGATE.ASK", "path", "/v2/x"))
	answer := make([]byte, 1024)
	exchange := func() {
		if _, err := n.Write(request); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAtLeast(n.Conn, answer, 150); err != nil {
			t.Fatal(err)
		}
	}
	exchange()
	exchange()
	if got := testing.AllocsPerRun(200, exchange); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

// FuzzCommands: whatever arrives, what is sent back is whole answers, and the next connection is
// answered.
func FuzzCommands(f *testing.F) {
	for _, seed := range []string{
		"", "PING\r\n", command("CL.THROTTLE", "k", "1", "1", "1"),
		command("HELLO", "3") + command("HEADGATE.CHECK", "login", "k"),
		command("HEADGATE.ASK", "path", "/.env", "header.x", "y"), "*1\r\n$3\r\nab",
		"*-1\r\n*3\r\n", "$5\r\n", command("RESET", "QUIT") + command("QUIT"),
		command("MULTI") + command("ECHO", "a") + command("EXEC") + command("MULTI"),
	} {
		f.Add([]byte(seed))
	}
	n := open(f, "", 1<<20)
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &node{TB: t, addr: n.addr}
		c.connect()
		if _, err := c.Write(data); err != nil {
			return // it was closed, which is an answer too
		}
		if tcp, ok := c.Conn.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
		out, err := io.ReadAll(c.in)
		if err != nil {
			return // reset, because bytes were left unread
		}
		c.in = bufio.NewReader(strings.NewReader(string(out)))
		for range 1 << 16 {
			if c.receive() == "closed" {
				return
			}
		}
	})
}

// BenchmarkThrottle is CL.THROTTLE over a connection: both ends, with 16 under way.
func BenchmarkThrottle(b *testing.B) {
	n := open(b, "", 16<<20)
	const together = 16
	var requests [64][]byte
	for i := range requests {
		var all string
		for k := range together {
			all += command("CL.THROTTLE", fmt.Sprint("user:", i*together+k), "15", "30", "60", "0")
		}
		requests[i] = []byte(all)
	}
	size := together * len("*5\r\n:0\r\n:16\r\n:16\r\n:-1\r\n:0\r\n")
	answer := make([]byte, size)
	for i := range b.N/together + 1 {
		if _, err := n.Write(requests[i%len(requests)]); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(n.Conn, answer); err != nil {
			b.Fatal(err)
		}
	}
}
