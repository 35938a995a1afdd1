package wire_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/edge/wire"
)

func ExampleParseQuery() {
	q, code := wire.ParseQuery([]byte("check login 203.0.113.7 cost=2 id=a1"))
	fmt.Printf("%s %s %s %d %s %v\n", q.Op, q.Rule, q.Key, q.Cost, q.ID, code == wire.NoError)

	q, code = wire.ParseQuery([]byte("check login 203.0.113.7 cost=0 id=a2"))
	fmt.Printf("%s %s\n", code, q.ID)
	// Output:
	// check login 203.0.113.7 2 a1 true
	// bad-request a2
}

func ExampleAppendAnswerMax() {
	request := "check login 203.0.113.7 id=a1"
	answer := wire.Answer{Status: wire.Deny, Why: wire.WhyLimit, Retry: 12, ID: []byte("a1")}
	fmt.Printf("%s\n", wire.AppendAnswer(nil, answer))
	reply, _ := wire.AppendAnswerMax(nil, answer, len(request))
	fmt.Printf("%s\n", reply)
	// Output:
	// id=a1 deny why=limit retry=12 view=node
	// id=a1 deny why=limit retry=12
}

func ExampleParseAnswer() {
	a, err := wire.ParseAnswer([]byte("deny why=shed retry=3 view=pop ratio=0.83 colour=red"))
	fmt.Println(a.Allowed(), a.Why, a.Retry, a.View, a.Ratio, err)
	// Output: false shed 3 pop 0.83 <nil>
}

func ExampleClient_Check() {
	address, stop := toyDaemon()
	client, err := wire.Dial("udp", address, wire.WithTimeout(time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()

	answer, err := client.Check(context.Background(), "login", "203.0.113.7", 1)
	fmt.Println(answer.Status, answer.Why, answer.Retry, err)

	stop() // without a daemon, FailOpen lets everything pass
	answer, err = client.Check(context.Background(), "login", "203.0.113.7", 1)
	fmt.Println(answer.Status, answer.Assumed, errors.Is(err, wire.ErrNoDaemon))
	// Output:
	// deny limit 30 <nil>
	// allow true true
}

func ExampleClient_Ask() {
	address, stop := toyDaemon()
	defer stop()
	client, err := wire.Dial("udp", address, wire.WithTimeout(time.Second), wire.WithFailMode(wire.FailClosed))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()

	answers, err := client.Ask(context.Background(), []wire.Query{
		{Op: wire.Check, Rule: []byte("login"), Key: []byte("203.0.113.7")},
		{Op: wire.Peek, Rule: []byte("per-ip"), Key: []byte("203.0.113.7")},
	})
	for _, a := range answers {
		fmt.Println(a.Status)
	}
	fmt.Println(err)
	// Output:
	// deny
	// allow
	// <nil>
}

// toyDaemon refuses whoever logs in and allows all else.
func toyDaemon() (address string, stop func()) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() {
		buf := make([]byte, wire.MaxDatagram)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo([]byte(toyReply(string(buf[:n]))), from)
		}
	}()
	return conn.LocalAddr().String(), func() { _ = conn.Close() }
}

func toyReply(datagram string) string {
	var reply []string
	for line := range strings.SplitSeq(datagram, "\n") {
		q, _ := wire.ParseQuery([]byte(line))
		a := wire.Answer{Status: wire.Allow, ID: q.ID}
		if string(q.Rule) == "login" {
			a = wire.Answer{Status: wire.Deny, Why: wire.WhyLimit, Retry: 30, ID: q.ID}
		}
		reply = append(reply, string(wire.AppendAnswer(nil, a)))
	}
	return strings.Join(reply, "\n")
}
