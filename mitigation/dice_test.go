package mitigation_test

import (
	"math"
	"testing"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestDiceAreChance holds draws to chance for every victim: a client that makes each n-th request of
// a flood, for each n. Its longest streak of denials is no longer than that of independent draws,
// its share is the ratio, and of its pages of ten requests as many are spoilt.
func TestDiceAreChance(t *testing.T) {
	t.Parallel()
	edgetest.Alone(t)
	const draws = 1 << 20
	for _, share := range []float64{0.05, 0.5, 0.67, 0.95} {
		var dice mitigation.Dice
		chance, ratio := edgetest.Dice(t), mitigation.RatioFor(1e6/(1-share), 1e6)
		drops := make([]bool, draws)
		for n := range drops {
			drops[n] = ratio.Drops(dice.Draw(chance.Uint64()))
		}
		for period := 1; period <= 400; period++ {
			streak, longest, denied, spoilt, pages := 0, 0, 0, 0, 0
			for k, at := 0, period-1; at < draws; k, at = k+1, at+period {
				if streak++; !drops[at] {
					streak = 0
				} else {
					denied++
				}
				longest = max(longest, streak)
			}
			asked := draws / period
			for from := 0; from+10 <= asked; from += 10 {
				pages++
				for k := range 10 {
					if drops[period-1+(from+k)*period] {
						spoilt++
						break
					}
				}
			}
			// one run of the test in a million fails for a victim by chance
			most := math.Log(float64(asked)*(1-share)*1e9) / -math.Log(share)
			off := math.Abs(float64(denied)-share*float64(asked)) /
				math.Sqrt(share*(1-share)*float64(asked))
			bad := 1 - math.Pow(1-share, 10)
			page := math.Abs(float64(spoilt)-bad*float64(pages)) / math.Sqrt(
				bad*(1-bad)*float64(pages)+1)
			if float64(longest) > most || off > 6 || page > 6 {
				t.Errorf("ratio %.2f, each %d: a streak of %d, at most %.0f; share off by %.1f "+
					"deviations, pages by %.1f", share, period, longest, most, off, page)
			}
		}
	}
}

// TestDiceFillBlocks: of 256 draws the dropped number is the ratio's, and neighbours are strangers.
func TestDiceFillBlocks(t *testing.T) {
	t.Parallel()
	var dice mitigation.Dice
	chance, ratio := edgetest.Dice(t), mitigation.RatioFor(200, 100)
	together, last := 0, false
	const blocks = 4000
	for block := range blocks {
		dropped := 0
		for range 256 {
			drops := ratio.Drops(dice.Draw(chance.Uint64()))
			if drops {
				dropped++
			}
			if drops && last {
				together++
			}
			last = drops
		}
		if dropped < 127 || dropped > 129 {
			t.Fatalf("block %d: %d of 256 dropped, want 128", block, dropped)
		}
	}
	pairs := float64(blocks * 256)
	want := 0.25 * (1 - 1.0/255)
	if off := math.Abs(float64(together)/pairs-want) * math.Sqrt(pairs) / 0.43; off > 6 {
		t.Errorf("both of two neighbours dropped: %.5f, want %.5f", float64(together)/pairs, want)
	}
}
