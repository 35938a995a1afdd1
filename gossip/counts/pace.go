package counts

import "math"

// Step returns how many admissions of a key a node keeps unsent: 1 while less than two per node are
// left of the limit, else half of the node's even part of the rest. All nodes together then never
// admit more than is left, but for what is under way.
func Step(left int64, nodes int) int64 { return max(1, left/int64(2*max(nodes, 1))) }

// Pressure raises the steps of all keys while the budget does not carry them. With a_k admissions a
// second and a limit of l_k, a key's share of the bytes is a_k/step_k and the part of its limit
// others do not know is step_k/l_k; the sum of the parts is least, for given bytes, with
//
//	step_k = factor·√(a_k·l_k)
type Pressure struct{ factor float64 }

const (
	firstFactor = 0.05
	mostFactor  = 1e4
	raise       = 1.15
	lower       = 0.97
)

// Adjust moves the factor, once every tenth of a second: up while keys wait for longer than a
// second, else down.
func (p *Pressure) Adjust(late bool) {
	switch {
	case late:
		p.factor = min(max(p.factor*raise, firstFactor), mostFactor)
	case p.factor > firstFactor:
		p.factor *= lower
	default:
		p.factor = 0
	}
}

// Factor returns the factor, 0 for none.
func (p *Pressure) Factor() float64 { return p.factor }

// Step returns the step of a key, at least its Step without pressure, and at most a quarter of the
// limit.
func (p *Pressure) Step(step int64, admitted float64, limit int64) int64 {
	more := p.factor * math.Sqrt(max(admitted, 0)*float64(limit))
	return max(step, int64(min(more, float64(limit)/4)))
}
