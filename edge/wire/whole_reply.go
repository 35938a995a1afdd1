package wire

import "math"

// ParseWholeAnswer parses the reply to an ask or a report, given without its line feed. Rule and
// Ground lie in line. It is as strict and as lenient as [ParseAnswer], and its errors are the same.
func ParseWholeAnswer(a *WholeAnswer, line []byte) (err error) {
	*a = WholeAnswer{}
	if a.Answer, err = ParseAnswer(line); err != nil {
		return err
	}
	// A second pass over the words: the first pass checked each, so this pass only takes the rest.
	for rest, more := line, true; more; {
		var word []byte
		word, rest, more = cut(rest, ' ')
		name, value, _ := cut(word, '=')
		if !a.field(name, value) {
			return errReplyValue
		}
	}
	return nil
}

// field takes a field of WholeAnswers only, and ignores others.
func (a *WholeAnswer) field(name, value []byte) (ok bool) {
	ok = true
	switch string(name) {
	// A ground of a rule is a known word and was taken by the first pass; others are those of a
	// policy.
	case "why":
		if _, known := find(whyWords[:], value); !known {
			a.Ground = value
		}
	case "rule":
		a.Rule = value
	case "ticket":
		a.Ticket, ok = parseTicket(value)
	case "lease":
		a.Lease, ok = parseTicket(value)
	case "status":
		var n uint64
		n, ok = parseUint(value, math.MaxInt16)
		a.HTTP = int(n) // at most 32767
	case "late":
		a.Late = string(value) == "1"
	case "deceive":
		a.Deceive = string(value) == "1"
	case "full":
		a.Full = string(value) == "1"
	}
	return ok
}
