package policy

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// Cost says how much a request counts, in parts of which a unit has ten to the power of Scale:
// Fixed, or the number in a field, at most Max.
type Cost struct {
	Fixed uint32 // 0: Of
	Of    condition.Field
	Max   uint32 // 1..mitigation.MaxCost
	Scale int    // as of the rules asked
	// Of a cost of the response, until the response is known: Estimate, or with 0 the number in
	// EstimateOf.
	Estimate   uint32
	EstimateOf condition.Field
	Estimated  bool // the configuration says so

	number, estimate int // of the fields' headers in the engine's names
}

// DefaultCost is a unit for every request.
func DefaultCost(scale int) Cost { return Cost{Fixed: unit(scale), Scale: scale} }

// unit returns the parts of a unit.
func unit(scale int) uint32 {
	r := mitigation.Rule{Scale: scale}
	return uint32(r.Parts()) // at most MaxCost
}

// ParseCost reads the name of a field holding a number, or where fixed a number: "header.x-cost",
// "response.header.x-tokens", "5".
func ParseCost(text string, scale int, fixed bool) (Cost, error) {
	if fixed && isNumber(text) {
		n, err := CostNumber(text, scale)
		return Cost{Fixed: n, Scale: scale}, err
	}
	c := Cost{Max: mitigation.MaxCost, Scale: scale, Estimate: unit(scale)}
	var err error
	c.Of, err = costField(text, "query.", "header.", "response.header.")
	return c, err
}

// CostNumber reads a cost in units, and returns the parts; the rest of a part counts as a whole.
func CostNumber(text string, scale int) (parts uint32, err error) {
	n, exact, ok := wire.ParseDecimal([]byte(text), scale)
	if !ok || n < 1 || n > mitigation.MaxCost || scale == 0 && !exact {
		return 0, fmt.Errorf("must be %s to %s, not %.64s", wire.AppendDecimal(nil, 1, scale),
			wire.AppendDecimal(nil, mitigation.MaxCost, scale), text)
	}
	return uint32(n), nil // within the bound
}

// SetEstimate reads the cost until the response is known: a number, or the name of a field of the
// request.
func (c *Cost) SetEstimate(text string) (err error) {
	if !c.later() {
		return errors.New("is for a cost of the response, which is not known before")
	}
	if c.Estimate, c.Estimated = 0, true; isNumber(text) {
		c.Estimate, err = CostNumber(text, c.Scale)
		return err
	}
	c.EstimateOf, err = costField(text, "query.", "header.")
	return err
}

// costField reads the name of a field whose number is a cost. Fields with numbers somebody means:
// no path, no address.
func costField(text string, families ...string) (condition.Field, error) {
	for _, family := range families {
		if strings.HasPrefix(text, family) {
			return condition.ParseField(text) //nolint:wrapcheck // the caller names the place
		}
	}
	last := len(families) - 1
	return condition.Field{}, fmt.Errorf("must be a number, or %sNAME or %sNAME, not %.64q",
		strings.Join(families[:last], "NAME, "), families[last], text)
}

// later reports whether the cost is known only after the response.
func (c *Cost) later() bool { return c.Fixed == 0 && c.Of.OfResponse() }

// Units returns a cost in units, for people to read.
func (c *Cost) Units(parts uint32) float64 {
	return float64(parts) / float64(unit(c.Scale))
}

// Later reports whether the cost is known only after the response.
func (c *Cost) Later() bool { return c.later() }

// of returns the cost of r before its response. bad: a visitor wrote no number.
func (c *Cost) of(r *request.Request) (cost uint32, bad bool) {
	switch {
	case c.Fixed > 0:
		return c.Fixed, false
	case !c.later():
		return c.read(&c.Of, c.number, r)
	case c.Estimate > 0:
		return c.Estimate, false
	}
	return c.read(&c.EstimateOf, c.estimate, r)
}

// read returns the cost in a field of r, a unit where the field is absent: a single number is the
// cost, at least the smallest part and at most Max. bad reports any other spelling, or several
// values: then Max, so no spelling makes a request cheaper.
func (c *Cost) read(f *condition.Field, name int, r *request.Request) (cost uint32, bad bool) {
	value, next := f.Lookup(r, name, 0)
	if next < 0 {
		return min(unit(c.Scale), c.Max), false
	}
	n, ok := c.parts(value)
	if _, more := f.Lookup(r, name, next); !ok || more >= 0 {
		return c.Max, true
	}
	return uint32(min(max(n, 1), uint64(c.Max))), false // within the bound
}

// settled returns the cost that the response in r says, which may be 0; was, or without one the
// estimate, where it says none. bad: it says no number, or one above Max.
func (c *Cost) settled(r *request.Request, was uint64) (cost uint32, bad bool) {
	if !c.later() {
		return c.of(r)
	}
	value, next := c.Of.Lookup(r, c.number, 0)
	n, ok := c.parts(value)
	if next < 0 || !ok {
		return cmp.Or(uint32(was), c.Estimate, unit(c.Scale)), next >= 0 // a cost
	}
	return uint32(min(n, uint64(c.Max))), n > uint64(c.Max) // within the bound
}

// parts reads a number: of 1 to 20 digits without a Scale, where a large number is
// mitigation.MaxCost and 1 more.
func (c *Cost) parts(text []byte) (n uint64, ok bool) {
	if c.Scale > 0 {
		n, _, ok = wire.ParseDecimal(text, c.Scale)
		return n, ok
	}
	for _, digit := range text {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		n = min(n*10+uint64(digit-'0'), mitigation.MaxCost+1)
	}
	return n, len(text) > 0 && len(text) <= 20
}
