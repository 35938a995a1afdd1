package wire

import "bytes"

// ParseQuery parses a request line without the line feed.
//
// The returned rule, key and id lie in line; the key is percent-decoded in place, so line is
// changed and must not be parsed again. Nothing is allocated.
//
// The code is NoError, BadRequest for a line outside the grammar, or TooLong for a key of more than
// [MaxKey] bytes. A rule nobody has configured is the caller's to find. An option given twice
// counts as last given; options with another name than cost, id, tier and delay are ignored. With a
// code other than NoError the query holds only a valid id, if any, for the reply.
//
// *q is overwritten: to return a copy would cost half as much again.
func ParseQuery(q *Query, line []byte) Code {
	op, i := parseOp(line)
	if i == 0 {
		if string(line) != "ping" {
			return refuse(q, line, BadRequest)
		}
		*q = Query{Op: Ping, Cost: 1}
		return NoError
	}
	end := span(line, i, inRule)
	if n := end - i; n < 1 || n > MaxRule || end == len(line) || line[end] != ' ' {
		return refuse(q, line, BadRequest)
	}
	rule := line[i:end]
	i = end + 1
	end = keySpan(line, i)
	n := end - i // the length of the decoded key
	q.Op, q.Cost, q.Wait = op, 1, false
	// Pointers are written in turn: the garbage collector is asked once for all.
	q.Rule, q.Key, q.ID, q.Tier = rule, line[i:end], nil, nil
	if end < len(line) { // not the common line: an escape, or options, or a fault
		n, end = decodeKey(line, i, end)
		if end < len(line) && !parseOptions(q, line[end:]) {
			return refuse(q, line, BadRequest)
		}
		q.Key = line[i : i+n]
	}
	switch {
	case n == 0:
		return refuse(q, line, BadRequest)
	case n > MaxKey:
		return refuse(q, line, TooLong)
	}
	return NoError
}

// parseOp returns the operation and the length of the word and the space behind, 0 if the line
// begins with no operation on a rule.
func parseOp(line []byte) (Op, int) {
	if len(line) < len("peek ") {
		return 0, 0
	}
	if len(line) >= len("check ") {
		switch string(line[:len("check ")]) {
		case "check ":
			return Check, len("check ")
		case "count ":
			return Count, len("count ")
		}
	}
	if string(line[:len("peek ")]) == "peek " {
		return Peek, len("peek ")
	}
	return 0, 0
}

// decodeKey decodes the key at line[start] and is plain up to line[i]. Returns the length of the
// key and the index behind the encoded form: the end of the line, or a byte outside a key which,
// unless a space, will not pass for the start of an option.
func decodeKey(line []byte, start, i int) (n, end int) {
	w := i // where the next decoded byte goes: never beyond where it is read
	for i < len(line) {
		b := line[i]
		switch {
		case class[b]&inKey != 0:
			i++
		case b == '%' && i+2 < len(line) && unhex[line[i+1]] < 16 && unhex[line[i+2]] < 16:
			b = unhex[line[i+1]]<<4 | unhex[line[i+2]]
			i += 3
		default:
			return w - start, i
		}
		line[w] = b
		w++
	}
	return w - start, i
}

// parseOptions reads *(SP option) into q and reports success.
func parseOptions(q *Query, rest []byte) bool {
	for len(rest) > 0 {
		end := span(rest, 1, inWord)
		if rest[0] != ' ' || end == 1 || !parseOption(q, rest[1:end]) {
			return false
		}
		rest = rest[end:]
	}
	return true
}

// parseOption reports whether the option is right or unknown.
func parseOption(q *Query, option []byte) bool {
	if value, ok := valueOf(option, "id="); ok {
		q.ID = value
		return validID(value)
	}
	if value, ok := valueOf(option, "cost="); ok {
		q.Cost, q.Millionths, ok = ParseCost(value)
		return ok
	}
	if value, ok := valueOf(option, "tier="); ok {
		q.Tier = value
		return len(value) <= MaxRule && all(value, inRule)
	}
	if value, ok := valueOf(option, "delay="); ok {
		q.Wait = string(value) == "ok"
	}
	return true
}

