package wire

// Op is what a request line asks for.
type Op uint8

// The operations of the protocol.
const (
	Check Op = iota // count and decide
	Peek            // decide without counting
	Count           // count without deciding
	Ping            // answer pong
)

// Query is one parsed request line. Its slices lie in the caller's buffer.
type Query struct {
	Op   Op
	Cost uint32 // 1..MaxCost
	Rule []byte
	Key  []byte // decoded, 1..256 bytes
	ID   []byte // nil: none
}

// Status is the first word of a reply.
type Status uint8

// The statuses of a reply.
const (
	Allow Status = iota
	Deny
	OK
	Pong
	Error
)

// Code says what was wrong with a request line.
type Code uint8

// The error codes; NoError is the zero value.
const (
	NoError Code = iota
	BadRequest
	UnknownRule
	TooLong
)

// Why says on what ground a request was refused.
type Why uint8

// The grounds of a refusal, in the order they are tried.
const (
	NoWhy Why = iota
	WhyBlock
	WhyShed
	WhyLimit
)

// View says on what knowledge a decision rests.
type View uint8

// The views, from narrow to wide.
const (
	ViewNode View = iota
	ViewPoP
	ViewGlobal
)

// Answer is one reply line.
type Answer struct {
	Status    Status
	Code      Code
	Why       Why
	View      View
	Shadow    bool // an allow where a shadow rule would have refused
	Remaining int64
	Reset     uint32  // whole seconds until more quota, rounded up
	Retry     uint32  // whole seconds, rounded up, never 0 on deny
	Ratio     float32 // drop ratio, 0: none applies
	ID        []byte
}
