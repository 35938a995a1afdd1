package request

// Unfit says that a request is longer, or has more parts, than is read; 0: it is fit.
// The visitor chooses to be unfit. So an unfit request is denied, and not let through as a fault
// is.
type Unfit uint8

// The kinds of unfit requests.
const (
	UnfitTarget  Unfit = 1 + iota // the target: 414
	UnfitHeaders                  // headers, parameters or cookies policies look at: 431

	UnfitKinds = 1 + iota // one more than the last
)

// Status returns the HTTP status saying so.
func (u Unfit) Status() int {
	if u == UnfitTarget {
		return 414
	}
	return 431
}

// unfit notes the first thing for which the request is unfit.
func (r *Request) unfit(is Unfit) {
	if r.Unfit == 0 {
		r.Unfit = is
	}
}
