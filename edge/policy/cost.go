package policy

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
)

// Cost says how much one request counts: Fixed, or the number in a field, at most Max.
type Cost struct {
	Fixed  uint32 // 0: Of
	Of     condition.Field
	Max    uint32
	number int // of the field's header in the engine's names
}

// DefaultCost is 1 for every request.
func DefaultCost() Cost { return Cost{Fixed: 1} }

// ParseCost reads a number, or the name of a field that holds one.
// "5", "header.x-cost", "response.header.x-tokens".
func ParseCost(text string) (Cost, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n < 1 || n > mitigation.MaxCost {
			return Cost{}, fmt.Errorf("must be 1 to %d, not %.64s", mitigation.MaxCost, text)
		}
		return Cost{Fixed: uint32(n)}, nil // within the bound
	}
	return CostOf(text, mitigation.MaxCost)
}

// CostOf reads the name of a field whose number is the cost, at most limit.
// Fields that can hold a number that somebody means: no path, no address.
func CostOf(text string, limit uint32) (Cost, error) {
	for _, family := range []string{"query.", "header.", "response.header."} {
		if strings.HasPrefix(text, family) {
			field, err := condition.ParseField(text)
			return Cost{Of: field, Max: limit, number: -1}, err
		}
	}
	return Cost{}, fmt.Errorf("must be a number, or query.NAME, header.NAME or response.header.NAME, not %.64q", text)
}

// later reports whether the cost is known only after the response.
func (c *Cost) later() bool { return c.Fixed == 0 && c.Of.OfResponse() }

// Later reports whether the cost is known only after the response.
func (c *Cost) Later() bool { return c.later() }

// of returns the cost of r. bad reports a field that is there and holds no number: it costs 1.
// Digits alone, no sign: "10" is 10, "1e3" and "-1" are bad and cost 1, "0" costs 1, and 20 digits are as much as
// Max, with no overflow on the way.
func (c *Cost) of(r *request.Request) (cost uint32, bad bool) {
	if c.Fixed > 0 {
		return c.Fixed, false
	}
	value, next := c.Of.Lookup(r, c.number, 0)
	if next < 0 {
		return 1, false
	}
	var n uint64
	for _, digit := range value {
		if digit < '0' || digit > '9' {
			return 1, true
		}
		n = min(n*10+uint64(digit-'0'), mitigation.MaxCost)
	}
	return uint32(min(max(n, 1), uint64(c.Max))), len(value) == 0 // within the bound
}
