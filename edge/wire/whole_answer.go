package wire

// WholeAnswer is the reply to an ask or a report.
type WholeAnswer struct {
	Answer
	Ground []byte // in place of Why, of an allow too: none, skip, shadow, policy; nil: Why
	Rule   []byte // that answers; nil: none
	Ticket uint64 // 0: none
	HTTP   int    // status for a denial that is not 429; 0: leave it out
	// to a report, a release or a renewal: the ticket or lease is unknown, used or too old
	Late  bool
	Lease uint64 // that an acquire took; 0: none
	Pool  []byte // that denies; nil: none
	Full  bool   // no lease was left, so the failure mode decided

	Silent  bool // no rule and no numbers are named
	Deceive bool // to an allow: the sender is to do nothing, and to answer as if all were well
}

// AppendWhole appends the reply line of a in full, without a line feed:
//
//	[id=ID ]allow [delay=MS ][deceive=1 ][why=none|skip ][lease=L ][full=1 ][ticket=T ]rule=R remaining=N reset=S view=V[ shadow=deny]
//	[id=ID ]allow [delay=MS ]why=shadow [full=1 ][ticket=T ]view=V[ shadow=deny]
//	[id=ID ]deny why=W[ status=403] retry=1 rule=R view=V[ ratio=0.83]
//	[id=ID ]deny why=load status=503 retry=1 pool=P ratio=0.30
//	[id=ID ]ok[ late=1]
func AppendWhole(dst []byte, a *WholeAnswer) []byte { return appendWhole(dst, a, 0) }

// AppendWholeMax appends a reply line of at most limit bytes; see AppendAnswerMax. The ticket goes
// last.
func AppendWholeMax(dst []byte, a *WholeAnswer, limit int) ([]byte, bool) {
	// wholeLeaveOut is the number of forms AppendWholeMax tries: each leaves out more.
	for form := range 4 {
		line := appendWhole(dst, a, form)
		if len(line)-len(dst) <= limit {
			return line, true
		}
	}
	return dst, false
}

// appendWhole appends a in a form: 0 full, 1 without numbers, 2 the verdict and the ticket, 3 the
// verdict. Each form drops what the sender can do without: the ticket goes after the numbers, since
// without a ticket the response cannot be reported.
func appendWhole(dst []byte, a *WholeAnswer, form int) []byte {
	if a.Status == Error {
		return appendAnswer(dst, &a.Answer, every)
	}
	if len(a.ID) > 0 {
		dst = append(append(append(dst, "id="...), a.ID...), ' ')
	}
	dst = append(dst, a.Status.String()...)
	if a.Status == OK {
		if a.Late && form < 3 {
			dst = append(dst, " late=1"...)
		}
		return dst
	}
	// Never left out: without delay the request would pass too early, or a deceived request in
	// earnest.
	if a.Delay > 0 && a.Status == Allow {
		dst = appendUint(append(dst, " delay="...), uint64(a.Delay))
	}
	if a.Deceive {
		dst = append(dst, " deceive=1"...)
	}
	if a.Silent {
		return appendSilent(dst, a, form)
	}
	if form < 2 {
		dst = appendGround(dst, a)
	}
	if a.Lease != 0 && form < 3 {
		dst = AppendTicket(append(dst, " lease="...), a.Lease)
	}
	if a.Full && form < 3 {
		dst = append(dst, " full=1"...)
	}
	if a.Ticket != 0 && form < 3 {
		dst = AppendTicket(append(dst, " ticket="...), a.Ticket)
	}
	return appendTail(dst, a, form)
}

// appendTail appends the words coming last.
func appendTail(dst []byte, a *WholeAnswer, form int) []byte {
	if a.Status == Deny && a.Ground == nil && a.Why == WhyCost && form < 1 {
		dst = appendRemaining(dst, &a.Answer)
	}
	if a.Status == Deny && a.Why != WhyCost && (a.Ground == nil || a.Retry > 0) && form < 3 {
		dst = appendUint(append(dst, " retry="...), uint64(max(a.Retry, 1)))
	}
	if form < 2 && len(a.Rule) > 0 {
		dst = append(append(dst, " rule="...), a.Rule...)
	}
	if form < 2 && len(a.Pool) > 0 {
		dst = append(append(dst, " pool="...), a.Pool...)
	}
	switch {
	case form < 1 && a.Ground == nil:
		dst = appendNumbers(dst, &a.Answer)
	case form < 1 && string(a.Ground) == "shadow":
		dst = appendView(dst, a.View)
	case form < 1 && a.Ratio > 0:
		dst = appendRatio(dst, a.Ratio)
	}
	if a.Shadow && a.Status == Allow && form < 3 {
		dst = append(dst, " shadow=deny"...)
	}
	return dst
}

// appendGround appends why, and the status of a denial with a status.
func appendGround(dst []byte, a *WholeAnswer) []byte {
	switch {
	case a.Ground != nil:
		dst = append(append(dst, " why="...), a.Ground...)
	case a.Status == Deny && a.Why != NoWhy:
		dst = append(append(dst, " why="...), a.Why.String()...)
	}
	if a.Status == Deny && a.HTTP != 0 {
		dst = appendUint(append(dst, " status="...), uint64(a.HTTP)) // a status
	}
	return dst
}

// appendNumbers appends the fields standing for the count.
func appendNumbers(dst []byte, a *Answer) []byte {
	if a.Status == Allow {
		dst = appendRemaining(dst, a)
		dst = appendUint(append(dst, " reset="...), uint64(a.Reset))
	}
	dst = appendView(dst, a.View)
	if a.Status == Deny && a.Ratio > 0 {
		dst = appendRatio(dst, a.Ratio)
	}
	if a.Status == Deny && a.Blast > 0 {
		dst = appendUint(append(dst, " blast="...), uint64(a.Blast))
	}
	if a.Status == Deny && a.Why == WhyLimit {
		dst = appendRemaining(dst, a)
	}
	return dst
}

// appendSilent appends what an answer that names no rule and no numbers says behind its verdict.
// The reason stays: it says to the proxy's log why, and neither the limit nor how much of it is
// left.
func appendSilent(dst []byte, a *WholeAnswer, form int) []byte {
	if a.Status == Deny && form < 2 {
		why := a.Ground
		if why == nil {
			why = []byte(a.Why.String())
		}
		dst = append(append(dst, " why="...), why...)
		if a.HTTP != 0 {
			dst = appendUint(append(dst, " status="...), uint64(a.HTTP)) // 400..599
		}
	}
	if a.Ticket != 0 && form < 3 {
		dst = AppendTicket(append(dst, " ticket="...), a.Ticket)
	}
	return dst
}
