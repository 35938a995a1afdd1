package wire

// The words of the protocol, by value.
var (
	opWords     = [...]string{Check: "check", Peek: "peek", Count: "count", Ping: "ping"}
	statusWords = [...]string{Allow: "allow", Deny: "deny", OK: "ok", Pong: "pong", Error: "error"}
	codeWords   = [...]string{
		NoError: "", BadRequest: "bad-request", UnknownRule: "unknown-rule",
		TooLong: "too-long", UnknownField: "unknown-field", UnknownPool: "unknown-pool",
		Full: "full", Internal: "internal",
	}
	whyWords = [...]string{
		NoWhy: "", WhyBlock: "block", WhyShed: "shed", WhyLimit: "limit",
		WhyReserve: "reserve", WhyPending: "pending", WhyCost: "cost",
	}
	viewWords = [...]string{ViewNode: "node", ViewPoP: "pop", ViewGlobal: "global"}
)

// String returns the protocol's word, "undefined" for an unknown value.
func (o Op) String() string { return word(opWords[:], uint8(o)) }

// String returns the protocol's word, "undefined" for an unknown value.
func (s Status) String() string { return word(statusWords[:], uint8(s)) }

// String returns the protocol's word, "" for NoError, "undefined" for an unknown value.
func (c Code) String() string { return word(codeWords[:], uint8(c)) }

// Error returns the protocol's word, so a code can be wrapped in an error.
func (c Code) Error() string { return c.String() }

// String returns the protocol's word, "" for NoWhy, "undefined" for an unknown value.
func (w Why) String() string { return word(whyWords[:], uint8(w)) }

// String returns the protocol's word, "undefined" for an unknown value.
func (v View) String() string { return word(viewWords[:], uint8(v)) }

func word(words []string, i uint8) string {
	if int(i) >= len(words) {
		return "undefined"
	}
	return words[i]
}

// find returns the index of w among words, and whether present. The empty word, which stands for
// "none", is never found.
func find(words []string, w []byte) (int, bool) {
	if len(w) == 0 {
		return 0, false
	}
	for i, s := range words {
		if s == string(w) {
			return i, true
		}
	}
	return 0, false
}
