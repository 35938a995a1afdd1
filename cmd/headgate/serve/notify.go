package serve

import (
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
)

// Bounds of the messages to the service manager.
const (
	// notifyPatience is how long a message may wait for room in the manager's socket.
	notifyPatience = time.Second
	// maxStatus is the longest line of status, in bytes: systemd reads 4096 bytes of a message.
	maxStatus = 512
)

// notifier reports the daemon's state to the service manager, by the protocol of sd_notify(3): each
// message is a datagram of NAME=value lines to the unix socket the environment names. A nil
// *notifier does nothing. Safe for concurrent use.
//
//	daemon: ready, reloading, stopping ──────────────┐
//	the loops of edge turn ─► Life ─► watchdog.look ─┴─► notifier ─► $NOTIFY_SOCKET
type notifier struct {
	conn    net.Conn
	log     *slog.Logger
	failing atomic.Bool // the last message was not taken
}

// openNotifier returns the notifier for the manager the environment names; nil: there is none, or
// the socket cannot be opened.
func openNotifier(getenv func(string) string, log *slog.Logger) *notifier {
	at := getenv("NOTIFY_SOCKET") // a path, or @name for an abstract one, which net knows
	if at == "" {
		return nil
	}
	conn, err := net.Dial("unixgram", at)
	if err != nil {
		log.Warn("the daemon's state cannot be reported to the service manager", "error",
			cli.SafeLines(err.Error()))
		return nil
	}
	return &notifier{conn: conn, log: log}
}

// Ready tells that the daemon decides, by so many rules. refused is why the last reload changed
// nothing, if so.
func (n *notifier) Ready(rules int, refused error) {
	status := "Deciding by " + cli.Count(rules, "rule")
	if refused != nil {
		status += ", for the last reload was refused: " + refused.Error()
	}
	n.tell("READY=1", "STATUS="+statusLine(status))
}

// Reloading says that the daemon reads its configuration again, until ready.
func (n *notifier) Reloading() {
	n.tell("RELOADING=1", "MONOTONIC_USEC="+strconv.FormatInt(monotonic().Microseconds(), 10))
}

// Stopping says that the daemon takes nothing new.
func (n *notifier) Stopping() { n.tell("STOPPING=1", "STATUS=Answering what has arrived") }

// tell sends a message. The first failure is logged, later ones only after a success: nothing else
// can be done.
func (n *notifier) tell(lines ...string) {
	if n == nil {
		return
	}
	err := n.conn.SetWriteDeadline(time.Now().Add(notifyPatience))
	if err == nil {
		_, err = n.conn.Write([]byte(strings.Join(lines, "\n")))
	}
	if n.failing.Swap(err != nil) || err == nil {
		return
	}
	n.log.Warn("the state was not reported to the service manager", "message", lines[0], "error",
		cli.SafeLines(err.Error()))
}

// close gives the socket back.
func (n *notifier) close() error {
	if n == nil {
		return nil
	}
	if err := n.conn.Close(); err != nil {
		return fmt.Errorf("close the service manager's socket: %w", err)
	}
	return nil
}

// statusLine returns text as a line fit to be shown, and short enough: a line end inside would
// begin another message.
func statusLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if line = cli.Safe(line); len(line) > maxStatus {
		line = strings.ToValidUTF8(line[:maxStatus-len("…")], "") + "…"
	}
	return line
}
