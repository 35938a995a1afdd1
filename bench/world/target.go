package main

import "math"

// target is a line of the table: a figure, its value in the simple model, and its required range.
// The simple model is an earlier simulation with exact totals, in which requests are shed by the
// ratio alone.
type target struct {
	name string
	// label is the text of the line.
	label string
	// row is the number of the requirement, as the table shows it; 0 for none.
	row int
	// least is the lower end of the required range,
	least float64
	// most its upper end,
	most float64
	// fast the upper end with a flush of 50 ms; 0 for the same.
	fast float64
	// large the upper end with 1,000 nodes; 0 for the same.
	large float64
	// sim is the simple model's value with 3, 10, 100 and 1000 nodes; 0 if it was not simulated.
	sim [4]float64
	// nFrom is the smallest number of PoPs for which the range is required.
	nFrom int
	// digits is the number of decimals to show.
	digits int
}

// noise is the highest rate of one second of a Poisson stream at the limit, in limits: 1 + 3.5·σ.
// Chance alone has a second above 3.5 σ in one minute of 70: 60 times 2.3e-4.
var noise = 1 + 3.5/math.Sqrt(float64(perSecond.Limit))

// targets are the lines of the table.
// Those without a row are shown and not demanded: they show how a change moved figures that no
// requirement names.
var targets = []target{
	{name: "step settled", label: "step 0.5 to 5 L: within 5 % after, s", row: 1, most: 0.4, fast: 0.25, sim: [4]float64{.16, .24, .30, .35}, digits: 2},
	{name: "step excess", label: "peak excess, limit-seconds", row: 2, most: 0.36 * (flood - 1), fast: 0.25 * (flood - 1), sim: [4]float64{.57, .86, 1.09, 1.26}, digits: 2},
	{name: "step worst", label: "worst trailing second, of the floor", row: 2, most: 1.30, digits: 3},
	{name: "step mean", label: "mean of seconds 2 to 11, L", digits: 3},
	{name: "step next 10 s", label: "mean of the next 10 s, L", row: 2, most: 1.01, digits: 3},
	{name: "steady mean", label: "steady at 5 L: mean of a minute, L", row: 3, least: 0.985, most: 1.005, digits: 3},
	{name: "steady worst", label: "worst second, L", row: 3, most: noise, digits: 3},
	{name: "loss excess", label: "5 % of packets lost: peak excess", sim: [4]float64{}, digits: 2},
	{name: "loss steady mean", label: "mean of a minute, L", row: 3, least: 0.985, most: 1.005, digits: 3},
	{name: "loss steady worst", label: "worst second, L", row: 3, most: noise, digits: 3},
	{name: "dropped at 0.90", label: "dropped at 0.90 L, share", row: 4, most: math.SmallestNonzeroFloat64, digits: 5},
	{name: "dropped at 0.98", label: "dropped at 0.98 L, share", row: 4, most: 2e-4, sim: [4]float64{2e-5, 1e-5, 4e-5, 0}, digits: 5},
	{name: "jain", label: "fairness requests: Jain over PoPs after the step", row: 5, least: 0.9995, most: 1, digits: 4},
	{name: "nodes excess", label: "owner + 20 % die: peak excess", row: 6, most: 0.1, sim: [4]float64{.04, .02, .05, .04}, digits: 2},
	{name: "nodes bin", label: "worst second, L", digits: 3},
	{name: "partition mean", label: "half/half 25 s: mean, L", row: 7, most: 1.03, sim: [4]float64{1.23, .99, 1.00, 1.00}, nFrom: 5, digits: 3},
	{name: "partition bin", label: "worst second until 22 s after heal, L", row: 7, most: 1.10, nFrom: 5, digits: 3},
	{name: "heal mean", label: "mean of 22 s after heal, L", digits: 3},
	{name: "bytes mean", label: "one hot key: sent, B/s/node", row: 9, most: 500, sim: [4]float64{339, 349, 296, 251}},
	{name: "bytes most", label: "busiest node: sent and heard, B/s"},
	{name: "bytes at 0.90", label: "one key at 0.90 L: sent, B/s/node"},
	{name: "ring bin", label: "ring dead in half the PoPs: worst second, L", row: 10, most: 1.07, sim: [4]float64{1.02, 1.02, 1.03, 1.03}, digits: 3},
	{name: "ring mean", label: "mean of the 20 s, L", digits: 3},
	{name: "ring bytes most", label: "busiest node: sent and heard, B/s"},
	{name: "count worst", label: "600 per 60 s at 20x: worst 60 s, limits", row: 11, most: 1.10, large: 1.15, digits: 3},
	{name: "count later", label: "worst 60 s beginning after the first, limits", digits: 3},
	{name: "count mean", label: "mean, limits", digits: 3},
	{name: "count dropped", label: "dropped at 0.9 of it, share", digits: 5},
	{name: "release", label: "back to 0.5 L: dropped in 5 s, share", sim: [4]float64{.040, .050, .060, .065}, digits: 3},
	{name: "moving bin", label: "5 L moves each 5 s: worst second, L", sim: [4]float64{1.15, 1.37, 1.30, 1.49}, digits: 2},
	{name: "group bin", label: "to the next quarter: worst second, L", sim: [4]float64{1.31, 1.91, 1.94, 2.19}, digits: 2},
	{name: "group mean", label: "mean, L", digits: 3},
	{name: "pulse mean", label: "5 L a second, 0.3 L a second: mean (0.65), L", sim: [4]float64{.85, .97, .98, 1.00}, digits: 2},
	{name: "pulse bin", label: "worst second, L", sim: [4]float64{1.5, 1.7, 1.9, 2.1}, digits: 2},
	{name: "hidden mean", label: "hidden overload: mean, L", most: 1.02, row: 3, digits: 3},
	{name: "hidden worst", label: "worst second, L", digits: 3},
	{name: "four first", label: "4 nodes of a PoP, 10,000/s, 0.5 to 5 L: second 1, L", row: 12, most: 1.06, digits: 3},
	{name: "four second", label: "second 2, L", row: 12, least: 0.98, most: 1.03, digits: 3},
	{name: "four mean", label: "mean of seconds 2 to 11, L", row: 12, least: 0.99, most: 1.01, digits: 3},
	{name: "three first", label: "80/15/5, 10,000/s, 0.5 to 5 L: second 1, L", row: 12, most: 1.25, digits: 3},
	{name: "three second", label: "second 2, L", row: 12, least: 0.96, most: 1.02, digits: 3},
	{name: "three third", label: "second 3, L", row: 12, least: 0.96, most: 1.02, digits: 3},
	{name: "three mean", label: "mean of seconds 2 to 11, L", row: 12, least: 0.98, most: 1.01, digits: 3},
	{name: "three worst", label: "worst trailing second, of the floor", row: 12, most: 1.10, digits: 3},
	{name: "three later", label: "worst sliding second from the second one on, L", digits: 3},
	{name: "three counts first", label: "80/15/5, 1,000/s, 0.5 to 5 L: second 1, L", row: 12, most: 1.25, digits: 3},
	{name: "three counts second", label: "second 2, L", row: 12, least: 0.96, most: 1.02, digits: 3},
	{name: "three counts third", label: "second 3, L", row: 12, least: 0.96, most: 1.02, digits: 3},
	{name: "three counts mean", label: "mean of seconds 2 to 11, L", row: 12, least: 0.98, most: 1.01, digits: 3},
	{name: "three counts worst", label: "worst trailing second, of the floor", row: 12, most: 1.10, digits: 3},
	{name: "three counts later", label: "worst sliding second from the second one on, L", digits: 3},
	{name: "leap rates first", label: "like bench/global.sh, 5,000/s: second 1, L", row: 12, most: 1.25, digits: 3},
	{name: "leap rates least", label: "least of seconds 2 to 11, L", row: 12, least: 0.94, most: 1.04, digits: 3},
	{name: "leap rates most", label: "most of them, L", row: 12, least: 0.94, most: 1.04, digits: 3},
	{name: "leap rates mean", label: "mean of them, L", row: 12, least: 0.98, most: 1.01, digits: 3},
	{name: "leap counts first", label: "like bench/global.sh, 1,000/s: second 1, L", row: 12, most: 1.25, digits: 3},
	{name: "leap counts least", label: "least of seconds 2 to 11, L", row: 12, least: 0.94, most: 1.04, digits: 3},
	{name: "leap counts most", label: "most of them, L", row: 12, least: 0.94, most: 1.04, digits: 3},
	{name: "leap counts mean", label: "mean of them, L", row: 12, least: 0.98, most: 1.01, digits: 3},
	{name: "cold counts first", label: "a cold key, 1,000/s at 5 L: second 1, L", row: 12, most: 1.35, digits: 3},
	{name: "cold counts least", label: "least of seconds 2 to 8, L", row: 12, least: 0.95, most: 1.04, digits: 3},
	{name: "cold counts most", label: "most of them, L", row: 12, least: 0.95, most: 1.04, digits: 3},
	{name: "cold rates first", label: "a cold key, 5,000/s at 5 L: second 1, L", row: 12, most: 1.50, digits: 3},
	{name: "cold rates least", label: "least of seconds 2 to 8, L", row: 12, least: 0.95, most: 1.04, digits: 3},
	{name: "cold rates most", label: "most of them, L", row: 12, least: 0.95, most: 1.04, digits: 3},
	{name: "ring rates 150ms", label: "10,000/s, largest ring hangs 150 ms: sliding s", digits: 3},
	{name: "ring rates 200ms", label: "200 ms: worst sliding second, L", row: 13, most: 1.05, digits: 3},
	{name: "ring rates 300ms", label: "300 ms: worst sliding second, L", digits: 3},
	{name: "ring counts 150ms", label: "1,000/s, largest ring hangs 150 ms: sliding s", digits: 3},
	{name: "ring counts 200ms", label: "200 ms: worst sliding second, L", row: 13, most: 1.05, digits: 3},
	{name: "ring counts 300ms", label: "300 ms: worst sliding second, L", digits: 3},
	{name: "back rates", label: "10,000/s, that ring is back, empty: sliding s", row: 13, most: 1.05, digits: 3},
	{name: "back counts", label: "1,000/s, that ring is back, empty: sliding s", row: 13, most: 1.05, digits: 3},
	{name: "keys 10000 first", label: "10,000 keys at 2x 5 per 10 s: denied of the first 10 s", row: 15, least: 0.48, most: 0.6, digits: 3},
	{name: "keys 10000 least", label: "least of three times 10 s after, share", row: 15, least: 0.50, most: 0.57, digits: 3},
	{name: "keys 10000 most", label: "most of them, share", row: 15, least: 0.50, most: 0.57, digits: 3},
	{name: "keys 10000 bytes", label: "sent, B/s/node", row: 15, most: 64 << 10},
	{name: "keys 10000 far", label: "of which to other PoPs, B/s/node"},
	{name: "keys 30000 late", label: "30,000 keys: denied after 20 s", row: 15, least: 0.45, most: 0.57, digits: 3},
	{name: "keys 30000 bytes", label: "sent, B/s/node"},
	{name: "keys 30000 far", label: "of which to other PoPs, B/s/node"},
	{name: "keys 60000 late", label: "60,000 keys: denied after 20 s", row: 15, least: 0.2, most: 0.57, digits: 3},
	{name: "keys 60000 bytes", label: "sent, B/s/node"},
	{name: "keys 60000 far", label: "of which to other PoPs, B/s/node"},
	{name: "keys good", label: "clients at 0.8 beside them: requests denied", row: 15, most: math.SmallestNonzeroFloat64},
	{name: "mover dropped", label: "client at 0.8 L moves between PoPs: dropped", row: 14, most: math.SmallestNonzeroFloat64, digits: 5},
	{name: "liar even", label: "0.8 L over 3 PoPs, one claims 10⁹: denied in others", row: 15, most: math.SmallestNonzeroFloat64, digits: 5},
	{name: "liar ten", label: "over 10 PoPs", row: 15, most: math.SmallestNonzeroFloat64, digits: 5},
	{name: "liar small", label: "80/15/5, the liar in the 5", row: 15, most: 0.30, digits: 3},
	{name: "liar single", label: "99 % in one PoP", digits: 3},
	{name: "liar requests", label: "over 3 PoPs, fairness requests", digits: 3},
	{name: "liar counts", label: "1,000 per 10 s over 3 PoPs, after 3 windows", row: 15, most: math.SmallestNonzeroFloat64, digits: 5},
	{name: "flood beside", label: "1,000 per 10 s: 0.2 L in 2 PoPs beside 10 L: denied", row: 15, most: math.SmallestNonzeroFloat64, digits: 5},
	{name: "flood worst", label: "worst window from the second one on, limits", digits: 3},
	{name: "flood beside requests", label: "fairness requests: denied in the 2 PoPs", digits: 3},
}

// upper returns the upper end of the range for fleet f.
func (t *target) upper(f fleet) float64 {
	if t.fast > 0 && f.fast() {
		return t.fast
	}
	if t.large > 0 && f.nodes >= 1000 {
		return t.large
	}
	return t.most
}

// passes reports whether v is in the range for fleet f.
func (t *target) passes(f fleet, v float64) bool { return v >= t.least && v <= t.upper(f) }

// demanded reports whether a range is required of fleet f.
func (t *target) demanded(f fleet) bool { return t.row > 0 && f.pops >= t.nFrom }

// simulated returns the simple model's value for f's size.
func (t *target) simulated(f fleet) (v float64, ok bool) {
	for k, n := range sizes {
		if n.nodes == f.nodes && n.pops == f.pops && !f.fast() {
			return t.sim[k], t.sim[k] > 0
		}
	}
	return 0, false
}
