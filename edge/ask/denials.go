package ask

import "github.com/headgate-dev/headgate/mitigation"

// The reasons for which a policy's requests are denied: reasons of rules by number, then reasons
// without rules.
const (
	byLoad   = mitigation.Reasons + iota // a pool is busy
	byPolicy                             // the policy says deny
	reasons
)

// Denials are denied requests by reason. Index 0 stays zero. An array rather than a map: copied out
// of counters requests add to.
type Denials [reasons]uint64

// Total returns the denials for any reason.
func (d *Denials) Total() (n uint64) {
	for _, one := range d {
		n += one
	}
	return n
}

// ByReason calls each with every reason's name, as in why of answers, and the denials.
func (d *Denials) ByReason(each func(why string, denied uint64)) {
	for i, n := range d {
		switch i {
		case 0:
		case byLoad:
			each("load", n)
		case byPolicy:
			each("policy", n)
		default:
			each(mitigation.Why(i).String(), n)
		}
	}
}

// denials returns the tally's denials.
func (t *Tally) denials() (d Denials) {
	for i := range t.Denied {
		d[i] = t.Denied[i].Load()
	}
	return d
}
