package edge_test

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestMoney counts a million costs and settlements, spelled in decimals, beside big numbers: the
// rule's totals and each key's count equal the sums, of which every cost was rounded up to a part.
func TestMoney(t *testing.T) {
	edgetest.Alone(t)
	random := edgetest.Dice(t)
	for _, scale := range []int{1, 4, 6} {
		r := mitigation.Rule{
			Name: "r", Limit: mitigation.MaxLimit, Window: 24 * time.Hour, Scale: scale,
		}
		g := gatetest.New(t, 4<<20, r)
		now := g.Now()
		b := g.Lane(0).Batch(now, random.Uint64)
		offered, admitted := new(big.Int), [4]*big.Int{}
		for key := range admitted {
			admitted[key] = new(big.Int)
		}
		for range 340_000 {
			text := decimalBelow(random.Uint64(), mitigation.MaxCost/r.Parts())
			parts, key := partsOf(text, r.Parts()), random.IntN(len(admitted))
			a := gate.Ask{Rule: []byte("r"), Key: []byte{'k', byte('0' + key)}}
			var ok bool
			if a.Cost, a.Millionths, ok = wire.ParseCost([]byte(text)); !ok {
				t.Fatalf("%s is no cost", text)
			}
			var d gate.Decision
			var err error
			if less := random.IntN(3) == 0; less {
				err = b.Settle(&a, true)
				admitted[key].Sub(admitted[key], parts)
				if admitted[key].Sign() < 0 { // never below none
					admitted[key].SetInt64(0)
				}
			} else if err = b.Decide(&d, &a); !d.Deny {
				admitted[key].Add(admitted[key], parts)
				offered.Add(offered, parts)
			} else {
				offered.Add(offered, parts)
			}
			if err != nil {
				t.Fatal(text, err)
			}
		}
		b.End()
		got := new(big.Int).SetUint64(g.Figures()[0].Totals.Offered())
		if got.Cmp(offered) != 0 {
			t.Errorf("scale %d: offered %d, want %s", scale, got, offered)
		}
		for key, want := range admitted {
			is, _ := g.Inspect(now, 0, "r", []byte{'k', byte('0' + key)}, nil)
			if is.Evidence.Admitted != want.Int64() {
				t.Errorf("scale %d, key %d: %d admitted, want %s", scale, key,
					is.Evidence.Admitted, want)
			}
		}
	}
}

// partsOf returns a decimal in parts of a unit, rounded up.
func partsOf(text string, unit int64) *big.Int {
	exact, _ := new(big.Rat).SetString(text)
	exact.Mul(exact, new(big.Rat).SetInt64(unit))
	parts, rest := new(big.Int).QuoRem(exact.Num(), exact.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		parts.Add(parts, big.NewInt(1))
	}
	return parts
}

// decimalBelow makes a decimal above 0 of u, at most most, with up to nine digits behind the point.
func decimalBelow(u uint64, most int64) string {
	is := new(big.Rat).SetFrac64(int64(u>>8%1_000_000_000), 1_000_000_000)
	text := is.Mul(is, new(big.Rat).SetInt64(most)).FloatString(int(u % 10))
	if strings.Trim(text, "0.") == "" {
		return "1"
	}
	return text
}
