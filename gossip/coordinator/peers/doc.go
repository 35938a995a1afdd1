// Package peers knows how far another member's packets are to be believed: whether they are new,
// whether its clock is right, and whether it answers. It holds a small record per member.
//
//	packet → header → Timely: issued within 60 s of this node's clock? → Fresh: not a replay?
//	    → accepted
//	question to a member ─► Asked ─► Responsive: no answer for too long? ─► its deputy or standby
//	state exchange ─► ReceiveClock ─► Clocks ─► readiness, metrics, admin pages
//	packet, answer to a ping ─► sights ─► Lead of a member ─► Compare: the median ─► Offset
//
// A member has a session with each receiver, whose number it draws at its start, and numbers the
// packets in it. A packet is a replay if its number is more than 4,096 behind the newest of its
// session. The last 4 sessions of a member are remembered.
//
// Instants belong to a process: they start with the clock's reading at its start, right or wrong,
// and stand still while the machine is suspended. Times other members compare are therefore stamped
// with the present wall clock, and SetClock converts between the two.
//
// Given up: replays of a session that was forgotten. Within the 60 s in which a stamp is accepted
// they repeat a state that was true a minute ago.
//
// A Table is not safe for concurrent use.
package peers
