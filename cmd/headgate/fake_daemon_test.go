package main

import (
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/headgate-dev/headgate/edge/wire"
)

// fakeDaemon answers datagrams at network and address by the key they ask about, and returns the
// address.
func fakeDaemon(t *testing.T, network, address string) string {
	t.Helper()
	conn, err := new(net.ListenConfig).ListenPacket(t.Context(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	var ended sync.WaitGroup
	t.Cleanup(func() {
		_ = conn.Close()
		ended.Wait()
	})
	ended.Go(func() { answerDatagrams(conn) })
	return conn.LocalAddr().String()
}

func answerDatagrams(conn net.PacketConn) {
	for buffer := make([]byte, wire.MaxDatagram); ; {
		n, from, err := conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		var q wire.Query
		code := wire.ParseQuery(&q, []byte(strings.TrimSuffix(string(buffer[:n]), "\n")))
		answer := wire.Answer{Status: wire.Error, Code: code, ID: q.ID}
		if code == wire.NoError {
			answer = cannedAnswer(q)
		}
		if string(q.Key) != "silence" {
			_, _ = conn.WriteTo(append(wire.AppendAnswer(nil, &answer), '\n'), from)
		}
	}
}

func cannedAnswer(q wire.Query) wire.Answer {
	a := wire.Answer{ID: q.ID, Remaining: 99, Reset: 10}
	switch {
	case string(q.Rule) != "login":
		return wire.Answer{Status: wire.Error, Code: wire.UnknownRule, ID: q.ID}
	case q.Op == wire.Count:
		a.Status = wire.OK
	case string(q.Key) == "blocked":
		a.Status, a.Why, a.Retry = wire.Deny, wire.WhyBlock, 600
	case string(q.Key) == "shed":
		a.Status, a.Why, a.Retry, a.Ratio = wire.Deny, wire.WhyShed, 1, 0.83
	case string(q.Key) == "shadowed":
		a.Shadow, a.Remaining = true, 0
	}
	a.Remaining -= int64(q.Cost) - 1
	return a
}
