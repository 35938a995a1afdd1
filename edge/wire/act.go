package wire

import "bytes"

// ActOp is the operation of a line about places or pools.
type ActOp uint8

// The operations.
const (
	ActAcquire ActOp = iota // take places under a rule of kind concurrency
	ActRelease              // give them back
	ActRenew                // hold them for a lease more
	ActLoad                 // say how busy a pool is
	ActSettle               // correct what was admitted, now that its cost is known
)

// actWords are the first words of the lines, with the space behind. None begins like a question's
// words, so lines of questions, nearly all, pay a single comparison.
var actWords = [...]string{
	ActAcquire: "acquire ", ActRelease: "release ", ActRenew: "renew ",
	ActLoad: "load ", ActSettle: "settle ",
}

// ShareUnit is the unit of Act.Share.
const ShareUnit = 1_000_000

// MaxSource is the most bytes of Act.From.
const MaxSource = 64

// Act is a line of an ActOp. Slices lie in the line. For instance
//
//	acquire uploads 203.0.113.7 cost=2 lease=30
//	release uploads 203.0.113.7 lease=00000000000000ff
//	load db 0.93 from=web-1
//	settle tokens alice delta=-120
type Act struct {
	Op    ActOp
	Rule  []byte // name of a rule, or of a pool
	Key   []byte // 1..MaxKey bytes, decoded; nil for a load
	Cost  uint32 // of an acquire, 1..MaxCost; of a settle, with Millionths, the difference
	For   uint32 // seconds the lease of an acquire is to last; 0: as its rule says
	Lease uint64 // of a release or a renewal; 0: the key's oldest
	Share uint32 // of a load: 0..ShareUnit
	From  []byte // of a load: who says it; nil: the sender
	Tier  []byte // of an acquire; nil: none
	ID    []byte
	// Millionths stand behind the point of Cost: see ParseCost.
	Millionths uint32
	Less       bool // of a settle: the cost was less
}

// IsAct reports whether line begins like a line for ParseAct. "as" is how an ask begins; no other
// of these words has an s there.
func IsAct(line []byte) bool {
	if len(line) > 1 && line[1] == 's' { // an ask, as nearly all are
		return false
	}
	_, n := parseAct(line)
	return n > 0
}

// parseAct returns the operation and the length of the word and the space behind it, or 0.
func parseAct(line []byte) (ActOp, int) {
	for op, word := range actWords {
		if _, ok := valueOf(line, word); ok {
			return ActOp(op), len(word) // below len(actWords)
		}
	}
	return 0, 0
}

// ParseAct parses a line without the line feed, like ParseQuery: the key is decoded in place, and
// with a code other than NoError only the id holds.
func ParseAct(a *Act, line []byte) Code {
	code := parseActTo(a, line)
	if code != NoError {
		*a = Act{ID: LastID(line)}
	}
	return code
}

// The rule and the key stand at fixed places, as in a check; options follow in any order, and
// unknown options are for later versions.
func parseActTo(a *Act, line []byte) Code {
	*a = Act{}
	op, i := parseAct(line)
	end := span(line, i, inRule)
	if n := end - i; i == 0 || n < 1 || n > MaxRule || end == len(line) || line[end] != ' ' {
		return BadRequest
	}
	a.Op, a.Rule = op, line[i:end]
	if i = end + 1; op == ActLoad {
		end = span(line, i, inKey)
		share, ok := parseShare(line[i:end])
		if a.Share = share; !ok {
			return BadRequest
		}
	} else {
		n, after := decodeKey(line, i, span(line, i, inKey))
		switch end = after; {
		case n == 0:
			return BadRequest
		case n > MaxKey:
			return TooLong
		}
		a.Key = line[i : i+n]
	}
	for rest := line[end:]; len(rest) > 0; rest = rest[end:] {
		end = span(rest, 1, inWord)
		if rest[0] != ' ' || end == 1 || !a.option(rest[1:end]) {
			return BadRequest
		}
	}
	if a.Cost|a.Millionths == 0 {
		if a.Cost = 1; op == ActSettle {
			return BadRequest
		}
	}
	return NoError
}

// option reports whether the option is right or unknown.
// lease= means seconds in an acquire and the number of a lease elsewhere.
func (a *Act) option(option []byte) bool {
	if value, ok := valueOf(option, "id="); ok {
		a.ID = value
		return validID(value)
	}
	if value, ok := valueOf(option, "cost="); ok && a.Op == ActAcquire {
		a.Cost, a.Millionths, ok = ParseCost(value)
		return ok
	}
	if value, ok := valueOf(option, "lease="); ok && a.Op == ActAcquire {
		n, ok := parseUint(value, 1<<31)
		a.For = uint32(n)
		return ok && n > 0
	}
	if value, ok := valueOf(option, "lease="); ok && a.Op != ActLoad {
		a.Lease, ok = parseTicket(value)
		return ok
	}
	if value, ok := valueOf(option, "delta="); ok && a.Op == ActSettle {
		a.Less, a.Cost, a.Millionths, ok = ParseDelta(value)
		return ok
	}
	if value, ok := valueOf(option, "tier="); ok {
		a.Tier = value
		return len(value) <= MaxRule && all(value, inRule)
	}
	if value, ok := valueOf(option, "from="); ok && a.Op == ActLoad {
		n, end := decodeKey(value, 0, span(value, 0, inKey))
		a.From = value[:n]
		return end == len(value) && n > 0 && n <= MaxSource
	}
	return true
}

// ParseDelta reads a difference of cost, as ParseCost reads a cost, with a sign, of which + may be
// left out: +120, 120 and -120. 0 would settle nothing and is a mistake.
func ParseDelta(b []byte) (less bool, units, millionths uint32, ok bool) {
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		less, b = b[0] == '-', b[1:]
	}
	units, millionths, ok = ParseCost(b)
	return less, units, millionths, ok
}

// parseShare reads 0 to 1 in decimal digits, in units of ShareUnit; further digits are cut.
// Without floating point: 0.93 is 930000 on every machine. 1.0 is the most, 1.01 a fault.
func parseShare(b []byte) (uint32, bool) {
	whole, part, point := cut(b, '.')
	if !isDecimal(b) || point && len(part) == 0 || len(whole) > 1 {
		return 0, false
	}
	n, unit := uint32(whole[0]-'0')*ShareUnit, uint32(ShareUnit)
	for _, c := range part {
		unit /= 10
		n += uint32(c-'0') * unit
	}
	return n, n <= ShareUnit && (whole[0] != '1' || len(bytes.Trim(part, "0")) == 0)
}

// ParseShare reads the share of a load line.
func ParseShare(b []byte) (uint32, bool) { return parseShare(b) }
