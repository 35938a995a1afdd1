package edge

import (
	"sync"
	"time"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/door/lines"
)

// unreadMinutes is for how long unread lines are a fault of the node.
const unreadMinutes = 10

// unread gathers the unread lines of all doors.
type unread struct {
	doors map[string][]*lines.Unread // by name; not changed once the doors are open

	mu      sync.Mutex // protects what follows; no other lock is taken under it
	minute  int64
	totals  [2]uint64                // of reports and of questions, now
	begins  [unreadMinutes][2]uint64 // likewise, when a minute began, the oldest first
	reports string                   // the last one logged
	asked   string                   // likewise, of questions
}

// gatherUnread finds the doors. For once, when all are made.
func (n *Node) gatherUnread() {
	u := &n.unread
	u.doors = map[string][]*lines.Unread{"http": {n.web.Unread()}}
	for _, d := range n.datagram {
		u.doors["udp"] = append(u.doors["udp"], d.Unread())
	}
	for _, s := range n.streams {
		u.doors[s.name] = append(u.doors[s.name], s.Unread())
	}
}

// watchUnread logs unread lines, and counts them by minutes. For each second.
func (n *Node) watchUnread(now time.Time) {
	u := &n.unread
	totals := [2]uint64{}
	for name, doors := range u.doors {
		for _, d := range doors {
			reports, questions := d.Totals()
			totals[0], totals[1] = totals[0]+reports, totals[1]+questions
			d.Take(now, func(l lines.UnreadLine) {
				n.log.Warn("malformed line", "door", name, "verb", l.Verb, "code", l.Code,
					"line", l.Line, "lines", l.Lines)
				u.note(l)
			})
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for minute := now.Unix() / 60; u.minute < minute; u.minute++ {
		u.minute = max(u.minute, minute-unreadMinutes)
		copy(u.begins[:], u.begins[1:])
		u.begins[unreadMinutes-1] = u.totals
	}
	u.totals = totals
}

// note keeps the last line of a kind.
func (u *unread) note(l lines.UnreadLine) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch l.Verb {
	case "report":
		u.reports = l.Line
	case "":
	default:
		u.asked = l.Line
	}
}

// recent returns the unread lines of the last ten minutes.
func (u *unread) recent() (reports, questions admin.UnreadView) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return admin.UnreadView{Lines: u.totals[0] - u.begins[0][0], Last: u.reports},
		admin.UnreadView{Lines: u.totals[1] - u.begins[0][1], Last: u.asked}
}
