package wire

import "strconv"

// field is a set of the fields a reply may carry.
type field uint8

const (
	remaining field = 1 << iota
	reset
	view
	shadow
	why
	retry
	ratio
	left // remaining, of a denial

	every   field = 1<<iota - 1
	ofAllow       = remaining | reset | view | shadow // of the others an allow has none
)

// leaveOut is the order in which fields go when a reply must be short, the least useful first. Last
// go the two the caller acts on: when a client may come again, and a refusal prevented by shadow.
var leaveOut = [...]field{left, ratio, view, reset, remaining, why, retry, shadow}

// AppendAnswer appends the reply line of a in full, without a line feed:
//
//	[id=ID ]allow[ delay=MS] remaining=N reset=S view=V[ shadow=deny]
//	[id=ID ]deny why=limit retry=S view=V remaining=N
//	[id=ID ]deny why=cost remaining=N view=V
//	[id=ID ]deny why=W retry=S view=V[ ratio=0.83][ blast=140]
//	[id=ID ]ok    [id=ID ]pong    [id=ID ]error CODE
//
// Allocates only for the growth of dst.
func AppendAnswer(dst []byte, a *Answer) []byte { return appendAnswer(dst, a, every) }

// AppendAnswerMax appends a reply line of at most limit bytes, for a listener open to anybody:
// there a reply must not be longer than the request. Fields are left out, the least useful first,
// until it fits. The id and the verdict (with an error's code) always stay: if they alone are too
// long, dst comes back as it was, and false. Else the daemon could be made to send more to a forged
// sender than it receives: an amplifier.
func AppendAnswerMax(dst []byte, a *Answer, limit int) ([]byte, bool) {
	keep := every
	line := appendAnswer(dst, a, keep)
	for i := 0; len(line)-len(dst) > limit; i++ {
		if i == len(leaveOut) {
			return dst, false
		}
		keep &^= leaveOut[i]
		if a.Status == Allow && leaveOut[i]&ofAllow == 0 {
			// The line would be the same again.
			continue
		}
		line = appendAnswer(dst, a, keep)
	}
	return line, true
}

func appendAnswer(dst []byte, a *Answer, keep field) []byte {
	if len(a.ID) > 0 {
		dst = append(dst, "id="...)
		dst = append(dst, a.ID...)
		dst = append(dst, ' ')
	}
	switch a.Status {
	case Allow:
		return appendAllow(dst, a, keep)
	case Deny:
		return appendDeny(dst, a, keep)
	case Error:
		dst = append(dst, "error "...)
		return append(dst, a.Code.String()...)
	}
	return append(dst, a.Status.String()...)
}

// The order of fields is part of the protocol's examples, and no parser may rely on the order.
func appendAllow(dst []byte, a *Answer, keep field) []byte {
	// The commonest beginning is a constant, and rare parts (a delay) are written by a call, so
	// digits take no place in the frame.
	switch {
	case a.Delay > 0: // never left out: the request would pass too early
		dst = strconv.AppendUint(append(dst, "allow delay="...), uint64(a.Delay), 10)
		if keep&remaining != 0 {
			dst = append(dst, " remaining="...)
		}
	case keep&remaining != 0:
		dst = append(dst, "allow remaining="...)
	default:
		dst = append(dst, "allow"...)
	}
	if keep&remaining != 0 {
		dst = appendParts(dst, a)
	}
	if keep&reset != 0 {
		dst = append(dst, " reset="...)
		dst = appendUint(dst, uint64(a.Reset))
	}
	if keep&view != 0 {
		dst = appendView(dst, a.View)
	}
	if keep&shadow != 0 && a.Shadow {
		dst = append(dst, " shadow=deny"...)
	}
	return dst
}

func appendDeny(dst []byte, a *Answer, keep field) []byte {
	dst = append(dst, "deny"...)
	if keep&why != 0 && a.Why != NoWhy {
		dst = appendWhy(dst, a.Why)
	}
	if keep&left != 0 && a.Why == WhyCost {
		dst = appendRemaining(dst, a)
	}
	if keep&retry != 0 && a.Why != WhyCost {
		dst = append(dst, " retry="...)
		// 0 would allow a client just denied to come again at once.
		dst = appendUint(dst, uint64(max(a.Retry, 1)))
	}
	if keep&view != 0 {
		dst = appendView(dst, a.View)
	}
	if keep&ratio != 0 && a.Ratio > 0 {
		dst = appendRatio(dst, a.Ratio)
	}
	if keep&ratio != 0 && a.Blast > 0 {
		dst = strconv.AppendUint(append(dst, " blast="...), uint64(a.Blast), 10)
	}
	if keep&left != 0 && a.Why == WhyLimit {
		dst = appendRemaining(dst, a)
	}
	return dst
}

// appendRemaining appends the largest cost that passes now.
func appendRemaining(dst []byte, a *Answer) []byte {
	return appendParts(append(dst, " remaining="...), a)
}

func appendParts(dst []byte, a *Answer) []byte {
	if a.Scale > 0 {
		return AppendDecimal(dst, uint64(max(a.Remaining, 0)), a.Scale)
	}
	return appendUint(dst, uint64(max(a.Remaining, 0)))
}

// appendView spells the common words out: a constant is stored, not copied.
func appendView(dst []byte, v View) []byte {
	switch v {
	case ViewNode:
		return append(dst, " view=node"...)
	case ViewPoP:
		return append(dst, " view=pop"...)
	}
	dst = append(dst, " view="...)
	return append(dst, v.String()...)
}

// appendWhy spells the common words out, as appendView does.
func appendWhy(dst []byte, w Why) []byte {
	switch w {
	case WhyShed:
		return append(dst, " why=shed"...)
	case WhyLimit:
		return append(dst, " why=limit"...)
	}
	dst = append(dst, " why="...)
	return append(dst, w.String()...)
}

// appendRatio writes two decimals. A ratio below 1 is never written as 1.00, a ratio above 0 never
// as 0.00. 0.996 is written 0.99: 1.00 is a promise of full denial.
func appendRatio(dst []byte, r float32) []byte {
	if r >= 1 {
		return append(dst, " ratio=1.00"...)
	}
	n := min(max(uint8(r*100+0.5), 1), 99)
	return append(append(dst, " ratio=0."...), '0'+n/10, '0'+n%10)
}
