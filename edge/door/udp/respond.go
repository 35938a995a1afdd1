package udp

import (
	"bytes"

	"github.com/headgate-dev/headgate/edge/door/lines"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/wire"
)

// respond appends the answer to a datagram, a line per request line, to reply and returns it. An
// empty result means that nothing is sent: off loopback, when some answer would not fit. It
// allocates nothing if reply has replyBytes of room.
func (u *Door) respond(
	stats *readerStats, decisions *gate.Batch, k *asker, packet, reply []byte,
) []byte {
	start := len(reply)
	stats.packets.Add(1)
	lines := countLines(packet)
	if len(packet) > wire.MaxDatagram || lines > wire.MaxLines {
		stats.tooLong.Add(1)
		return u.fit(stats, reply, start,
			&wire.Answer{Status: wire.Error, Code: wire.TooLong}, len(packet))
	}
	stats.lines.Add(uint64(lines)) // at most 64
	var (
		q question
		a wire.Answer
	)
	silent := false
	for asked := 0; lines > 0; lines-- {
		line, rest, ended := bytes.Cut(packet, []byte{'\n'})
		packet = rest
		asked += len(line)
		before := len(reply)
		if wire.IsWhole(line) && k.session != nil {
			due := k.decideWhole(stats, decisions, line)
			u.noteUnread(&k.answer.Answer, line)
			if !due {
				continue
			}
			reply = u.fitWhole(stats, reply, &k.answer, asked-(before-start))
		} else {
			stats.answer(&a, &q, decisions, line)
			u.noteUnread(&a, line)
			reply = u.fit(stats, reply, before, &a, asked-(before-start))
		}
		asked++
		switch {
		case len(reply) == before:
			silent = true
		case !ended && u.public:
			reply = reply[:len(reply)-1] // the question had no line feed to pay for this one
		}
	}
	if silent { // answers must stay in step with their lines: all or none
		return reply[:start]
	}
	return reply
}

// noteUnread notes a line answered with an error. Unknown names have counters and a log of their own.
func (u *Door) noteUnread(a *wire.Answer, line []byte) {
	if a.Status != wire.Error {
		return
	}
	switch a.Code {
	case wire.UnknownRule, wire.UnknownPool, wire.Full, wire.Internal:
	default:
		u.unread.Note(a.Code, line)
	}
}

// broken appends the answer to a datagram a panic interrupted: an error for each line, but for
// reports without an id, which get no answer. Lines before the fault may have been counted.
func (u *Door) broken(stats *readerStats, packet, reply []byte) []byte {
	start, asked := len(reply), 0
	for lines := countLines(packet); lines > 0; lines-- {
		line, rest, ended := bytes.Cut(packet, []byte{'\n'})
		packet = rest
		asked += len(line)
		a := wire.Answer{Status: wire.Error, Code: wire.Internal, ID: wire.LastID(line)}
		if a.ID != nil || !bytes.HasPrefix(line, []byte("report ")) {
			before := len(reply)
			if reply = u.fit(stats, reply, before, &a, asked-(before-start)); len(reply) == before {
				return reply[:start]
			}
			if !ended && u.public {
				reply = reply[:len(reply)-1]
			}
		}
		asked++
	}
	return reply
}

// question is the memory of a line: passed on by address, because structs returned and copied cost
// more than the rest of the parsing.
type question struct {
	query    wire.Query
	ask      gate.Ask
	decision gate.Decision
}

// answer parses a line, decides and sets *a. A line not understood is answered with an error and
// reaches no counter of the gate.
func (s *readerStats) answer(a *wire.Answer, q *question, decisions *gate.Batch, line []byte) {
	code := wire.ParseQuery(&q.query, line)
	switch {
	case code == wire.TooLong:
		s.tooLong.Add(1)
	case code != wire.NoError:
		s.malformed.Add(1)
	case q.query.Op == wire.Ping:
		*a = wire.Answer{Status: wire.Pong, ID: q.query.ID}
		return
	default:
		q.ask = gate.Ask{
			Op: lines.Ops[q.query.Op], Rule: q.query.Rule, Key: q.query.Key,
			Cost: q.query.Cost, Millionths: q.query.Millionths,
			Tier: q.query.Tier, Wait: q.query.Wait,
		}
		err := decisions.Decide(&q.decision, &q.ask)
		if err == nil {
			setAnswer(a, &q.decision, &q.query)
			return
		}
		if code = lines.CodeOf(err); code == wire.UnknownRule {
			s.unknown.Add(1)
		} else {
			s.malformed.Add(1)
		}
	}
	*a = wire.Answer{Status: wire.Error, Code: code, ID: q.query.ID}
}

// fit appends a and a line feed. Off loopback, answer and line feed take at most room bytes: the
// length of the question and the line feed. Fields are left out to fit, and if the shortest form is
// too long nothing is appended. So nobody can use headgate to flood a third party from a forged
// address.
func (u *Door) fit(stats *readerStats, reply []byte, start int, a *wire.Answer, room int) []byte {
	if !u.public {
		return append(wire.AppendAnswer(reply, a), '\n')
	}
	if a.Status == wire.Error {
		// an error is no request: an answer as long, and two nodes could answer each other for ever
		room--
	}
	reply, ok := wire.AppendAnswerMax(reply, a, room)
	if !ok {
		stats.unanswered.Add(1)
		return reply[:start]
	}
	return append(reply, '\n')
}

// countLines counts request lines. The last line may lack the line feed; an empty datagram is a
// malformed line.
func countLines(packet []byte) int {
	n := bytes.Count(packet, []byte{'\n'})
	if len(packet) == 0 || packet[len(packet)-1] != '\n' {
		n++
	}
	return n
}
