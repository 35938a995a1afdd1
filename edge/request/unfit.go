package request

// Unfit says that a request is longer, or has more parts, than is read; 0: it is fit.
// The visitor chooses to be unfit. So an unfit request is denied, and not let through as a fault is.
type Unfit uint8

// The kinds of unfit requests.
const (
	UnfitTarget  Unfit = 1 + iota // the target: 414
	UnfitHeaders                  // headers, parameters or cookies that policies look at: 431
)
