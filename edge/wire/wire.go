package wire

// The bounds of the protocol. A value beyond a bound is refused, never cut.
const (
	MaxDatagram = 8192      // bytes of a datagram, line feeds included
	MaxLines    = 64        // request lines of a datagram
	MaxCost     = 1_000_000 // the greatest cost a request may have; the least is 1
	MaxKey      = 256       // bytes of a key after decoding; the least is 1
	MaxRule     = 64        // bytes of a rule's name; the least is 1
	MaxID       = 32        // bytes of a request id; the least is 1
)

// Op is the operation a request line asks for.
type Op uint8

// The operations of the protocol.
const (
	Check Op = iota // count and decide
	Peek            // decide without counting
	Count           // count without deciding
	Ping            // answer pong
)

// Query is a request line. The result of [ParseQuery] lies in the caller's buffer: it lives as long
// as that buffer is left alone.
type Query struct {
	Op   Op
	Wait bool   // the sender can wait before it lets the request pass: delay=ok
	Cost uint32 // 1..MaxCost; [AppendQuery] takes 0 for 1
	// Millionths stand behind the point of Cost: see [ParseCost]; 0: there is none.
	Millionths uint32
	Rule       []byte // 1..MaxRule of A-Z a-z 0-9 _ . -
	Key        []byte // decoded, 1..MaxKey bytes of any value
	ID         []byte // 1..MaxID token characters of RFC 9110, section 5.6.2; nil: none
	Tier       []byte // of the request, for rules keeping a part of their limit for some; nil: none
}

// Status is the first word of a reply.
type Status uint8

// The statuses of a reply.
const (
	Allow Status = iota // to check and peek: let it pass
	Deny                // to check and peek: refuse it
	OK                  // to count: counted
	Pong                // to ping
	Error               // to a line that could not be answered; see Code
)

// Code is the fault of a request line. As an error a Code can be asked for: errors.Is(err,
// wire.UnknownRule).
type Code uint8

// The error codes; NoError is the zero value.
const (
	NoError      Code = iota
	BadRequest        // the line does not follow the grammar
	UnknownRule       // the line is well formed, but no rule has this name
	TooLong           // the key, the line or the datagram is over its bound
	UnknownField      // an ask or a report names a field this version does not know
	UnknownPool       // the line is well formed, but no pool has this name
	Full              // there is no room for what the line asks for
	Internal          // the daemon has a fault of its own: nothing is known of what was counted
)

// Why is the ground on which a request was refused.
type Why uint8

// The grounds of a refusal, in the order of trial.
const (
	NoWhy      Why = iota
	WhyBlock       // a block flag, set by the rule or by hand
	WhyShed        // a drop ratio, drawn for this request
	WhyLimit       // the admitted count and this cost would pass the limit
	WhyReserve     // the rest of the limit is kept for other tiers
	WhyPending     // what is left of the limit is taken by requests whose responses are not known
	WhyCost        // the cost is above the limit: the same request never passes
)

// View is the knowledge behind a decision.
type View uint8

// The views, from narrow to wide.
const (
	ViewNode   View = iota // counts of this node
	ViewPoP                // counts of all nodes of the PoP
	ViewGlobal             // counts of all PoPs
)

// Answer is a reply line. Read back from a line cut short ([AppendAnswerMax]), missing fields are
// zero.
type Answer struct {
	Status    Status
	Code      Code
	Why       Why
	View      View
	Shadow    bool  // an allow where a shadow rule would have refused
	Remaining int64 // cost left in the trailing window; below 0 is written as 0
	Scale     int   // to write, Remaining is in parts: a unit has ten to the power of Scale
	// read: of a unit, beside Remaining
	Millionths uint32
	Reset      uint32  // whole seconds until more quota, rounded up
	Retry      uint32  // whole seconds, rounded up; 0 on a deny is written as 1
	Ratio      float32 // drop ratio, 0 to 1; 0: none applies
	// of a deny: about how many clients a block would deny, if softened; 0: none
	Blast uint32
	ID    []byte // that of the request; nil: none
	Delay uint32 // of an allow: milliseconds to wait before the request passes, rounded up
}

// Allowed reports whether the request may pass. False for every status but Allow, so of the answers
// holding no verdict as well.
func (a Answer) Allowed() bool { return a.Status == Allow }
