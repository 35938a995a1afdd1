package wire

import (
	"math/big"
	"strings"
	"testing"
)

// FuzzParseDecimal holds decimals to big numbers: what is read is the number, rounded up to a part,
// and is written as the same number.
func FuzzParseDecimal(f *testing.F) {
	for _, seed := range []string{
		"0", "1", "0.02", "12.345678", "12.3456789", "999999999999999.999999999", "1.", ".5", "1e3",
		"-1", "+1", "00.50", "1.0.0", "1234567890123456", "0.0000000001", "",
	} {
		f.Add(seed, uint8(6))
		f.Add(seed, uint8(0))
	}
	f.Fuzz(func(t *testing.T, text string, scale uint8) {
		at := int(scale % 7)
		parts, exact, ok := ParseDecimal([]byte(text), at)
		whole, behind, point := strings.Cut(text, ".")
		digits := func(s string, most int) bool {
			return s != "" && len(s) <= most && strings.Trim(s, "0123456789") == ""
		}
		if want := digits(whole, 15) && (!point || digits(behind, 9)); ok != want {
			t.Fatalf("%q: %v", text, ok)
		}
		if !ok || parts > 1e18-1e9 { // cut there
			return
		}
		number, _ := new(big.Rat).SetString(text)
		unit := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(at)), nil))
		got := new(big.Rat).Quo(new(big.Rat).SetInt(new(big.Int).SetUint64(parts)), unit)
		over := new(big.Rat).Sub(got, number)
		if exact != (over.Sign() == 0) || over.Sign() < 0 || over.Cmp(new(big.Rat).Inv(unit)) >= 0 {
			t.Errorf("%q at %d: %d, exact %v", text, at, parts, exact)
		}
		written := string(AppendDecimal(nil, parts, at))
		if again, ok := new(big.Rat).SetString(written); !ok || again.Cmp(got) != 0 {
			t.Errorf("%d at %d is written %s", parts, at, written)
		}
	})
}
