package policy

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
)

// Cost says how much a request counts: Fixed, or the number in a field, at most Max.
type Cost struct {
	Fixed  uint32 // 0: Of
	Of     condition.Field
	Max    uint32 // 1..mitigation.MaxCost
	number int    // of the field's header in the engine's names
}

// DefaultCost is 1 for every request.
func DefaultCost() Cost { return Cost{Fixed: 1} }

// ParseCost reads a number, or the name of a field holding a number. "5", "header.x-cost",
// "response.header.x-tokens".
func ParseCost(text string) (Cost, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n < 1 || n > mitigation.MaxCost {
			return Cost{}, fmt.Errorf("must be 1 to %d, not %.64s", mitigation.MaxCost, text)
		}
		return Cost{Fixed: uint32(n)}, nil // within the bound
	}
	return CostOf(text, mitigation.MaxCost)
}

// CostOf reads the name of a field whose number is the cost, at most limit. Fields with numbers
// somebody means: no path, no address.
func CostOf(text string, limit uint32) (Cost, error) {
	for _, family := range []string{"query.", "header.", "response.header."} {
		if strings.HasPrefix(text, family) {
			field, err := condition.ParseField(text)
			return Cost{Of: field, Max: limit, number: -1}, err
		}
	}
	return Cost{}, fmt.Errorf("must be a number, or query.NAME, header.NAME or "+
		"response.header.NAME, not %.64q", text)
}

// later reports whether the cost is known only after the response.
func (c *Cost) later() bool { return c.Fixed == 0 && c.Of.OfResponse() }

// Later reports whether the cost is known only after the response.
func (c *Cost) Later() bool { return c.later() }

// of returns the cost of r, 1 where the field is absent: a single value of 1 to 20 digits is the
// number, 0 is 1, and more than Max is Max. bad reports any other spelling, or several values, of a
// field a visitor writes: else Max, so no spelling makes a request cheaper. Of a response, written
// by the site, the cost is 1.
func (c *Cost) of(r *request.Request) (cost uint32, bad bool) {
	if c.Fixed > 0 {
		return c.Fixed, false
	}
	value, next := c.Of.Lookup(r, c.number, 0)
	if next < 0 {
		return 1, false
	}
	n, ok := number(value)
	if _, more := c.Of.Lookup(r, c.number, next); ok && (more < 0 || c.later()) {
		return uint32(min(max(n, 1), uint64(c.Max))), false // within the bound
	}
	if c.later() {
		return 1, false
	}
	return c.Max, true
}

// number reads a number of 1 to 20 digits; a large number is mitigation.MaxCost, which no cost
// exceeds.
func number(text []byte) (n uint64, ok bool) {
	for _, digit := range text {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		n = min(n*10+uint64(digit-'0'), mitigation.MaxCost)
	}
	return n, len(text) > 0 && len(text) <= 20
}
