package document

import (
	"fmt"
	"strconv"
	"strings"
)

// Percent reads a percentage above 0% and up to most, such as 20%, in units of which whole make
// 100%.
func Percent(s string, whole, most int) (int, error) {
	number, found := strings.CutSuffix(s, "%")
	f, err := strconv.ParseFloat(number, 64)
	part := int(f*float64(whole)/100 + 0.5)
	if !found || err != nil || strings.Trim(number, "0123456789.") != "" ||
		part < 1 || part > most {
		return 0, fmt.Errorf("must be a percentage above 0%% and at most %s, such as 20%%, not %s",
			PercentText(most, whole), Show(s))
	}
	return part, nil
}

// PercentText writes a part, of which whole make 100%, as a percentage.
func PercentText(part, whole int) string {
	return strconv.FormatFloat(float64(part)*100/float64(whole), 'f', -1, 64) + "%"
}

// Share reads 0 to 1, such as 0.85, in units of which whole make 1.
func Share(s string, whole int) (int, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || strings.Trim(s, "0123456789.") != "" || f > 1 {
		return 0, fmt.Errorf("must be a share of 0 to 1, such as 0.85, not %s", Show(s))
	}
	return int(f*float64(whole) + 0.5), nil
}