// valueOf returns the part of option behind name, and whether option begins with name.
// (bytes.CutPrefix would build the name as bytes each time.)
func valueOf(option []byte, name string) ([]byte, bool) {
	if len(option) < len(name) || string(option[:len(name)]) != name {
		return nil, false
	}
	return option[len(name):], true
}

// cut is bytes.Cut for a separator of a byte.
func cut(b []byte, sep byte) (before, after []byte, found bool) {
	if i := bytes.IndexByte(b, sep); i >= 0 {
		return b[:i], b[i+1:], true
	}
	return b, nil, false
}

func validID(id []byte) bool {
	return len(id) >= 1 && len(id) <= MaxID && all(id, inToken)
}

// refuse returns the code and leaves in q only the line's id, for the sender.
func refuse(q *Query, line []byte, code Code) Code {
	*q = Query{ID: LastID(line)}
	return code
}

// LastID returns the value of the last valid id option of a faulty line, nil if there is none. A
// key that looks like an option is not taken for an option.
func LastID(line []byte) (id []byte) {
	words := 1 // that stand before the options
	if _, n := parseOp(line); n > 0 {
		words = 3
	}
	for ; len(line) > 0; words-- {
		var field []byte
		field, line, _ = cut(line, ' ')
		if value, ok := valueOf(field, "id="); ok && words <= 0 && validID(value) {
			id = value
		}
	}
	return id
}

// Validate returns NoError for a query readable for [ParseQuery] from [AppendQuery], else the code
// the daemon would answer. Cost 0 stands for 1. Ping takes nothing but itself.
func (q Query) Validate() Code {
	switch {
	case q.Op == Ping:
		if len(q.Rule)+len(q.Key)+len(q.ID)+len(q.Tier) > 0 || q.Cost > 1 || q.Wait {
			return BadRequest
		}
		return NoError
	case q.Op > Ping, q.Cost > MaxCost,
		len(q.Rule) < 1, len(q.Rule) > MaxRule, !all(q.Rule, inRule),
		len(q.Key) < 1, len(q.ID) > 0 &&
			!validID(q.ID), len(q.Tier) > MaxRule, !all(q.Tier, inRule):
		return BadRequest
	case len(q.Key) > MaxKey:
		return TooLong
	}
	return NoError
}

// ValidRule reports whether name can be the name of a rule.
func ValidRule(name string) bool {
	return len(name) >= 1 && len(name) <= MaxRule && all([]byte(name), inRule)
}

// AppendQuery appends the request line of q without a line feed, the key percent-encoded where
// needed, the cost only if not 1. q is not checked; see [Query.Validate].
func AppendQuery(dst []byte, q Query) []byte {
	dst = append(dst, q.Op.String()...)
	if q.Op == Ping {
		return dst
	}
	dst = append(dst, ' ')
	dst = append(dst, q.Rule...)
	dst = append(dst, ' ')
	dst = appendKey(dst, q.Key)
	if q.Cost > 1 || q.Millionths > 0 {
		dst = q.AppendCost(append(dst, " cost="...))
	}
	if len(q.ID) > 0 {
		dst = append(dst, " id="...)
		dst = append(dst, q.ID...)
	}
	if len(q.Tier) > 0 {
		dst = append(dst, " tier="...)
		dst = append(dst, q.Tier...)
	}
	if q.Wait {
		dst = append(dst, " delay=ok"...)
	}
	return dst
}

// AppendCost appends the cost of q as [ParseCost] reads it.
func (q *Query) AppendCost(dst []byte) []byte {
	if q.Millionths == 0 {
		return appendUint(dst, uint64(q.Cost))
	}
	return AppendDecimal(dst, uint64(q.Cost)*million+uint64(q.Millionths), 6)
}

func appendKey(dst, key []byte) []byte {
	const hex = "0123456789ABCDEF"
	for len(key) > 0 {
		n := span(key, 0, inKey)
		dst = append(dst, key[:n]...)
		if key = key[n:]; len(key) > 0 {
			dst = append(dst, '%', hex[key[0]>>4], hex[key[0]&15])
			key = key[1:]
		}
	}
	return dst
}
