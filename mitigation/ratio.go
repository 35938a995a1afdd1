package mitigation

// Ratio is a drop ratio in units of 2^-32: the share of offered requests to refuse. As an integer
// against random bits it is exact on every machine. "All of them" is the action block instead.
type Ratio uint32

// MaxRatio is the greatest drop ratio.
const MaxRatio = ^Ratio(0)

// RatioFor returns max(0, 1 - limit/offered), the ratio that lets about limit of offered through.
func RatioFor(offered, limit float64) Ratio {
	if offered <= limit || limit < 0 {
		return 0
	}
	return Ratio(min((1-limit/offered)*(1<<32), float64(MaxRatio)))
}

// Float returns r as a share, 0..1.
func (r Ratio) Float() float64 { return float64(r) / (1 << 32) }

// Drops reports whether to refuse a request with the 64 random bits u. The bits are drawn for each
// request and never derived from its key, so no client is favoured.
func (r Ratio) Drops(u uint64) bool { return uint32(u>>32) < uint32(r) } // the high half

// Sticky returns the bits deciding on all requests with the same part, such as a client, in an
// epoch: part is its keyed hash. They are as good as random from part to part, and from epoch to
// epoch of a part: a step of splitmix64 an epoch.
func Sticky(part uint64, epoch int64) uint64 {
	z := part + uint64(epoch)*0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}
