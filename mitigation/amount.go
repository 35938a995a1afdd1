package mitigation

// MaxScale is the greatest Scale of a rule.
const MaxScale = 6

const million = 1_000_000

var unitParts = [MaxScale + 1]int64{1, 10, 100, 1000, 10_000, 100_000, million}

// Parts returns of how many of r's smallest parts a unit is made.
func (r *Rule) Parts() int64 { return unitParts[r.Scale] }

// PartsOf returns a cost of whole units and millionths of a unit in r's smallest parts, rounded
// up and at most MaxCost; without both a unit. ok: the cost is no more, and has millionths only
// where r has parts.
func (r *Rule) PartsOf(units, millionths uint32) (parts uint32, ok bool) {
	n := (int64(units)*million + int64(millionths)) * r.Parts()
	n = (max(n, 1) + million - 1) / million
	if units|millionths == 0 {
		n = r.Parts()
	}
	return uint32(min(n, MaxCost)), n <= MaxCost && (millionths == 0 || r.Scale > 0)
}

// Units returns smallest parts of r in units, for people and programs to read: nothing is counted
// so. Up to 15 digits are exact.
func (r *Rule) Units(parts int64) float64 { return float64(parts) / float64(r.Parts()) }
